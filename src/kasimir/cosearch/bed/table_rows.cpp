// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/table.h"
#include "kasimir/cosearch/baselines.h"
#include "kasimir/cosearch/bed/tables.h"

#include <algorithm>

namespace kasimir {
namespace {

struct Way {
  std::string name;
  CostForm form;
  Control control;
  std::string mode;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all{
      {"smooth maximum, Lagrangian", CostForm::smooth_max, Control::lagrangian, "heterogeneous"},
      {"duals, Lagrangian", CostForm::duals, Control::lagrangian, "heterogeneous"},
      {"sum over chunks, Lagrangian", CostForm::sum, Control::lagrangian, "heterogeneous"},
      {"smooth maximum, doubling", CostForm::smooth_max, Control::doubling, "heterogeneous"},
      {"original's cost, rate 0.025", CostForm::original, Control::doubling, "heterogeneous"},
      {"original as released", CostForm::original, Control::doubling, "proxy"}};
  return all;
}

// One problem with its target and optimum for one kind of hardware.
struct Case {
  TableProblem problem;
  SharedElements hardware;
  std::optional<Accelerator> accelerator;  // that stays
  double target = 0, optimum = 0;
  std::uint64_t seed = 0;

  Case(const TableBedOptions& options, std::size_t number, bool adapts)
      : problem(table_problem(options.seed * 1000 + number, number % 2 == 1)),
        hardware(problem),
        seed(options.seed * 1000 + number) {
    if (!adapts) accelerator = hardware.optimise(ChoiceDesign(problem.space.blocks.size(), {1, 1}));
    const Accelerator* fixed = accelerator ? &*accelerator : nullptr;
    target = cost_quantile(hardware, problem.space, options.quantile, fixed, seed);
    optimum = least_error(hardware, problem, target, fixed);
  }
  [[nodiscard]] double excess(const ChoiceDesign& design) const { return sum_of(problem.error, design) / optimum - 1; }
  double cost(const ChoiceDesign& design) {
    return accelerator ? hardware.cost_on(*accelerator, design) : hardware.cost(design);
  }
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

CosearchOptions search_options(const Way& way, const Case& one, const TableBedOptions& options) {
  CosearchOptions search;
  search.mode = sampling_mode(way.mode);
  search.form = way.form;
  search.control.control = way.control;
  search.target = one.target;
  search.warmup_steps = 0;
  search.choice_steps = options.steps;
  if (way.control == Control::doubling) search.look_every = original_look_every(options.steps);
  if (one.accelerator) {
    search.optimise_every = 0;
    search.accelerator = one.accelerator;
  }
  search.seed = one.seed;
  return search;
}

TableBedRow run_way(const Way& way, bool adapts, std::vector<Case>& cases, const TableBedOptions& options) {
  TableBedRow row;
  row.name = way.name;
  row.adapts = adapts;
  std::vector<double> costs, likeliest, first, best;
  for (Case& one : cases) {
    const CosearchResult result =
        cosearch(table_trainer(one.problem, options.noise, one.seed), one.hardware, search_options(way, one, options));
    const double cost = result.likeliest_cost / one.target;
    costs.push_back(cost);
    if (within_target(cost, 1)) likeliest.push_back(one.excess(result.likeliest));
    if (result.finalists.empty()) continue;
    best.push_back(one.excess(result.finalists.front().design));
    const auto likeliest_finalist =
        std::max_element(result.finalists.begin(), result.finalists.end(),
                         [](const auto& a, const auto& b) { return a.log_probability < b.log_probability; });
    first.push_back(one.excess(likeliest_finalist->design));
  }
  const auto all = static_cast<double>(cases.size());
  row.likeliest_feasible = static_cast<double>(likeliest.size()) / all;
  row.likeliest_cost = median(costs);
  row.likeliest_excess = mean(likeliest);
  row.feasible = static_cast<double>(best.size()) / all;
  row.median_first = median(first);
  row.mean_first = mean(first);
  row.median_excess = median(best);
  row.mean_excess = mean(best);
  return row;
}

TableBedRow random_row(bool adapts, std::vector<Case>& cases) {
  constexpr std::size_t wanted = 20, most = 20000;
  TableBedRow row;
  row.name = "best of 20 random within the target";
  row.adapts = adapts;
  std::vector<double> best;
  for (Case& one : cases) {
    Rng rng(one.seed, 9);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t found = 0, tried = 0; found < wanted && tried < most; ++tried) {
      const ChoiceDesign design = random_design(one.problem.space, rng);
      if (one.cost(design) > one.target) continue;
      ++found;
      least = std::min(least, one.excess(design));
    }
    if (std::isfinite(least)) best.push_back(least);
  }
  row.feasible = static_cast<double>(best.size()) / static_cast<double>(cases.size());
  row.median_excess = median(best);
  row.mean_excess = mean(best);
  return row;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

}  // namespace

std::vector<TableBedRow> run_table_bed(const TableBedOptions& options) {
  if (options.problems == 0 || options.steps == 0)
    throw input_error("a bed of {} problems and {} steps, needed: at least 1 of each", options.problems, options.steps);
  std::vector<TableBedRow> rows;
  for (const bool adapts : {false, true}) {
    std::vector<Case> cases;
    for (std::size_t i = 0; i < options.problems; ++i) cases.emplace_back(options, i, adapts);
    for (const Way& way : ways()) rows.push_back(run_way(way, adapts, cases, options));
    rows.push_back(random_row(adapts, cases));
  }
  return rows;
}

std::string str(const std::vector<TableBedRow>& rows, const TableBedOptions& options) {
  using Align = Table::Align;
  Table table({{"search", "", Align::left},
               {"hardware", "", Align::left},
               {"likeliest feasible", "%"},
               {"its cost", "of target"},
               {"its excess", "mean %"},
               {"decoded feasible", "%"},
               {"first's excess", "median %"},
               {"first's excess", "mean %"},
               {"best of 8", "median %"},
               {"best of 8", "mean %"}});
  for (const TableBedRow& row : rows) {
    const bool searched = row.likeliest_cost > 0;
    const auto of_search = [&](double value) { return searched ? percent(value) : std::string("-"); };
    table.row({row.name, row.adapts ? "made anew" : "stays", of_search(row.likeliest_feasible),
               searched ? fmt::format("{:.2f}", row.likeliest_cost) : "-",
               row.likeliest_feasible > 0 ? percent(row.likeliest_excess) : "-", percent(row.feasible),
               of_search(row.median_first), of_search(row.mean_first), percent(row.median_excess),
               percent(row.mean_excess)});
  }
  return fmt::format(
      "{} problems of 6 blocks x 3 operators x 3 bit widths, 3 chunks, {} choice steps, slope noise {}, targets kept "
      "by "
      "{:.0f} % of random networks\nexcess: error above the exact optimum, by enumeration\n{}",
      options.problems, options.steps, options.noise, 100 * options.quantile, table.str());
}

}  // namespace kasimir
