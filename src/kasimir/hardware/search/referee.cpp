// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/referee.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

double share(double used, double limit) { return limit > 0 ? used / limit : Goal::unlimited; }

double share(const BasicViolation<double>& violation) {
  if (violation.constraint == Constraint::uncovered) return share(violation.limit, violation.used);
  return share(violation.used, violation.limit);
}

}  // namespace

Referee::Referee(const CostModel& model, const SearchOptions& options, std::uint64_t default_evaluations)
    : model_(model), options_(options), budget_(options.evaluations) {
  if (budget_ == 0 && options.seconds <= 0) budget_ = default_evaluations;
}

double Referee::judge(const Mapping& mapping) {
  ++evaluations_;
  evaluate_into(model_, mapping, evaluation_);
  overshoot_ = 1;
  for (int i = 0; i < evaluation_.counts.violation_count; ++i)
    overshoot_ *= share(evaluation_.counts.violations[static_cast<std::size_t>(i)]);
  const Goal& goal = options_.goal;
  overshoot_ *= std::max(1.0, evaluation_.cycles / goal.max_cycles) *
                std::max(1.0, evaluation_.energy_pj / goal.max_energy_pj) *
                std::max(1.0, model_.area_um2 / goal.max_area_um2);
  const double value = value_of(goal, evaluation_.cycles, evaluation_.energy_pj);
  const bool fits = overshoot_ <= 1 + 1e-9;
  value_ = fits ? value : Goal::unlimited;
  if (!fits && !answer_.found) note_misfit(mapping);
  if (!(value_ < answer_.value)) return value_;
  answer_.found = true;
  answer_.value = value_;
  answer_.mapping = mapping;
  return value_;
}

double rank_of(double value, double overshoot) { return std::isinf(value) ? 1e300 * overshoot : value; }

std::string Referee::constraint_name(const BasicViolation<double>& violation) const {
  constexpr std::string_view roles[] = {"inputs", "weights", "outputs"};
  const std::string& level = model_.architecture.levels[static_cast<std::size_t>(violation.level)].name;
  const auto which = static_cast<std::size_t>(violation.which);
  switch (violation.constraint) {
    case Constraint::capacity:
      return fmt::format("capacity of {}", level);
    case Constraint::partition:
      return fmt::format("capacity of {} for {}", level, roles[which]);
    case Constraint::fan_out_x:
      return fmt::format("columns of {}", level);
    case Constraint::fan_out_y:
      return fmt::format("rows of {}", level);
    case Constraint::shares:
      return fmt::format("dimensions side by side at {}", level);
    case Constraint::keeps:
      return fmt::format("operands of {}", level);
    case Constraint::uncovered:
      return fmt::format("passes over {}", model_.problem.dims[which].name);
  }
  fail_check("constraint", __FILE__, __LINE__, "an unknown constraint");
}

void Referee::add_limits(std::vector<std::pair<std::string, std::string>>& broken) const {
  const auto check = [&](const char* name, double used, double limit, const char* unit) {
    if (used <= limit * (1 + 1e-9)) return;
    broken.emplace_back(name, fmt::format("it takes {} {}, the limit is {} {}", used, unit, limit, unit));
  };
  check("cycles", evaluation_.cycles, options_.goal.max_cycles, "cycles");
  check("energy", evaluation_.energy_pj, options_.goal.max_energy_pj, "pJ");
  check("area", model_.area_um2, options_.goal.max_area_um2, "um2");
}

void Referee::note_misfit(const Mapping& mapping) {
  std::vector<std::pair<std::string, std::string>> broken;  // constraint, amounts
  for (int i = 0; i < evaluation_.counts.violation_count; ++i) {
    const BasicViolation<double>& violation = evaluation_.counts.violations[static_cast<std::size_t>(i)];
    broken.emplace_back(constraint_name(violation), describe(model_, violation));
  }
  add_limits(broken);
  ++misfits_;
  for (const auto& [constraint, amounts] : broken) ++killed_[constraint];
  if (overshoot_ >= nearest_) return;
  nearest_ = overshoot_;
  answer_.misfit.nearest = mapping;
  answer_.misfit.violations.clear();
  for (auto& [constraint, amounts] : broken) answer_.misfit.violations.push_back(std::move(amounts));
}

std::size_t Referee::left() const {
  if (budget_ == 0) return ~std::size_t{0};
  return evaluations_ < budget_ ? budget_ - evaluations_ : 0;
}

bool Referee::over() {
  if (stopped_ || left() == 0) return true;
  if (options_.should_stop && options_.should_stop()) return stopped_ = true;
  if (until_look_-- > 0) return false;
  until_look_ = 32;
  const double seconds = watch_.seconds();
  if (options_.seconds > 0 && seconds > options_.seconds) return stopped_ = true;
  if (options_.progress && seconds > shown_ + 0.25) {
    shown_ = seconds;
    options_.progress({evaluations_, seconds, answer_.value, answer_.lower_bound});
  }
  return false;
}

SearchAnswer Referee::answer(bool complete) {
  answer_.complete = complete;
  answer_.evaluations = evaluations_;
  answer_.seconds = watch_.seconds();
  if (answer_.found) {
    answer_.misfit = {};
    evaluate_into(model_, answer_.mapping, evaluation_);
    answer_.lower_bound = std::min(answer_.lower_bound, answer_.value);
  } else {
    const auto most = std::max_element(killed_.begin(), killed_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != killed_.end()) {
      answer_.misfit.constraint = most->first;
      answer_.misfit.share = static_cast<double>(most->second) / static_cast<double>(misfits_);
      answer_.mapping = answer_.misfit.nearest;
      evaluate_into(model_, answer_.mapping, evaluation_);
    }
  }
  answer_.evaluation = evaluation_;
  return answer_;
}

}  // namespace kasimir
