// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/search.h"

#include "kasimir/base/text.h"
#include "kasimir/hardware/search/branch_and_bound.h"
#include "kasimir/hardware/search/engines.h"

#include <array>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::array<std::string_view, 4> objectives{"latency", "energy", "edp", "weighted"};

constexpr std::array<SearchEngine, 6> engines{{
    {"exhaustive", "every choice of bounds in every order that matters", exhaustive_search},
    {"branch_and_bound", "the optimum with a proof, or the best with a proved gap", branch_and_bound},
    {"gradient", "descent on logarithms of bounds with soft reuse, rounded and polished", gradient_search},
    {"evolutionary", "genetic search with tournaments; orders coded as importances", evolutionary_search},
    {"random", "uniform mappings", random_search},
    {"polish", "block-coordinate descent from random mappings", polish_search},
}};

}  // namespace

std::string_view name_of(Objective objective) { return objectives[static_cast<std::size_t>(objective)]; }

Objective parse_objective(std::string_view name) {
  for (std::size_t i = 0; i < objectives.size(); ++i)
    if (objectives[i] == name) return static_cast<Objective>(i);
  throw input_error("no objective is called `{}`", name)
      .note(suggestion(name, std::vector<std::string>(objectives.begin(), objectives.end())));
}

double value_of(const Goal& goal, double cycles, double energy_pj) {
  switch (goal.objective) {
    case Objective::latency:
      return cycles;
    case Objective::energy:
      return energy_pj;
    case Objective::energy_delay:
      return energy_pj * cycles;
    case Objective::weighted:
      return energy_pj + goal.pj_per_cycle * cycles;
  }
  fail_check("objective", __FILE__, __LINE__, "an unknown objective");
}

std::span<const SearchEngine> search_engines() { return engines; }

namespace {

const SearchEngine& engine_named(std::string_view engine) {
  for (const SearchEngine& known : engines)
    if (known.name == engine) return known;
  std::vector<std::string> names;
  for (const SearchEngine& known : engines) names.emplace_back(known.name);
  throw input_error("no search engine is called `{}`", engine).note(suggestion(engine, names));
}

}  // namespace

MappingSearch::MappingSearch(const CostModel& model, std::string_view engine)
    : model_(model), engine_(engine_named(engine)) {
  if (model.options.softness > 0 || model.options.stop_at_violation)
    throw input_error("a search needs evaluations with softness 0 that do not stop at a violation");
}

MappingSearch::~MappingSearch() = default;
MappingSearch::MappingSearch(MappingSearch&&) noexcept = default;

SearchAnswer MappingSearch::run(const SearchOptions& options) {
  const bool widen = options.widen && !options.rules.search_keeps;
  SearchAnswer answer;
  if (!widen || !misfit_) answer = run_once(options, narrow_);
  if (answer.found || !widen || (options.should_stop && options.should_stop())) return answer;
  misfit_ = answer.complete || engine_.run != branch_and_bound;  // not merely out of time
  SearchOptions wide = options;
  wide.rules.search_keeps = true;
  if (options.seconds > 0) wide.seconds = std::max(1e-3, options.seconds - answer.seconds);
  SearchAnswer again = run_once(wide, wide_);
  again.widened = true;
  again.evaluations += answer.evaluations;
  again.seconds += answer.seconds;
  return again;
}

SearchAnswer MappingSearch::run_once(const SearchOptions& options, std::unique_ptr<BranchAndBound>& proving) {
  SearchAnswer answer;
  if (engine_.run == branch_and_bound) {
    if (proving == nullptr) proving = std::make_unique<BranchAndBound>(model_, options.rules);
    answer = proving->run(options);
  } else {
    answer = engine_.run(model_, options);
  }
  answer.engine = engine_.name;
  return answer;
}

SearchAnswer search_mapping(const CostModel& model, std::string_view engine, const SearchOptions& options) {
  return MappingSearch(model, engine).run(options);
}

namespace {

std::string amount(Objective objective, double value) {
  constexpr std::array<std::string_view, 4> units{"cycles", "pJ", "pJ cycles", "pJ"};
  return fmt::format("{} {:.4g} {}", name_of(objective), value, units[static_cast<std::size_t>(objective)]);
}

}  // namespace

std::string explain(const CostModel& model, const SearchOptions& options, const SearchAnswer& answer) {
  if (answer.found) {
    const std::string value = amount(options.goal.objective, answer.value);
    if (answer.optimal()) return value + ", proved optimal";
    if (answer.lower_bound <= 0) return value + ", nothing is proved about better ones";
    return value + fmt::format(", proved within {:.2g} % of the optimum", 100 * answer.gap());
  }
  if (answer.misfit.constraint.empty()) return "no mapping was looked at: the budget is too small";
  std::string text = fmt::format("no mapping fits: {:.0f} % of those that were looked at break the limit of {}",
                                 100 * answer.misfit.share, answer.misfit.constraint);
  text += fmt::format("\nnearest: {}", str(answer.misfit.nearest, model.problem, model.architecture));
  for (const std::string& violation : answer.misfit.violations) text += "\n  " + violation;
  return text;
}

}  // namespace kasimir
