// SPDX-License-Identifier: Apache-2.0
#include "unit/hardware/random_case.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

namespace kasimir {
namespace {

/// Problems of the usual kinds.
const std::vector<Problem>& problems() {
  static const std::vector<Problem> made{
      convolution({.batch = 2,
                   .out_channels = 8,
                   .in_channels = 4,
                   .out_height = 6,
                   .out_width = 4,
                   .kernel_height = 3,
                   .kernel_width = 3,
                   .stride_height = 2,
                   .stride_width = 1}),
      matrix_product(12, 8, 18, {.input = 6, .weight = 4, .output = 8, .partial = 20}),
      parse_problem("O[n,c,p] += I[n,c,p+2*r-2<8] * W[c,r] for n=2 c=6 p=8 r=3 with O:8/24 I:8 W:8"),
      parse_problem("O[c,p] = I[c,p] * B[c] for c=8 p=12 with O:8 I:8 B:16 ops=2"),
  };
  return made;
}

/// Calls `law(problem, architecture, mapping)` for random mappings of all problems on all presets.
template <typename Law>
void for_random_mappings(std::uint64_t seed, std::uint64_t each, const Law& law) {
  for (const std::string& name : preset_names())
    for (std::size_t p = 0; p < problems().size(); ++p)
      for (std::uint64_t i = 0; i < each && !testing::Test::HasFailure(); ++i) {
        const Architecture architecture = preset(name);
        Rng rng(seed, i);
        const Mapping mapping = random_mapping(rng, problems()[p], architecture, 0.3);
        SCOPED_TRACE(fmt::format("{}, seed {}, stream {}\n{}\n{}", name, seed, i, str(problems()[p]),
                                 nested_loops(mapping, problems()[p], architecture)));
        law(problems()[p], architecture, mapping);
      }
}

Evaluation run(const Problem& problem, const Architecture& architecture, const Mapping& mapping,
               const EvaluationOptions& options = {}) {
  return evaluate(CostModel(problem, architecture, options), mapping);
}

EvaluationOptions with_ends() {
  EvaluationOptions options;
  options.fill_and_drain = true;
  return options;
}

TEST(EvaluatorLaw, MoreMemoryBandwidthOrChildrenAreNeverSlower) {
  for_random_mappings(1, 40, [](const Problem& problem, Architecture architecture, const Mapping& mapping) {
    const Evaluation before = run(problem, architecture, mapping, with_ends());
    const auto better = [&](const std::function<void(MemoryLevel&)>& change, const char* what) {
      for (std::size_t l = 0; l < architecture.levels.size(); ++l) {
        Architecture changed = architecture;
        change(changed.levels[l]);
        const Evaluation after = run(problem, changed, mapping, with_ends());
        EXPECT_LE(after.cycles, before.cycles) << what << " of " << changed.levels[l].name;
        EXPECT_LE(after.counts.violation_count, before.counts.violation_count) << what;
        EXPECT_GE(after.stall_cycles(), 0) << what;
      }
    };
    better([](MemoryLevel& level) { level.capacity_bits *= 2; }, "capacity");
    better(
        [](MemoryLevel& level) {
          for (double& part : level.partition_bits) part *= 2;
        },
        "partitions");
    better([](MemoryLevel& level) { level.bandwidth *= 2; }, "bandwidth");
    better([](MemoryLevel& level) { level.read_bandwidth *= 2; }, "read bandwidth");
    better([](MemoryLevel& level) { level.write_bandwidth *= 2; }, "write bandwidth");
    better([](MemoryLevel& level) { level.x.multicast = level.x.reduction = level.y.multicast = true; }, "multicast");
    better([](MemoryLevel& level) { level.share_overlaps = true; }, "shared overlaps");
    // the skew of a systolic array grows with its size
    for (MemoryLevel& level : architecture.levels) level.systolic = Systolic::none;
    const Evaluation plain = run(problem, architecture, mapping, with_ends());
    for (MemoryLevel& level : architecture.levels) level.x.size *= 2;
    EXPECT_LE(run(problem, architecture, mapping, with_ends()).cycles, plain.cycles);
  });
}

TEST(EvaluatorLaw, FewerBitsNeverCostMore) {
  for_random_mappings(2, 40, [](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
    const Evaluation before = run(problem, architecture, mapping);
    for (std::size_t t = 0; t < problem.operands.size(); ++t) {
      Problem fewer = problem;
      fewer.operands[t].bits -= 2;
      if (t > 0) fewer.operands[t].partial_bits -= 2;
      const Evaluation after = run(fewer, architecture, mapping);
      EXPECT_LE(after.cycles, before.cycles) << problem.operands[t].name;
      EXPECT_LE(after.energy_pj, before.energy_pj) << problem.operands[t].name;
      EXPECT_LE(after.counts.violation_count, before.counts.violation_count);
    }
    Problem narrow = problem;
    narrow.operands[0].partial_bits = narrow.operands[0].bits;
    EXPECT_LE(run(narrow, architecture, mapping).energy_pj, before.energy_pj);
    EXPECT_LE(run(narrow, architecture, mapping).cycles, before.cycles);
  });
}

/// Equal up to the order of additions.
void expect_same(const Evaluation& a, const Evaluation& b) {
  EXPECT_DOUBLE_EQ(a.cycles, b.cycles);
  EXPECT_DOUBLE_EQ(a.energy_pj, b.energy_pj);
  EXPECT_DOUBLE_EQ(a.compute_cycles, b.compute_cycles);
  EXPECT_EQ(a.counts.violation_count, b.counts.violation_count);
  ASSERT_EQ(a.counts.count, b.counts.count);
}

TEST(EvaluatorLaw, ALoopMayBeWrittenAsTwo) {
  for (const HaloRule halo : {HaloRule::none, HaloRule::innermost, HaloRule::full})
    for_random_mappings(3, 30, [&](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
      EvaluationOptions options = with_ends();
      options.halo = halo;
      // put two factors of one dimension together, then apart
      Mapping together = empty_mapping(problem, architecture);
      Mapping apart = together;
      for (int i = 0; i < mapping.count; ++i) {
        const auto& loop = mapping.loops[static_cast<std::size_t>(i)];
        together.add(loop.dim, loop.bound * 4, loop.level, loop.kind);
        apart.add(loop.dim, 2, loop.level, loop.kind);
        apart.add(loop.dim, loop.bound * 2, loop.level, loop.kind);
      }
      Problem larger = problem;
      for (ProblemDim& dim : larger.dims) dim.size *= 1 << 20;
      for (Operand& operand : larger.operands)
        for (OperandRank& rank : operand.ranks) rank.extent = std::max(rank.extent, reach(larger, rank));
      const Evaluation one = run(larger, architecture, together, options);
      const Evaluation two = run(larger, architecture, apart, options);
      EXPECT_EQ(one.counts.count, two.counts.count);
      for (std::size_t i = 0; i < static_cast<std::size_t>(one.counts.count); ++i) {
        EXPECT_DOUBLE_EQ(one.counts.entries[i].reads, two.counts.entries[i].reads) << i;
        EXPECT_DOUBLE_EQ(one.counts.entries[i].fills, two.counts.entries[i].fills) << i;
        EXPECT_DOUBLE_EQ(one.counts.entries[i].updates, two.counts.entries[i].updates) << i;
      }
      EXPECT_DOUBLE_EQ(one.cycles, two.cycles);
      EXPECT_DOUBLE_EQ(one.energy_pj, two.energy_pj);
    });
}

TEST(EvaluatorLaw, NamesAndOrderOfDimensionsAndReadsDoNotMatter) {
  for_random_mappings(4, 40, [](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
    const auto dims = static_cast<int>(problem.dims.size());
    Problem turned = problem;
    Mapping mapped = mapping;
    std::rotate(turned.dims.begin(), turned.dims.begin() + 1, turned.dims.end());
    const auto place = [&](int d) { return (d + dims - 1) % dims; };
    for (ProblemDim& dim : turned.dims) dim.name += "_new";
    for (Operand& operand : turned.operands)
      for (OperandRank& rank : operand.ranks)
        for (IndexTerm& term : rank.terms) term.dim = place(term.dim);
    for (int i = 0; i < mapped.count; ++i)
      mapped.loops[static_cast<std::size_t>(i)].dim =
          static_cast<std::int8_t>(place(mapped.loops[static_cast<std::size_t>(i)].dim));
    std::swap(turned.operands[1], turned.operands[2]);
    std::swap(mapped.keeps[1], mapped.keeps[2]);
    expect_same(run(problem, architecture, mapping, with_ends()), run(turned, architecture, mapped, with_ends()));
  });
}

TEST(EvaluatorLaw, MoreCreditForOverlapsNeverFetchesMore) {
  for_random_mappings(5, 40, [](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
    EvaluationOptions options;
    double last = std::numeric_limits<double>::infinity();
    for (const HaloRule halo : {HaloRule::none, HaloRule::innermost, HaloRule::full}) {
      options.halo = halo;
      const double energy = run(problem, architecture, mapping, options).energy_pj;
      EXPECT_LE(energy, last * (1 + 1e-12));
      last = energy;
    }
  });
}

/// A problem so large that no mapping covers it: extents are never cut off.
Problem enlarged(Problem problem) {
  for (ProblemDim& dim : problem.dims) dim.size = 1 << 20;
  for (Operand& operand : problem.operands)
    for (OperandRank& rank : operand.ranks) rank.extent = reach(problem, rank);
  return problem;
}

TEST(EvaluatorLaw, SlopesAreThoseOfFiniteDifferences) {
  constexpr std::size_t most = 24;
  int compared = 0;
  for (const double softness : {0.0, 2.0, 3.5})
    for_random_mappings(6, 12, [&](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
      ASSERT_LE(mapping.count, static_cast<int>(most));
      EvaluationOptions options = with_ends();
      options.whole_cycles = false;
      options.softness = softness;
      options.halo = softness == 0 ? HaloRule::none : HaloRule::innermost;
      const CostModel model(enlarged(problem), architecture, options);
      Rng rng(7, static_cast<std::uint64_t>(mapping.count));
      BasicMapping<DualNumber<most>> at = mapping_as<DualNumber<most>>(mapping_as<double>(mapping));
      for (std::size_t i = 0; i < static_cast<std::size_t>(at.count); ++i)
        at.loops[i].bound = DualNumber<most>::parameter(at.loops[i].bound.value + 0.3 + 0.2 * rng.unit(), i);
      const auto slopes = evaluate(model, at);
      for (std::size_t i = 0; i < static_cast<std::size_t>(at.count); ++i) {
        const double step = 1e-6;
        auto up = at;
        auto down = at;
        up.loops[i].bound.value += step;
        down.loops[i].bound.value -= step;
        const auto above = evaluate(model, up);
        const auto below = evaluate(model, down);
        const double energy = (above.energy_pj.value - below.energy_pj.value) / (2 * step);
        const double cycles = (above.cycles.value - below.cycles.value) / (2 * step);
        EXPECT_NEAR(slopes.energy_pj.slope[i], energy, 1e-5 * std::abs(energy) + 1e-7 * slopes.energy_pj.value) << i;
        EXPECT_NEAR(slopes.cycles.slope[i], cycles, 1e-5 * std::abs(cycles) + 1e-7 * slopes.cycles.value) << i;
        ++compared;
      }
    });
  EXPECT_GT(compared, 1000);
}

TEST(EvaluatorLaw, ASoftRuleTendsToTheHardOne) {
  for_random_mappings(8, 20, [](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
    EvaluationOptions options;
    options.whole_cycles = false;
    options.halo = HaloRule::none;  // the soft rule credits overlaps to each loop by itself
    const double hard = run(problem, architecture, mapping, options).energy_pj;
    options.softness = 60;
    EXPECT_NEAR(run(problem, architecture, mapping, options).energy_pj, hard, 1e-9 * hard);
    options.softness = 2;
    EXPECT_LE(run(problem, architecture, mapping, options).energy_pj, hard * (1 + 1e-12));
  });
}

TEST(EvaluatorLaw, IntervalsHoldEveryMappingWithinThem) {
  for (const HaloRule halo : {HaloRule::none, HaloRule::innermost, HaloRule::full})
    for (const FootprintRule rule : {FootprintRule::exact, FootprintRule::bounding_box})
      for_random_mappings(9, 8, [&](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
        EvaluationOptions options = with_ends();
        options.halo = halo;
        options.footprint = rule;
        const CostModel model(enlarged(problem), architecture, options);
        Rng rng(10, static_cast<std::uint64_t>(mapping.count));
        BasicMapping<Interval> box = mapping_as<Interval>(mapping_as<double>(mapping));
        for (std::size_t i = 0; i < static_cast<std::size_t>(box.count); ++i) {
          const auto low = static_cast<double>(rng.between(1, 3));
          box.loops[i].bound = {low, low + static_cast<double>(rng.between(0, 4))};
        }
        const auto bounds = evaluate(model, box);
        for (int k = 0; k < 12; ++k) {
          Mapping inside = mapping;
          for (std::size_t i = 0; i < static_cast<std::size_t>(box.count); ++i)
            inside.loops[i].bound = rng.between(static_cast<std::int64_t>(box.loops[i].bound.low),
                                                static_cast<std::int64_t>(box.loops[i].bound.high));
          const Evaluation one = evaluate(model, inside);
          const auto within = [&](const Interval& interval, double value, const char* what) {
            const double slack = 1e-9 * std::abs(value);
            EXPECT_LE(interval.low, value + slack) << what << str(inside, problem, architecture);
            EXPECT_GE(interval.high, value - slack) << what << str(inside, problem, architecture);
          };
          within(bounds.cycles, one.cycles, "cycles ");
          within(bounds.energy_pj, one.energy_pj, "energy ");
          for (std::size_t i = 0; i < static_cast<std::size_t>(one.counts.count); ++i) {
            within(bounds.counts.entries[i].footprint, one.counts.entries[i].footprint, "footprint ");
            within(bounds.counts.entries[i].reads, one.counts.entries[i].reads, "reads ");
            within(bounds.counts.entries[i].fills, one.counts.entries[i].fills, "fills ");
            within(bounds.counts.entries[i].updates, one.counts.entries[i].updates, "updates ");
            within(bounds.counts.entries[i].bits, one.counts.entries[i].bits, "bits ");
          }
          EXPECT_LE(bounds.counts.violation_count, one.counts.violation_count) << "only what is surely broken";
        }
      });
}

TEST(EvaluatorLaw, WholeNumbersCountTheSameAsDoubles) {
  for_random_mappings(11, 40, [](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
    const CostModel model(problem, architecture, with_ends());
    const Evaluation real = evaluate(model, mapping);
    BasicEvaluation<std::int64_t> whole;
    evaluate_into(model, mapping, whole);
    EXPECT_EQ(whole.cycles, real.cycles);
    EXPECT_EQ(whole.energy_pj, real.energy_pj);
  });
}

TEST(EvaluatorLaw, StoppingEarlyFindsTheSameMappingsToFit) {
  int fitting = 0;
  int others = 0;
  for_random_mappings(12, 200, [&](const Problem& problem, const Architecture& architecture, const Mapping& mapping) {
    EvaluationOptions options;
    const Evaluation whole = run(problem, architecture, mapping, options);
    options.stop_at_violation = true;
    const Evaluation stopped = run(problem, architecture, mapping, options);
    EXPECT_EQ(stopped.fits(), whole.fits());
    EXPECT_EQ(stopped.finished, whole.fits());
    (whole.fits() ? fitting : others) += 1;
  });
  EXPECT_GT(fitting, 50);
  EXPECT_GT(others, 50);
}

/// One number that depends on everything that an evaluation finds.
double digest(const Evaluation& e) {
  double sum = e.cycles + 3 * e.energy_pj + 5 * e.area_um2 + 7 * e.utilization + 11 * e.counts.violation_count;
  for (std::size_t i = 0; i < static_cast<std::size_t>(e.counts.violation_count); ++i)
    sum += 13 * e.counts.violations[i].used + 17 * e.counts.violations[i].limit;
  return sum;
}

TEST(EvaluatorLaw, EveryParameterHasAnEffect) {
  const Problem problem = parse_problem("O[k,p] += I[c,2*p+r] * W[k,c,r] for r=3 p=8 c=4 k=4 with O:8/24 I:8 W:8");
  Architecture architecture = preset("systolic_ws");
  MemoryLevel& sram = architecture.levels[1];
  sram.bandwidth = 40;
  sram.read_bandwidth = 30;
  sram.write_bandwidth = 20;
  sram.capacity_bits = 8192;
  sram.leakage_mw = 1;
  sram.area_um2 = 1;
  sram.x.size = sram.y.size = 4;
  sram.x.shares = sram.y.shares = 0;
  const std::string line = "L2[OIW] k2 - L1[OIW] p8 r3 c4Y k2X - L0[W]";
  const auto mapping = parse_mapping(line, problem, architecture);
  EvaluationOptions options = with_ends();
  const double usual = digest(run(problem, architecture, mapping, options));

  std::vector<std::pair<std::string, std::function<void(MemoryLevel&)>>> changes{
      {"capacity", [](MemoryLevel& l) { l.capacity_bits = 100; }},
      {"partition", [](MemoryLevel& l) { l.partition_bits = {50, 50, 50}; }},
      {"bandwidth", [](MemoryLevel& l) { l.bandwidth = 2; }},
      {"read bandwidth", [](MemoryLevel& l) { l.read_bandwidth = 1; }},
      {"write bandwidth", [](MemoryLevel& l) { l.write_bandwidth = 1; }},
      {"read energy", [](MemoryLevel& l) { l.read_pj += 1; }},
      {"write energy", [](MemoryLevel& l) { l.write_pj += 1; }},
      {"access energy", [](MemoryLevel& l) { l.access_pj_per_kib += 1; }},
      {"read energy per bit", [](MemoryLevel& l) { l.read_pj_per_bit += 1; }},
      {"write energy per bit", [](MemoryLevel& l) { l.write_pj_per_bit += 1; }},
      {"hop energy", [](MemoryLevel& l) { l.hop_pj_per_bit += 1; }},
      {"leakage", [](MemoryLevel& l) { l.leakage_mw += 1; }},
      {"area", [](MemoryLevel& l) { l.area_um2 += 1; }},
      {"area per KiB", [](MemoryLevel& l) { l.area_um2_per_kib += 1; }},
      {"keeps", [](MemoryLevel& l) { l.keeps = 1; }},
      {"single buffer", [](MemoryLevel& l) { l.buffering = Buffering::single; }},
      {"double buffer", [](MemoryLevel& l) { l.capacity_bits = 800; }},
      {"columns", [](MemoryLevel& l) { l.x.size = 8; }},
      {"rows", [](MemoryLevel& l) { l.y.size = 8; }},
      {"multicast", [](MemoryLevel& l) { l.x.multicast = false; }},
      {"reduction", [](MemoryLevel& l) { l.y.reduction = false; }},
      {"shares", [](MemoryLevel& l) { l.x.shares = role_bit(OperandRole::output); }},
      {"systolic", [](MemoryLevel& l) { l.systolic = Systolic::output; }},
  };
  for (const auto& [name, change] : changes) {
    Architecture changed = architecture;
    change(changed.levels[1]);
    EXPECT_NE(digest(run(problem, changed, mapping, options)), usual) << name;
  }
  const std::vector<std::pair<std::string, std::function<void(Architecture&)>>> others{
      {"clock", [](Architecture& a) { a.clock_mhz = 1; }},
      {"energy of compute", [](Architecture& a) { a.compute.energy_pj += 1; }},
      {"area of compute", [](Architecture& a) { a.compute.area_um2 += 1; }},
      {"leakage of compute", [](Architecture& a) { a.compute.leakage_mw += 1; }},
      {"speed of compute", [](Architecture& a) { a.compute.operations_per_cycle = 1.0 / 64; }},
      {"width of compute", [](Architecture& a) { a.compute.input_bits = 4; }},
      {"other width of compute", [](Architecture& a) { a.compute.weight_bits = 4; }},
      {"engine", [](Architecture& a) { a.compute.engine = MacEngine::dsp48; }},
      {"table", [](Architecture& a) { a.compute.table = {{8, 8, 0.01, 9, 0}}; }},
  };
  for (const auto& [name, change] : others) {
    Architecture changed = architecture;
    change(changed);
    EXPECT_NE(digest(run(problem, changed, mapping, options)), usual) << name;
  }
  const std::vector<std::pair<std::string, std::function<void(EvaluationOptions&)>>> rules{
      {"fill and drain", [](EvaluationOptions& o) { o.fill_and_drain = false; }},
      {"softness", [](EvaluationOptions& o) { o.softness = 1; }},
  };
  for (const auto& [name, change] : rules) {
    EvaluationOptions changed = options;
    change(changed);
    EXPECT_NE(digest(run(problem, architecture, mapping, changed)), usual) << name;
  }
}

TEST(EvaluatorLaw, EveryRuleHasAnEffect) {
  const Problem problem = parse_problem("O[k,p] += I[c,2*p+r] * W[k,c,r] for r=3 p=8 c=4 k=4 with O:8/24 I:8 W:8");
  Architecture architecture = preset("vector_unit");
  architecture.levels[0].bandwidth = 7;
  const std::string window_in_tile = "L2[OIW] c4 k2 p4 - L1[OIW] r3 p2 - L0[OIW] k2X";
  const std::string window_outside = "L2[OIW] c4 k2 r3 p4 - L1[OIW] p2 - L0[OIW] k2X";
  struct Rule {
    const char* name;
    std::string line;
    std::function<void(EvaluationOptions&)> change;
  };
  const std::vector<Rule> rules{
      {"halo", window_in_tile, [](EvaluationOptions& o) { o.halo = HaloRule::none; }},
      {"footprint", window_outside, [](EvaluationOptions& o) { o.footprint = FootprintRule::bounding_box; }},
      {"first fill", window_in_tile, [](EvaluationOptions& o) { o.first_fill_elided = false; }},
      {"whole cycles", window_in_tile, [](EvaluationOptions& o) { o.whole_cycles = false; }},
  };
  for (const Rule& rule : rules) {
    const Mapping mapping = parse_mapping(rule.line, problem, architecture);
    EvaluationOptions changed;
    rule.change(changed);
    EXPECT_NE(digest(run(problem, architecture, mapping, changed)), digest(run(problem, architecture, mapping)))
        << rule.name;
  }
}

}  // namespace
}  // namespace kasimir
