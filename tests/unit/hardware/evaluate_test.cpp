// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/evaluate.h"

#include "kasimir/base/files.h"
#include "kasimir/base/text.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

/// A product of 4 x 6 by 6 x 8 on a memory, a buffer with 4 children and units that keep nothing.
struct Small {
  Problem problem = matrix_product(4, 8, 6);
  Architecture architecture;
  EvaluationOptions options;
  std::string line = "L1[OIW] M4 - L0[OIW] K6 N2 N4X";

  Small() {
    architecture.name = "small";
    MemoryLevel dram;
    dram.name = "dram";
    MemoryLevel buffer;
    buffer.name = "buffer";
    buffer.x.size = 4;
    architecture.levels = {dram, buffer};
  }
  MemoryLevel& dram() { return architecture.levels[0]; }
  MemoryLevel& buffer() { return architecture.levels[1]; }
  [[nodiscard]] CostModel model() const { return {problem, architecture, options}; }
  [[nodiscard]] Evaluation run() const {
    const CostModel made = model();
    return evaluate(made, parse_mapping(line, problem, architecture));
  }
  [[nodiscard]] std::vector<std::string> complaints() const {
    const CostModel made = model();
    const Evaluation result = evaluate(made, parse_mapping(line, problem, architecture));
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < static_cast<std::size_t>(result.counts.violation_count); ++i)
      lines.push_back(describe(made, result.counts.violations[i]));
    return lines;
  }
};

TEST(Evaluate, CountsByHand) {
  const Small small;
  const CostModel model = small.model();
  const std::vector<LevelRow> rows = level_rows(model, small.run());
  ASSERT_EQ(rows.size(), 6U);
  // buffer: one row of I, all of W, one row of O; W is the same for all 4 rows
  EXPECT_EQ(rows[0].operand, "W");
  EXPECT_EQ(rows[0].reads, 48) << "W comes once";
  EXPECT_EQ(rows[1].reads, 24) << "each row of I comes once";
  EXPECT_EQ(rows[2].updates, 32) << "each row of O leaves once";
  EXPECT_EQ(rows[2].reads, 0);
  EXPECT_EQ(rows[3].reads, 4 * 6 * 2 * 4) << "4 columns of W in each of 48 steps";
  EXPECT_EQ(rows[4].reads, 48) << "one element of I for all 4 children";
  EXPECT_EQ(rows[5].updates, 192);
  EXPECT_EQ(rows[5].reads, 160) << "all but the first of each element";
  EXPECT_EQ(rows[3].footprint, 48);
  EXPECT_EQ(rows[4].footprint, 6);
  EXPECT_EQ(rows[5].footprint, 8);
  EXPECT_EQ(rows[5].bits, 32) << "sums grow in the buffer";
  EXPECT_EQ(rows[2].bits, 8) << "and are finished when they leave it";
}

TEST(Evaluate, AddsUpEnergies) {
  Small small;
  small.architecture.compute.energy_pj = 0.5;
  small.architecture.compute.leakage_mw = 1;
  small.architecture.clock_mhz = 100;
  small.dram().read_pj_per_bit = 10;
  small.dram().write_pj_per_bit = 20;
  small.buffer().read_pj = 2;
  small.buffer().write_pj = 3;
  small.buffer().hop_pj_per_bit = 0.25;
  const Evaluation result = small.run();
  EXPECT_EQ(result.compute_pj, 192 * 0.5);
  EXPECT_EQ(result.level_pj[0], 10 * 8 * (48 + 24) + 20 * 8 * 32);
  EXPECT_EQ(result.level_pj[1], 2 * (192 + 48 + 160) + 3 * (48 + 24 + 192));
  EXPECT_EQ(result.hop_pj, 0.25 * (192 * 8 + 192 * 8 + 192 * 32)) << "each unit's own words cross a link";
  EXPECT_DOUBLE_EQ(result.leakage_pj, 48 * 4 * 10) << "4 units, 1 mW, 48 cycles of 10 ns";
  EXPECT_EQ(result.energy_pj,
            result.compute_pj + result.level_pj[0] + result.level_pj[1] + result.hop_pj + result.leakage_pj);
}

