// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/evaluate.h"
#include "kasimir/hardware/format/timeloop.h"
#include "unit/hardware/message_of.h"
#include "unit/hardware/random_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

constexpr const char* layer = R"(
problem:
  version: 0.4
  shape:
    name: layer
    dimensions: [R, S, P, Q, C, M, N]
    coefficients:
    - {name: stride, default: 1}
    - {name: dilation, default: 1}
    data_spaces:
    - name: Weights
      projection: [[[M]], [[C]], [[R]], [[S]]]
    - name: Inputs
      projection:
      - [[N]]
      - [[C]]
      - [[P, stride], [R, dilation]]
      - [[Q, stride], [S, dilation]]
    - name: Outputs
      projection: [[[N]], [[M]], [[P]], [[Q]]]
      read_write: True
  instance: {R: 3, S: 3, P: 14, Q: 14, C: 16, M: 32, N: 1, stride: 2}
)";

TEST(TimeloopProblem, ReadsVersion4) {
  const Problem problem = parse_timeloop_problem(layer, "layer.yaml", {8, 4, 8, 32});
  EXPECT_EQ(str(problem),
            "Outputs[N,M,P,Q] += Weights[M,C,R,S] * Inputs[N,C,2*P+R,2*Q+S] for R=3 S=3 P=14 Q=14 C=16 M=32 N=1 with "
            "Outputs:8/32 Weights:4@weight Inputs:8@input");
}

TEST(TimeloopProblem, ReadsVersion3) {
  std::string old = layer;
  const auto replace = [&old](std::string_view from, std::string_view to) {
    const std::size_t at = old.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    old.replace(at, from.size(), to);
  };
  replace("  version: 0.4\n", "");
  replace("data_spaces", "data-spaces");
  replace("read_write", "read-write");
  EXPECT_EQ(parse_timeloop_problem(old, "layer.yaml"), parse_timeloop_problem(layer, "layer.yaml"));
}

TEST(TimeloopProblem, ReadsALayerWhoseShapeIsBuiltIn) {
  const Problem problem = parse_timeloop_problem(
      "problem: {shape: cnn-layer, R: 3, S: 3, P: 14, Q: 14, C: 16, K: 32, N: 1, Wstride: 2, Hstride: 2, Wdilation: 1, "
      "Hdilation: 1}",
      "layer.yaml");
  EXPECT_EQ(str(problem),
            "Outputs[N,M,Q,P] += Weights[C,M,R,S] * Inputs[N,C,R+2*P,S+2*Q] for C=16 M=32 R=3 S=3 N=1 P=14 Q=14 with "
            "Outputs:8/32 Weights:8@weight Inputs:8@input");
}

TEST(TimeloopProblem, JoinsKeysOfAnotherMap) {
  const Problem problem = parse_timeloop_problem(
      "problem:\n  shape: {dimensions: [M], data_spaces: [{name: Z, projection: [[[M]]], read_write: true}, {name: A, "
      "projection: [[[M]]]}]}\n  instance: {<<: {M: 7}}\n",
      "p.yaml");
  EXPECT_EQ(problem.dims, (std::vector<ProblemDim>{{"M", 7}}));
}

TEST(TimeloopProblem, IsReadBackFromWhatWasWritten) {
  std::size_t without_losses = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const Problem problem = random_problem(rng);
    const FormatText written = timeloop_problem_text(problem);
    Problem read = parse_timeloop_problem(written.text, "p.yaml", {8, 8, 8, 8});
    if (!written.lost.empty()) continue;
    ++without_losses;
    // the format does not tell a sum over nothing from a copy
    EXPECT_EQ(read, problem) << "seed " << seed << "\n" << written.text;
    EXPECT_EQ(timeloop_problem_text(read).text, written.text);
  }
  EXPECT_GT(without_losses, 100U);
  EXPECT_EQ(parse_timeloop_problem(timeloop_problem_text(convolution({1, 8, 4, 6, 6, 3, 3, 2, 2, 2})).text, "p.yaml"),
            convolution({1, 8, 4, 6, 6, 3, 3, 2, 2, 2}));
}

TEST(TimeloopProblem, SaysWhatTheFormatCannot) {
  const FormatText written = timeloop_problem_text(
      parse_problem("O[n,p] max= I[n,p+r-1<6] * S[n] for n=2 p=6 r=3 with O:8 I:8 S:8@input ops=2"));
  EXPECT_EQ(written.lost,
            (std::vector<std::string>{"the largest value is taken, not the sum", "a point is 2 operations",
                                      "I has zeros around it or more elements than are read", "S is an input"}));
  EXPECT_THAT(written.text, testing::StartsWith("# not said below: the largest value is taken, not the sum\n"));
}

