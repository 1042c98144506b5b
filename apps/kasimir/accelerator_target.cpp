// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accelerator_target.h"

#include "kasimir/base/error.h"

namespace kasimir {
namespace {

/// Mappings that are costed for each different nest at most, where no proof ends its search before: some seconds. What
/// networks of the zoo take is a tenth of that.
constexpr std::uint64_t most_evaluations = 1'000'000;

}  // namespace

AcceleratorTarget::AcceleratorTarget(const AcceleratorSpec& spec, const NetworkPlan& original)
    : arch_(spec.name), objective_(parse_objective(spec.objective)), bits_(parse_bits(spec.bits)) {
  if (objective_ == Objective::weighted)
    throw input_error("--accelerator-objective is {}, there are latency, energy and edp", spec.objective);
  const auto found = cost(original);
  if (!found.ok()) throw unsolved_error("the original network on {}: {}", arch_, found.rejection().str());
  original_ = *found;
}

Outcome<study::AcceleratorCost> AcceleratorTarget::cost(const NetworkPlan& plan) const {
  const auto layers = layers_of(plan, 1, bits_, false);
  if (!layers.ok()) return layers.rejection();
  std::vector<Problem> problems;
  for (const AccelLayer& layer : *layers)
    problems.insert(problems.end(), static_cast<std::size_t>(layer.times), layer.problem);
  SearchOptions options;
  options.goal.objective = objective_;
  options.gap = 0.005;
  options.evaluations = most_evaluations;
  options.widen = true;
  const Architecture architecture = architecture_of(arch_, problems.front());
  const NetworkAnswer answer = search_network(problems, architecture, {}, "branch_and_bound", options);
  if (!answer.found) return Rejection{"every nest has a mapping on the accelerator", answer.misfit};
  return study::AcceleratorCost{answer.cycles, 1e-6 * answer.energy_pj, answer.value};
}

}  // namespace kasimir