TEST(Evaluate, WaitsForTheBusiestPort) {
  Small small;
  EXPECT_EQ(small.run().cycles, 48);
  EXPECT_EQ(small.run().stall_cycles(), 0);
  EXPECT_EQ(small.run().utilization, 1);
  small.dram().read_bandwidth = 8;
  EXPECT_EQ(small.run().cycles, 72) << "48 + 24 elements of 8 bits";
  EXPECT_EQ(small.run().stall_cycles(), 24);
  EXPECT_EQ(small.run().level_cycles[0], 72);
  EXPECT_NEAR(small.run().utilization, 48.0 / 72, 1e-12);
  small.dram().write_bandwidth = 2;
  EXPECT_EQ(small.run().cycles, 128) << "32 results of 8 bits, two at a time";
  small.dram().bandwidth = 4;
  EXPECT_EQ(small.run().cycles, 208) << "both directions share one port";
  small.dram().bandwidth = 3;
  EXPECT_EQ(small.run().cycles, 278) << "832 / 3, rounded up";
  small.options.whole_cycles = false;
  EXPECT_NEAR(small.run().cycles, 832.0 / 3, 1e-9);
}

TEST(Evaluate, MovesPartialSumsAtTheirWidth) {
  Small small;
  small.line = "L1[OIW] K6 M4 - L0[OIW] N2 N4X";
  const Evaluation result = small.run();
  // 6 passes over all results: 5 of them leave partial sums of 32 bits, the last leaves 8
  const Traffic<double> traffic = traffic_of(small.model(), result.counts, result.counts.entries[3]);
  EXPECT_EQ(traffic.writes, 6 * 32);
  EXPECT_EQ(traffic.write_bits, 5 * 32 * 32 + 32 * 8);
  EXPECT_EQ(traffic.reads, 5 * 32);
  EXPECT_EQ(traffic.read_bits, 5 * 32 * 32);
}

TEST(Evaluate, TakesMoreCyclesForWideOperandsAndSeveralOperations) {
  Small small;
  small.problem.operands[1].bits = small.problem.operands[1].partial_bits = 16;
  EXPECT_EQ(small.run().compute_cycles, 96) << "16 by 8 bits take two passes of an 8-bit unit";
  small.problem.operations = 3;
  EXPECT_EQ(small.run().compute_cycles, 288);
}

TEST(Evaluate, NamesWhatDoesNotFitAndByHowMuch) {
  Small small;
  small.buffer().capacity_bits = 600;
  EXPECT_EQ(small.complaints(), (std::vector<std::string>{"level buffer would hold 688 bit, its capacity is 600 bit"}));
  small.buffer().buffering = Buffering::doubled;
  small.buffer().capacity_bits = 1376;
  EXPECT_TRUE(small.complaints().empty());
  small.buffer().capacity_bits = 1375;
  EXPECT_EQ(small.complaints(),
            (std::vector<std::string>{"level buffer would hold 1376 bit, its capacity is 1375 bit"}));
  small = Small();
  small.buffer().partition_bits[1] = 300;
  small.buffer().x = {.size = 2, .multicast = true, .reduction = true, .shares = role_bit(OperandRole::output)};
  small.line = "L1[OIW] M4 - L0[OIW] K6 N4X N2Y";
  EXPECT_EQ(small.complaints(),
            (std::vector<std::string>{"level buffer cannot run N side by side",
                                      "level buffer would feed 4 columns, there are 2",
                                      "level buffer would feed 2 rows, there are 1",
                                      "level buffer would hold 384 bit of weights, its part for them is 300 bit"}));
  small = Small();
  small.buffer().keeps = role_bit(OperandRole::input);
  small.line = "L1[OIW] M2 - L0[IW] K6 N2 N4X";
  EXPECT_EQ(small.complaints(),
            (std::vector<std::string>{"the loops over M make 2 passes, its size is 4", "level buffer cannot keep W"}));
}

