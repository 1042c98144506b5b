// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/evaluate.h"
#include "kasimir/hardware/quantity.h"
#include "kasimir/hardware/search/search.h"
#include "unit/hardware/message_of.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

SearchOptions fastest(std::uint64_t evaluations = 0) {
  SearchOptions options;
  options.goal.objective = Objective::latency;
  options.evaluations = evaluations;
  return options;
}

Mapping some_mapping(const CostModel& model) {
  return parse_mapping("L3[OIW] M64 - L2[IW] N4 N16X - L1[O] K4 K16X - L0[W]", model.problem, model.architecture);
}

TEST(PowerLimit, MakesTheMachineWaitAndChangesNothingElse) {
  const Problem problem = matrix_product(64, 64, 64);
  Architecture leaking = preset("gemmini");
  leaking.levels[1].leakage_mw = 10;
  const CostModel free(problem, leaking);
  const Evaluation fast = evaluate(free, some_mapping(free));
  EXPECT_EQ(fast.pause_cycles, 0);
  const double limit = power_mw(free, fast) / 2;
  const CostModel limited(problem, leaking, {.max_power_mw = limit});
  const Evaluation slow = evaluate(limited, some_mapping(limited));
  EXPECT_LE(power_mw(limited, slow), limit * (1 + 1e-9));
  EXPECT_GT(power_mw(limited, slow), limit * 0.999);  // no longer than it must
  EXPECT_EQ(slow.cycles, fast.cycles + slow.pause_cycles);
  EXPECT_DOUBLE_EQ(slow.energy_pj - slow.leakage_pj, fast.energy_pj - fast.leakage_pj);
  EXPECT_NEAR(slow.leakage_pj, 10 * slow.cycles, 1e-6);  // 10 mW at 1 GHz are 10 pJ a cycle
  const CostModel roomy(problem, leaking, {.max_power_mw = 3 * limit});
  EXPECT_EQ(evaluate(roomy, some_mapping(roomy)).cycles, fast.cycles);
}

TEST(PowerLimit, IsKeptByEachSearchEngine) {
  const CostModel free(matrix_product(16, 16, 16), preset("vector_unit"));
  const SearchAnswer fast = search_mapping(free, "branch_and_bound", fastest());
  const double limit = power_mw(free, fast.evaluation) / 2;
  const CostModel model(matrix_product(16, 16, 16), preset("vector_unit"), {.max_power_mw = limit});
  const SearchAnswer best = search_mapping(model, "exhaustive", fastest());
  for (const SearchEngine& engine : search_engines()) {
    const SearchAnswer answer = search_mapping(model, engine.name, fastest(20000));
    ASSERT_TRUE(answer.found) << engine.name;
    EXPECT_LE(power_mw(model, answer.evaluation), limit * (1 + 1e-9)) << engine.name;
    EXPECT_GE(answer.value, best.value * (1 - 1e-9)) << engine.name;
  }
  const SearchAnswer proved = search_mapping(model, "branch_and_bound", fastest());
  EXPECT_TRUE(proved.optimal());
  EXPECT_NEAR(proved.value, best.value, 1e-9 * best.value);
  EXPECT_GT(proved.value, fast.value);
}

TEST(PowerLimit, MustBeMoreThanWhatLeaks) {
  Architecture leaking = preset("gemmini");
  leaking.levels[1].leakage_mw = 10;
  EXPECT_EQ(message_of([&] { CostModel(matrix_product(2, 2, 2), leaking, {.max_power_mw = 10}); }),
            "gemmini leaks 10 mW, the limit of power is 10 mW");
}

TEST(BlockRam, IsCountedForTheLevelsThatAreMadeOfIt) {
  Architecture fpga = preset("systolic_os");
  EXPECT_EQ(fpga.bram18(), 0);
  MemoryLevel& level = fpga.levels[1];
  level.block_ram = true;
  level.bandwidth = 36;
  level.read_bandwidth = level.write_bandwidth = MemoryLevel::unbounded;
  level.partition_bits = {MemoryLevel::unbounded, MemoryLevel::unbounded, MemoryLevel::unbounded};
  level.capacity_bits = 36.0 * 1024;
  EXPECT_EQ(fpga.bram18(), 2);  // 512 x 36 twice
  level.bandwidth = 72;
  EXPECT_EQ(fpga.bram18(), 2);  // the same bits, side by side
  level.bandwidth = 73;
  EXPECT_EQ(fpga.bram18(), 3);
  level.partition_bits = {18432, 18432, 72.0 * 1024};  // one memory for each role
  level.bandwidth = 36;
  EXPECT_EQ(fpga.bram18(), 1 + 1 + 4);
  EXPECT_EQ(parse_architecture(to_toml(fpga), "fpga.toml"), fpga);
}

TEST(BlockRam, NeedsACapacity) {
  Architecture fpga = preset("systolic_os");
  fpga.levels[0].block_ram = true;
  EXPECT_EQ(message_of([&] { check_architecture(fpga); }),
            "level dram: block RAMs without a capacity, at least one is needed");
}

TEST(Quantity, ReadsNumbersWithUnits) {
  EXPECT_EQ(parse_quantity("64 KiB", Quantity::size, 1000), 64 * 8192.0);
  EXPECT_EQ(parse_quantity("1 GB/s", Quantity::bandwidth, 1000), 8.0);
  EXPECT_EQ(parse_quantity("0.5 W", Quantity::power, 1), 500.0);
  EXPECT_EQ(parse_quantity("2 mm2", Quantity::area, 1), 2e6);
  EXPECT_EQ(parse_quantity("90 uJ", Quantity::energy, 1), 90e6);
  EXPECT_EQ(parse_quantity("0.5 mJ", Quantity::energy, 1), 0.5e9);
  for (const char* text : {"64", "64KiB", "KiB", "", "64 mW", "x KiB"})
    EXPECT_FALSE(parse_quantity(text, Quantity::size, 1000)) << text;
  EXPECT_EQ(unit_list(Quantity::power), "`mW`, `uW`, `W`");
  EXPECT_EQ(unit_of(Quantity::area), "um2");
}

}  // namespace
}  // namespace kasimir