TEST(TimeloopProblem, RefusesWhatItDoesNotKnowByNameAndLine) {
  EXPECT_EQ(message_of([] { parse_timeloop_problem("problem:\n  shape: cnn-layer\n  densities: {}\n", "p.yaml"); }),
            "problem: the size of dimension C is missing\n  p.yaml:2:3");
  EXPECT_EQ(message_of([] { parse_timeloop_problem("problem:\n  version: 0.4\n  shpae: cnn-layer\n", "p.yaml"); }),
            "problem: `shape` is missing\n  p.yaml:2:3");
  EXPECT_EQ(message_of([] { parse_timeloop_problem(std::string(layer) + "  densities: {Weights: 0.5}\n", "p.yaml"); }),
            "problem: unknown key `densities`\n  p.yaml:23:3\n  known: version, shape, instance");
  EXPECT_EQ(message_of([] { parse_timeloop_problem("problem: {}\nmapper: {}\n", "p.yaml"); }),
            "file: unknown key `mapper`\n  p.yaml:2:1\n  known: problem, architecture, mapping, variables, ERT");
  EXPECT_EQ(message_of([] { parse_timeloop_problem("problem: {version: 0.5, shape: x}", "p.yaml"); }),
            "problem: version `0.5` is not known, needed: 0.2 or 0.3 or 0.4\n  p.yaml:1:20");
  EXPECT_EQ(message_of([] { parse_timeloop_problem("problem: [", "p.yaml"); }),
            "not YAML: end of sequence flow not found\n  p.yaml:1:1");
}

/// What a machine loses in the format, taken out of it; all operands have words of 16 bits.
Architecture sayable(Architecture architecture) {
  for (MemoryLevel& level : architecture.levels) {
    level.systolic = Systolic::none;
    level.share_overlaps = false;
    level.hop_pj_per_bit = level.area_um2 = level.area_um2_per_kib = 0;
    level.partition_bits = {MemoryLevel::unbounded, MemoryLevel::unbounded, MemoryLevel::unbounded};
    for (FanOut* fan : {&level.x, &level.y}) *fan = {.size = fan->size, .multicast = true, .reduction = true};
    level.capacity_bits = std::max(level.capacity_bits, 16.0);
  }
  architecture.compute.area_um2 = 0;
  return architecture;
}

/// At most one loop over each dimension in a slot, as Timeloop has it.
bool one_loop_each(const Mapping& mapping) {
  for (int i = 0; i < mapping.count; ++i)
    for (int j = 0; j < i; ++j) {
      const auto& a = mapping.loops[static_cast<std::size_t>(i)];
      const auto& b = mapping.loops[static_cast<std::size_t>(j)];
      const bool spatial = a.kind != LoopKind::temporal;
      if (a.level == b.level && a.dim == b.dim && spatial == (b.kind != LoopKind::temporal)) return false;
    }
  return true;
}

TEST(TimeloopFiles, CostTheSameAsTheSameMachineInToml) {
  std::size_t compared = 0;
  for (const std::string& name : preset_names()) {
    const Architecture machine = sayable(parse_architecture(to_toml(preset(name)), name));
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      Rng rng(seed);
      const Problem problem = convolution({1, 8, 6, 6, 6, 3, 3, 1, 1, 1}, {16, 16, 16, 16});
      const Mapping mapping = random_mapping(rng, problem, machine, 0.3);
      if (!one_loop_each(mapping)) continue;
      const FormatText written = timeloop_architecture_text(machine, problem);
      ASSERT_THAT(written.lost, testing::IsEmpty()) << name;
      const std::string all =
          timeloop_problem_text(problem).text + written.text + timeloop_mapping_text(mapping, problem, machine);
      const Problem read_problem = parse_timeloop_problem(all, "all.yaml", {16, 16, 16, 16});
      const TimeloopMachine read = parse_timeloop_architecture(all, "all.yaml", read_problem);
      const Mapping read_mapping = parse_timeloop_mapping(all, "all.yaml", read_problem, read);
      EXPECT_EQ(read_problem, problem);
      EXPECT_EQ(timeloop_mapping_text(read_mapping, problem, read.architecture),
                timeloop_mapping_text(mapping, problem, machine));
      const Evaluation a = evaluate(CostModel(problem, machine), mapping);
      const Evaluation b = evaluate(CostModel(read_problem, read.architecture), read_mapping);
      SCOPED_TRACE(fmt::format("{}, seed {}\n{}", name, seed, all));
      EXPECT_EQ(a.fits(), b.fits());
      EXPECT_NEAR(b.cycles, a.cycles, 1e-9 * a.cycles);
      EXPECT_NEAR(b.energy_pj, a.energy_pj, 1e-9 * a.energy_pj);
      EXPECT_NEAR(b.leakage_pj, a.leakage_pj, 1e-9 * a.leakage_pj);
      ++compared;
    }
  }
  EXPECT_GT(compared, 60U);
}