TEST(Evaluate, CanStopAtTheFirstViolation) {
  Small small;
  small.options.stop_at_violation = true;
  EXPECT_TRUE(small.run().finished);
  small.buffer().capacity_bits = 600;
  EXPECT_FALSE(small.run().finished);
  EXPECT_FALSE(small.run().fits());
  EXPECT_EQ(report_text(small.model(), small.run()),
            "does not fit: level buffer would hold 688 bit, its capacity is 600 bit\n");
}

TEST(Evaluate, LetsOperandsPassALevelBy) {
  Small small;
  small.line = "L1[OIW] M4 - L0[OI] K6 N2 N4X";
  const std::vector<LevelRow> rows = level_rows(small.model(), small.run());
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].operand, "W");
  EXPECT_EQ(rows[0].reads, 192) << "without a buffer each unit asks the memory";
}

TEST(Evaluate, SendsAWordOnceForEachChildWhereTheGridCannotMulticast) {
  Small small;
  small.buffer().x.multicast = false;
  EXPECT_EQ(level_rows(small.model(), small.run())[4].reads, 192);
  small = Small();
  small.line = "L1[OIW] M4 - L0[OIW] K3 N8 K2X";
  EXPECT_EQ(level_rows(small.model(), small.run())[5].updates, 96) << "two units add their products on the way";
  small.buffer().x.reduction = false;
  EXPECT_EQ(level_rows(small.model(), small.run())[5].updates, 192);
}

TEST(Evaluate, ReadsOverlapsOfNeighboursOnceAlongDiagonals) {
  Small small;
  small.problem = parse_problem("O[p] += I[p+r] * W[r] for p=4 r=3");
  small.buffer().y.size = 4;
  small.line = "L1[OIW] - L0[OIW] p4X r3Y";
  EXPECT_EQ(level_rows(small.model(), small.run())[4].reads, 12);
  small.buffer().share_overlaps = true;
  EXPECT_EQ(level_rows(small.model(), small.run())[4].reads, 6) << "rows 0 .. 5";
}

TEST(Evaluate, AddsTheTimeOfSingleBuffersAndOfFirstAndLastTiles) {
  Small small;
  small.buffer().write_bandwidth = 8;
  const Evaluation overlapped = small.run();
  EXPECT_EQ(overlapped.serial_cycles, 0);
  small.buffer().buffering = Buffering::single;
  const Evaluation single = small.run();
  EXPECT_EQ(single.serial_cycles, 48 + 24 + 32) << "everything that comes in and the results that leave";
  EXPECT_EQ(single.cycles, overlapped.cycles + single.serial_cycles);
  small = Small();
  small.options.fill_and_drain = true;
  small.dram().read_bandwidth = 16;
  small.buffer().write_bandwidth = 32;
  small.dram().write_bandwidth = 8;
  const Evaluation ends = small.run();
  EXPECT_EQ(ends.fill_cycles, (48 + 6) * 8 / 16);
  EXPECT_EQ(ends.drain_cycles, 8);
  EXPECT_EQ(ends.cycles, std::max(ends.compute_cycles, ends.level_cycles[1]) + ends.fill_cycles + ends.drain_cycles);
}

TEST(Evaluate, CountsShorterLastPassesExactly) {
  Small small;
  small.problem = matrix_product(5, 7, 6);
  small.line = "L1[OIW] M3 N2 - L0[OIW] M2 K6 N4X";  // 6 of 5 rows, 8 of 7 columns
  const CostModel model = small.model();
  const Evaluation result = small.run();
  EXPECT_TRUE(result.fits());
  EXPECT_EQ(result.compute_cycles, 3 * 2 * 2 * 6) << "full passes of the units";
  EXPECT_DOUBLE_EQ(result.utilization, 5.0 * 7 * 6 / (72 * 4));
  const std::vector<LevelRow> rows = level_rows(model, result);
  EXPECT_DOUBLE_EQ(rows[0].reads, 3 * 42) << "W comes for each of three groups of rows";
  EXPECT_DOUBLE_EQ(rows[1].reads, 30) << "I stays while the columns change";
  EXPECT_DOUBLE_EQ(rows[2].updates, 35);
  EXPECT_DOUBLE_EQ(rows[5].updates, 210);
}

