// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/space.h"

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

/// Searches for mappings: several engines that answer the same question with the same counter.
///
///     const CostModel model(convolution(shape), preset("gemmini"));
///     const SearchAnswer best = search_mapping(model, "branch_and_bound", {.goal = {Objective::energy_delay}});
///     if (best.found) fmt::print("{}\n{}", explain(model, best), report_text(model, best.evaluation));
namespace kasimir {

/// What is made small.
enum class Objective : std::uint8_t {
  latency,       ///< cycles
  energy,        ///< pJ
  energy_delay,  ///< pJ * cycles
  weighted       ///< pJ + Goal::pj_per_cycle * cycles
};
/// "latency", "energy", "edp", "weighted".
std::string_view name_of(Objective objective);
/// @throws Error (input) with the known names.
Objective parse_objective(std::string_view name);

/// The objective, and limits that an answer must keep; none by default.
struct Goal {
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  Objective objective = Objective::energy_delay;
  double pj_per_cycle = 0;  ///< of Objective::weighted
  double max_cycles = unlimited;
  double max_energy_pj = unlimited;
  double max_area_um2 = unlimited;  ///< of the architecture
  bool operator==(const Goal&) const = default;
};

/// Of the objective, whether limits are kept or not.
double value_of(const Goal& goal, double cycles, double energy_pj);

struct SearchProgress {
  std::uint64_t evaluations = 0;
  double seconds = 0;
  double best = std::numeric_limits<double>::infinity();  ///< value of the best mapping so far
  double lower_bound = 0;                                 ///< proved so far
};

struct SearchOptions {
  Goal goal;
  SpaceRules rules;
  /// Where no mapping is found, operands may pass levels by, as if `rules.search_keeps` were set.
  bool widen = false;
  std::uint64_t evaluations = 0;  ///< budget of each search; 0: none
  double seconds = 0;             ///< budget of each search; 0: none
  std::uint64_t seed = 1;
  double gap = 0;  ///< branch_and_bound ends when its answer is proved within this share of the optimum
  /// Asked between evaluations; the answer is then the best so far. With a budget in seconds, or if this says yes at
  /// different moments, two runs may differ; otherwise they are equal to the last bit for one seed.
  std::function<bool()> should_stop;
  std::function<void(const SearchProgress&)> progress;  ///< a few times a second
};

/// Why no mapping was found.
struct Misfit {
  std::string constraint;               ///< "capacity of scratchpad", "cycles", "area": what most candidates break
  double share = 0;                     ///< of the candidates that break it
  Mapping nearest;                      ///< the product of used / limit over what it breaks is the least that was seen
  std::vector<std::string> violations;  ///< of `nearest`, with amounts
};

struct SearchAnswer {
  bool found = false;  ///< a mapping that fits and keeps the limits
  Mapping mapping;     ///< the best one; `misfit.nearest` if none was found
  Evaluation evaluation;
  double value = std::numeric_limits<double>::infinity();  ///< of the objective
  double lower_bound = 0;         ///< proved: no mapping of the space is better; 0: nothing proved
  bool widened = false;           ///< found, or not, only where operands may pass levels by (SearchOptions::widen)
  bool complete = false;          ///< the engine ended by itself, not by a budget
  std::uint64_t evaluations = 0;  ///< mappings, or bounds of many mappings, that were costed
  double seconds = 0;
  std::string engine;
  Misfit misfit;  ///< if not found