TEST(TimeloopFiles, AreReadBackAsTheyWereWritten) {
  const Problem problem = convolution({1, 8, 6, 6, 6, 3, 3, 1, 1, 1}, {16, 16, 16, 16});
  for (const std::string& name : preset_names()) {
    const FormatText written = timeloop_architecture_text(sayable(preset(name)), problem);
    const TimeloopMachine read = parse_timeloop_architecture(written.text, "m.yaml", problem);
    EXPECT_EQ(timeloop_architecture_text(read.architecture, problem).text, written.text) << name;
    EXPECT_EQ(read.architecture.units(), preset(name).units());
  }
}

TEST(TimeloopFiles, SayWhatAMachineLoses) {
  EXPECT_EQ(
      timeloop_architecture_text(preset("gemmini"), convolution({})).lost,
      (std::vector<std::string>{"dram: words of different widths, written as 32 bit",
                                "scratchpad: which loops may run along x", "accumulator: which loops may run along x",
                                "accumulator: words of different widths, written as 32 bit", "compute: area"}));
}

constexpr const char* machine = R"(
architecture:
  version: 0.4
  nodes:
  - !Container {name: system}
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 64, datawidth: word, shared_bandwidth: 8}
  - !Component
    name: buffer
    class: smartbuffer_SRAM
    attributes: {depth: 1024, width: 4 * word, datawidth: word, read_bandwidth: 16}
    constraints: {dataspace: {keep: [Inputs, Outputs], bypass: [Weights]}}
  - !Container
    name: column
    spatial: {meshX: 4}
  - !Container
    name: PE
    spatial: {meshY: 3}
  - !Parallel
    nodes:
    - !Component
      name: weights
      class: regfile
      attributes: {depth: 8, width: 16, datawidth: word}
      constraints: {dataspace: {bypass: [Inputs, Outputs]}}
    - !Component
      name: sums
      class: regfile
      attributes: {depth: 4, width: 16, datawidth: word}
      constraints: {dataspace: {bypass: [Inputs, Weights]}}
  - !Component {name: mac, class: intmac, attributes: {datawidth: word}}
variables: {version: 0.4, global_cycle_seconds: 2e-9, word: 16, technology: 45nm}
ERT:
  version: 0.4
  tables:
  - name: system.buffer[1..1]
    actions:
    - {name: read, arguments: {}, energy: 8}
    - {name: write, arguments: {}, energy: 10}
    - {name: update, arguments: {}, energy: 10}
    - {name: leak, arguments: {}, energy: 0.5}
  - {name: 'system.column[1..4].PE[1..3].mac[1..1]', actions: [{name: compute, energy: 2.5}]}
)";

TEST(TimeloopArchitecture, ReadsNodesVariablesAndEnergies) {
  const Problem problem = parse_timeloop_problem(layer, "layer.yaml", {16, 16, 16, 16});
  const TimeloopMachine read = parse_timeloop_architecture(machine, "machine.yaml", problem);
  const Architecture& made = read.architecture;
  ASSERT_EQ(made.levels.size(), 4U);
  EXPECT_DOUBLE_EQ(made.clock_mhz, 500);
  EXPECT_EQ(made.levels[0].bandwidth, 8 * 16);
  EXPECT_TRUE(std::isinf(made.levels[0].capacity_bits));
  EXPECT_EQ(made.levels[1].capacity_bits, 1024 * 64);
  EXPECT_EQ(made.levels[1].read_bandwidth, 256);
  EXPECT_EQ(made.levels[1].read_pj, 2) << "8 pJ for four words";
  EXPECT_EQ(made.levels[1].write_pj, 2.5);
  EXPECT_DOUBLE_EQ(made.levels[1].leakage_mw, 0.25) << "0.5 pJ in 2 ns";
  EXPECT_EQ(made.levels[1].keeps, role_bit(OperandRole::input) | role_bit(OperandRole::output));
  EXPECT_EQ(made.levels[1].x.size, 4);
  EXPECT_EQ(made.levels[1].y.size, 3);
  EXPECT_EQ(made.levels[2].keeps, role_bit(OperandRole::weight));
  EXPECT_EQ(made.compute.energy_pj, 2.5);
  EXPECT_EQ(made.compute.input_bits, 16);
  EXPECT_EQ(read.grids, (std::map<std::string, std::size_t>{{"column", 1}, {"PE", 1}}));
  EXPECT_EQ(parse_architecture(to_toml(made), "made.toml"), made);
}

