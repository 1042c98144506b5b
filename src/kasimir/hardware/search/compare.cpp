// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/search/engines.h"
#include "kasimir/hardware/search/product_costs.h"

#include <cmath>

namespace kasimir {

std::vector<ComparedSpace> compared_spaces() {
  std::vector<ComparedSpace> spaces;
  const auto add = [&](std::string name, Problem problem, const char* architecture) {
    spaces.push_back({std::move(name), CostModel(std::move(problem), preset(architecture)), {}});
  };
  add("GEMM 48 x 720 x 360, vector_unit", matrix_product(48, 720, 360), "vector_unit");
  add("GEMM 256 x 512 x 256, vector_unit", matrix_product(256, 512, 256), "vector_unit");
  add("GEMM 56 x 192 x 240, vector_unit", matrix_product(56, 192, 240), "vector_unit");
  add("16 -> 16, 3 x 3, 8 x 8, gemmini",
      convolution({.out_channels = 16,
                   .in_channels = 16,
                   .out_height = 8,
                   .out_width = 8,
                   .kernel_height = 3,
                   .kernel_width = 3}),
      "gemmini");
  add("8 -> 12, 3 x 3, 6 x 6, vector_unit",
      convolution({.out_channels = 12,
                   .in_channels = 8,
                   .out_height = 6,
                   .out_width = 6,
                   .kernel_height = 3,
                   .kernel_width = 3}),
      "vector_unit");
  add("16 -> 32, 3 x 3 stride 2, 14 x 14, systolic_ws",
      convolution({.out_channels = 32,
                   .in_channels = 16,
                   .out_height = 14,
                   .out_width = 14,
                   .kernel_height = 3,
                   .kernel_width = 3,
                   .stride_height = 2,
                   .stride_width = 2}),
      "systolic_ws");
  return spaces;
}

double space_evaluations(const CostModel& model, const SearchOptions& options) {
  const MappingSpace space(model, options.rules);
  double all = 0;
  for (const Keeps& keeps : space.keeps()) {
    ProductCosts costs(model, space, keeps, options.goal);
    if (!costs.usable()) return Goal::unlimited;
    for (const OrderClass& orders : order_classes(model, keeps)) {
      double here = 1;
      for (std::size_t g = 0; g < costs.groups().size(); ++g)
        here *= static_cast<double>(costs.table(g, orders, false).rows);
      all += here;
    }
  }
  return all;
}

namespace {

EngineGap gap_of(const ComparedSpace& space, const SearchEngine& engine, double optimum, std::size_t seeds) {
  EngineGap gap;
  gap.engine = engine.name;
  gap.space = space.name;
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SearchOptions options = space.options;
    options.seed = seed;
    const SearchAnswer answer = engine.run(space.model, options);
    const double ratio = answer.value / optimum;
    gap.mean += ratio / static_cast<double>(seeds);
    worst = std::max(worst, ratio);
    gap.evaluations += static_cast<double>(answer.evaluations) / static_cast<double>(seeds);
    gap.seconds += answer.seconds / static_cast<double>(seeds);
    ++gap.runs;
    if (ratio <= 1 + 1e-9) ++gap.optimal;
  }
  gap.worst = worst;
  return gap;
}

}  // namespace

std::vector<EngineGap> compare_engines(const std::vector<ComparedSpace>& spaces, double share, std::size_t seeds,
                                       std::string_view only) {
  std::vector<EngineGap> gaps;
  for (ComparedSpace space : spaces) {
    const SearchAnswer best = branch_and_bound(space.model, space.options);
    const double all = space_evaluations(space.model, space.options);
    for (const SearchEngine& engine : search_engines()) {
      if (engine.name == "exhaustive" || (!only.empty() && engine.name != only)) continue;
      const bool proves = engine.name == "branch_and_bound";
      space.options.evaluations = proves ? 0 : static_cast<std::uint64_t>(std::max(1.0, share * all));
      gaps.push_back(gap_of(space, engine, best.value, proves ? 1 : seeds));
      gaps.back().space_evaluations = all;
    }
  }
  return gaps;
}

std::string str(const std::vector<EngineGap>& gaps) {
  Table table({{"space", "", Table::Align::left},
               {"engine", "", Table::Align::left},
               {"mean", "/ optimum"},
               {"worst", "/ optimum"},
               {"optimal", "runs"},
               {"evaluations", ""},
               {"of all", "%"},
               {"time", "s"}});
  for (const EngineGap& gap : gaps)
    table.row({gap.space, gap.engine, fmt::format("{:.4f}", gap.mean), fmt::format("{:.4f}", gap.worst),
               fmt::format("{} of {}", gap.optimal, gap.runs), si(gap.evaluations),
               fmt::format("{:.3f}", 100 * gap.evaluations / gap.space_evaluations),
               fmt::format("{:.3f}", gap.seconds)});
  return table.str();
}

double fast_evaluations_per_second(const CostModel& model, double seconds) {
  const MappingSpace space(model, {});
  ProductCosts costs(model, space, space.keeps().front(), {});
  KASIMIR_CHECK(costs.usable(), "a space of {} mappings without orders", space.size());
  const OrderClass orders(static_cast<std::size_t>(model.levels), LevelOrder{{}, true, false, -1});
  std::size_t largest = 0;
  for (std::size_t g = 1; g < costs.groups().size(); ++g)
    if (costs.table(g, orders, false).rows > costs.table(largest, orders, false).rows) largest = g;
  const FactorTable& table = costs.table(largest, orders, false);
  const std::vector<double> ones(costs.components(), 1.0);
  PricedBlock block;
  double done = 0;
  double sum = 0;
  const Stopwatch watch;
  do {
    for (int again = 0; again < 100; ++again)
      for (std::size_t from = 0; from < table.rows; from += PricedBlock::size) {
        const std::size_t count = std::min(PricedBlock::size, table.rows - from);
        costs.price(ones.data(), table, from, count, block);
        done += static_cast<double>(count);
        sum += block.energy_pj[0];
      }
  } while (watch.seconds() < seconds);
  KASIMIR_CHECK(sum >= 0, "the energies add up to {}", sum);
  return done / watch.seconds();
}

}  // namespace kasimir