TEST(Evaluate, SystolicPresetsTakeAsLongAsScaleSim) {
  const std::string text = read_file(KASIMIR_SOURCE_DIR "/tests/reference/hardware/systolic_scalesim.csv");
  int compared = 0;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> cells = split(line, ',');
    if (cells.size() < 7 || line.starts_with('#') || !parse_integer(trim(cells[1]))) continue;
    const std::string dataflow(trim(cells[0]));
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < 7; ++i) numbers.push_back(*parse_integer(trim(cells[i])));
    const std::int64_t rows = numbers[0], columns = numbers[1], m = numbers[2], n = numbers[3], k = numbers[4];
    Architecture architecture = preset("systolic_" + dataflow);
    architecture.levels[1].y.size = rows;
    architecture.levels[1].x.size = columns;
    const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    std::string mapping;
    if (dataflow == "os")
      mapping =
          fmt::format("L2[OIW] M{} N{} - L1[OIW] K{} M{}Y N{}X - L0[O]", up(m, rows), up(n, columns), k, rows, columns);
    else if (dataflow == "ws")
      mapping =
          fmt::format("L2[OIW] K{} N{} - L1[OIW] M{} K{}Y N{}X - L0[W]", up(k, rows), up(n, columns), m, rows, columns);
    else
      mapping =
          fmt::format("L2[OIW] K{} M{} - L1[OIW] N{} K{}Y M{}X - L0[I]", up(k, rows), up(m, columns), n, rows, columns);
    const CostModel model(matrix_product(m, n, k), architecture);
    const Evaluation result = evaluate(model, parse_mapping(mapping, model.problem, architecture));
    EXPECT_EQ(result.compute_cycles - 1, static_cast<double>(numbers[5])) << line << "\n" << mapping;
    EXPECT_TRUE(result.fits()) << line;
    ++compared;
  }
  EXPECT_EQ(compared, 18);
}

TEST(Evaluate, ReportsEveryLevelAndOperand) {
  Small small;
  small.architecture.compute.energy_pj = 0.5;
  small.dram().bandwidth = 8;
  EXPECT_EQ(report_text(small.model(), small.run()),
            "level   operand  instances  kept  width  reads  fills  updates  energy\n"
            "                                    bit                             nJ\n"
            "dram    W                1    48      8     48      0        0    0.00\n"
            "dram    I                1    24      8     24      0        0    0.00\n"
            "dram    O                1    32      8      0      0       32    0.00\n"
            "buffer  W                1    48      8    192     48        0    0.00\n"
            "buffer  I                1     6      8     48     24        0    0.00\n"
            "buffer  O                1     8     32    160      0      192    0.00\n"
            "\n"
            "cycles               104\n"
            "  compute             48\n"
            "  waiting             56\n"
            "  dram is busy       104\n"
            "  buffer is busy       0\n"
            "utilization %       46.2\n"
            "energy nJ           0.10\n"
            "  compute           0.10\n"
            "  links             0.00\n"
            "  leakage           0.00\n"
            "power mW          0.9231\n"
            "area mm2          0.0000\n");
}

TEST(Evaluate, MeasuresItsOwnSpeed) {
  const Small small;
  const CostModel model = small.model();
  const std::vector<Mapping> mappings{parse_mapping(small.line, small.problem, small.architecture)};
  EXPECT_GT(evaluations_per_second(model, mappings, 0.01), 0);
}

}  // namespace
}  // namespace kasimir
