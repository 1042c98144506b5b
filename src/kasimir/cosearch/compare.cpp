// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/table.h"
#include "kasimir/cosearch/baselines.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / n;
  for (const double value : values) spread.deviation += (value - spread.mean) * (value - spread.mean);
  spread.deviation = values.size() > 1 ? std::sqrt(spread.deviation / (n - 1)) : 0;
  return spread;
}

std::string text_of(const Spread& spread) { return fmt::format("{:.4f} +- {:.4f}", spread.mean, spread.deviation); }

}  // namespace

std::vector<MethodRow> compare_methods(const TrainerFactory& factory, HardwareTarget& hardware,
                                       const MethodOptions& options, const ComparisonOptions& comparison) {
  if (comparison.targets.empty() || comparison.seeds.empty() || comparison.methods.empty())
    throw input_error("a comparison of {} methods, {} targets and {} seeds, needed: at least one of each",
                      comparison.methods.size(), comparison.targets.size(), comparison.seeds.size());
  const double largest = *std::max_element(comparison.targets.begin(), comparison.targets.end());
  const double reference_cost = comparison.reference_cost > 0 ? comparison.reference_cost : 2 * largest;
  const auto runs = static_cast<double>(comparison.targets.size() * comparison.seeds.size());
  std::vector<MethodRow> rows;
  for (const SearchMethod method : comparison.methods) {
    MethodRow row;
    row.method = method;
    for (const std::uint64_t seed : comparison.seeds) {
      std::vector<ArchiveEntry> finalists;
      for (const double target : comparison.targets) {
        MethodOptions one = options;
        one.search.target = target;
        one.search.seed = seed;
        const MethodResult result = run_method(method, factory, hardware, one);
        for (const Finalist& found : result.finalists) finalists.push_back({found.design, found.score, found.cost, 0});
        const bool met = !result.finalists.empty();
        row.best_scores.push_back(met ? result.finalists.front().score : comparison.reference_score);
        row.met += met ? 1 : 0;
        row.spent += result.spent / runs;
        if (comparison.done) comparison.done(method, seed, target, result);
      }
      row.hypervolumes.push_back(hypervolume(finalists, comparison.reference_score, reference_cost));
    }
    row.met /= runs;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string str(const std::vector<MethodRow>& rows) {
  using Align = Table::Align;
  Table table({{"search", "", Align::left},
               {"hypervolume", "mean +- sd"},
               {"best score", "mean +- sd"},
               {"target met", "%"},
               {"first is better", "seeds"},
               {"spent", "mean"}});
  for (const MethodRow& row : rows) {
    std::size_t better = 0;
    const std::size_t seeds = row.hypervolumes.size();
    for (std::size_t s = 0; s < seeds; ++s) better += rows.front().hypervolumes[s] > row.hypervolumes[s] ? 1 : 0;
    table.row({std::string(name_of(row.method)), text_of(spread_of(row.hypervolumes)),
               text_of(spread_of(row.best_scores)), fmt::format("{:.0f}", 100 * row.met),
               &row == &rows.front() ? "-" : fmt::format("{} of {}", better, seeds), fmt::format("{:.0f}", row.spent)});
  }
  return table.str();
}

}  // namespace kasimir