TEST(TimeloopArchitecture, RefusesWhatItDoesNotKnowByNameAndLine) {
  const Problem problem = parse_timeloop_problem(layer, "layer.yaml");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = machine;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return message_of([&] { parse_timeloop_architecture(text, "m.yaml", problem); });
  };
  EXPECT_EQ(with("class: DRAM", "class: HBM"),
            "architecture, Component: class `HBM` is not known, needed: DRAM, SRAM, smartbuffer_SRAM, smartbuffer_RF, "
            "smartbuffer, regfile, reg_storage, storage, dummy_storage, or intmac, fpmac, mac, compute, mac_compute\n"
            "  m.yaml:8:12");
  EXPECT_EQ(with("read_bandwidth", "read_bandwith"),
            "buffer, attributes: unknown key `read_bandwith`\n  m.yaml:13:65\n  did you mean `read_bandwidth`?");
  EXPECT_EQ(with("{dataspace: {keep", "{temporal: {factors: [R=1]}, dataspace: {keep"),
            "buffer, constraints: unknown key `temporal`\n  m.yaml:14:19\n  known: dataspace");
  EXPECT_EQ(with("bypass: [Weights]", "bypass: [Filters]"),
            "`Filters` is no data space of the problem\n  m.yaml:14:30");
  EXPECT_EQ(with("4 * word", "4 * words"), "`words` is no number and no variable\n  m.yaml:13:38");
  EXPECT_EQ(with("!Parallel", "!Fused"),
            "tag `!Fused` is not known, needed: !Component, !Container, !Parallel\n  m.yaml:21:5");
  EXPECT_EQ(with("name: system.buffer[1..1]", "name: system.cache"), "ERT: `cache` is no component\n  m.yaml");
  EXPECT_EQ(with("name: update, arguments: {}, energy: 10", "name: update, energy: 11"),
            "ERT, buffer: a write takes 10 pJ and an update 11; they must be equal\n  m.yaml");
}

TEST(TimeloopMapping, ReadsPermutationsFromTheInsideAndSplitsGrids) {
  const Problem problem = parse_timeloop_problem(layer, "layer.yaml");
  const TimeloopMachine read = parse_timeloop_architecture(machine, "machine.yaml", problem);
  const Mapping mapping = parse_timeloop_mapping(R"(
mapping:
- {target: DRAM, type: temporal, factors: P=14 Q=7, permutation: QP}
- {target: buffer, type: temporal, factors: [M=8, Q=2], permutation: [M, Q]}
- {target: PE, type: spatial, factors: M4 R3, permutation: MR, split: 1}
- {target: weights, type: bypass, keep: [Weights], bypass: []}
- {target: sums, type: temporal, factors: [S=3, C=16]}
)",
                                                 "map.yaml", problem, read);
  EXPECT_EQ(
      str(mapping, problem, read.architecture),
      "L3[Outputs,Weights,Inputs] P14 Q7 - L2[Outputs,Inputs] Q2 M8 R3Y M4X - L1[Weights] N1 - L0[Outputs] C16 S3");
}

TEST(TimeloopMapping, RefusesWhatItDoesNotKnowByNameAndLine) {
  const Problem problem = parse_timeloop_problem(layer, "layer.yaml");
  const TimeloopMachine read = parse_timeloop_architecture(machine, "machine.yaml", problem);
  const auto message = [&](const std::string& entry) {
    return message_of([&] { parse_timeloop_mapping("mapping:\n- " + entry, "m.yaml", problem, read); });
  };
  EXPECT_EQ(message("{target: L2, type: temporal, factors: []}"),
            "mapping: target `L2` is no storage, known: DRAM, buffer, weights, sums\n  m.yaml:2:3");
  EXPECT_EQ(message("{target: DRAM, type: utilization}"),
            "mapping: type `utilization` is not known, needed: temporal, spatial, dataspace\n  m.yaml:2:3");
  EXPECT_EQ(message("{target: DRAM, type: temporal, factors: K=4}"),
            "mapping: expected a factor like R=4, found `K=4`\n  m.yaml:2:43");
  EXPECT_EQ(message("{target: DRAM, type: temporal, factors: [], min: 1}"),
            "mapping: unknown key `min`\n  m.yaml:2:47\n  known: target, type, factors, permutation");
  Mapping twice = empty_mapping(problem, read.architecture);
  twice.add(problem.find_dim("P"), 2, 0);
  twice.add(problem.find_dim("Q"), 2, 0);
  twice.add(problem.find_dim("P"), 7, 0);
  EXPECT_EQ(message_of([&] { timeloop_mapping_text(twice, problem, read.architecture); }),
            "level DRAM has two temporal loops over P, which a mapping of Timeloop cannot say");
}

}  // namespace
}  // namespace kasimir