  /// Proved: `value` is at most (1 + gap) times the optimum; infinity where nothing is proved.
  [[nodiscard]] double gap() const {
    return lower_bound > 0 ? value / lower_bound - 1 : std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] bool optimal() const { return found && value <= lower_bound * (1 + 1e-9); }
};

/// An engine is a function, so that a table of them is all there is.
struct SearchEngine {
  std::string_view name;
  std::string_view brief;
  SearchAnswer (*run)(const CostModel&, const SearchOptions&);
};
/// exhaustive, branch_and_bound, gradient, evolutionary, random, polish.
std::span<const SearchEngine> search_engines();

/// Runs the engine of that name. Engines without an end of their own (random, evolutionary, polish, gradient) take
/// 20000 evaluations where the options give no budget.
/// Bounds divide sizes without rest, so a mapping that pads a dimension is not among the candidates. A bound is proved
/// for the space and the model's own options; `halo = full` and very large spaces get a weak one (all units busy, each
/// element moved once).
/// @throws Error (input) with the nearest names; for a rule that does not apply; if `softness` or `stop_at_violation`
/// of the model's options are set; for a dimension with over a million factorisations.
SearchAnswer search_mapping(const CostModel& model, std::string_view engine, const SearchOptions& options = {});

/// One line: the value and how sure it is ("energy * delay 1.2e9 pJ cycles, proved optimal", "..., within 0.8 % of the
/// optimum"), or why nothing fits with the nearest mapping and its amounts.
std::string explain(const CostModel& model, const SearchOptions& options, const SearchAnswer& answer);

/// A network whose layers run one after the other on one accelerator.
struct NetworkAnswer {
  std::vector<SearchAnswer> layers;  ///< one for each problem; equal problems are searched once
  bool found = false;                ///< all layers were, and the sums keep the limits
  std::string misfit;                ///< otherwise: what does not fit
  double cycles = 0;                 ///< sums over layers
  double energy_pj = 0;
  double value = std::numeric_limits<double>::infinity();  ///< of the objective, of the sums
  double lower_bound = 0;                                  ///< proved for `value`
  std::uint64_t evaluations = 0;
  double seconds = 0;
  [[nodiscard]] double gap() const {
    return lower_bound > 0 ? value / lower_bound - 1 : std::numeric_limits<double>::infinity();
  }
};

/// Searches each different problem. Budgets in evaluations hold for each of them, the budget in seconds for all
/// together; limits on cycles and energy hold for the sums.
NetworkAnswer search_network(const std::vector<Problem>& layers, const Architecture& architecture,
                             const EvaluationOptions& evaluation, std::string_view engine,
                             const SearchOptions& options = {});

/// One line of a comparison of engines.
struct EngineGap {
  std::string engine;
  std::string space;
  double mean = 0;  ///< of value / optimum over seeds 1 .. seeds
  double worst = 0;
  std::size_t optimal = 0;  ///< runs that found the optimum
  std::size_t runs = 0;
  double evaluations = 0;        ///< mean
  double seconds = 0;            ///< mean
  double space_evaluations = 0;  ///< of the exhaustive search
};

/// A question for `compare_engines`.
struct ComparedSpace {
  std::string name;
  CostModel model;
  SearchOptions options;
};
/// The GEMM spaces 48 x 720 x 360, 256 x 512 x 256 and 56 x 192 x 240, and three convolutions, on presets.
std::vector<ComparedSpace> compared_spaces();

/// Evaluations that the exhaustive search would make; infinity if the space is too large to tabulate.
double space_evaluations(const CostModel& model, const SearchOptions& options);

/// Every engine but the exhaustive one on every space, against the optimum of `branch_and_bound`. Engines without an
/// end of their own get `share` of space_evaluations: at 0.01, random and evolutionary need minutes for the largest
/// GEMM.
/// @param only  the engine of that name alone; empty: all
std::vector<EngineGap> compare_engines(const std::vector<ComparedSpace>& spaces, double share, std::size_t seeds,
                                       std::string_view only = {});
/// As a table.
std::string str(const std::vector<EngineGap>& gaps);

/// Mappings per second of one thread by the tabulated evaluator behind exhaustive, branch_and_bound and polish, for
/// at least `seconds`; `evaluations_per_second` of evaluate.h is the general evaluator's.
double fast_evaluations_per_second(const CostModel& model, double seconds);

}  // namespace kasimir
