// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_evaluator.h"

#include "kasimir/base/rng.h"
#include "kasimir/base/table.h"
#include "kasimir/hardware/evaluate.h"
#include "kasimir/hardware/search/search.h"

#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

/// Mappings to cost one after the other, so that no answer can be remembered.
constexpr int mappings_count = 1000;

}  // namespace

int bench_evaluator(const BenchEvaluator& options) {
  // The most frequent layer of ResNet-18 (arXiv 1512.03385, table 1).
  const Problem problem = convolution({.out_channels = 64,
                                       .in_channels = 64,
                                       .out_height = 56,
                                       .out_width = 56,
                                       .kernel_height = 3,
                                       .kernel_width = 3});
  Table table({{"preset", "", Table::Align::left}, {"any mapping", "million/s"}, {"products", "million/s"}});
  for (const std::string& name : preset_names()) {
    const CostModel model(problem, preset(name));
    const MappingSpace space(model, {});
    Rng rng(1);
    std::vector<Mapping> mappings;
    for (int i = 0; i < mappings_count; ++i) mappings.push_back(space.random(rng));
    const double any = evaluations_per_second(model, mappings, options.seconds);
    const double products = fast_evaluations_per_second(model, options.seconds);
    if (options.json) {
      fmt::print("{}\n",
                 nlohmann::json{
                     {"preset", name}, {"evaluations_per_second", any}, {"product_evaluations_per_second", products}}
                     .dump());
    } else {
      table.row({name, fmt::format("{:.2f}", 1e-6 * any), fmt::format("{:.1f}", 1e-6 * products)});
    }
  }
  if (!options.json) fmt::print("{}", table.str());
  return 0;
}

}  // namespace kasimir
