// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/descent.h"
#include "kasimir/hardware/search/engines.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::uint64_t usual_evaluations = 20000;
/// Slopes of one evaluation.
constexpr std::size_t lanes = 8;
using Dual = DualNumber<lanes>;

/// Softness of reuse: 2 found mappings within 1-4 % of the optimum where hard reuse stayed 20 % above.
constexpr double softness = 2;
constexpr int steps = 40;
constexpr int steps_between_orders = 10;
/// Slopes lead many starts to the same place: each third one does without.
constexpr int polished_only = 3;
/// Weight of the logarithm of each overshoot, and of its square.
constexpr double penalty = 2;

/// One descent. A parameter is the logarithm of a dimension's bound in a slot; the outermost level's time takes what
/// is left of the dimension.
class SoftDescent {
 public:
  SoftDescent(Referee& referee, const CostModel& soft, const MappingSpace& space, Rng& rng)
      : referee_(referee), soft_(soft), space_(space), keeps_(rng.pick(space.keeps())) {
    for (int d = 0; d < soft.dims; ++d) {
      if (soft.size[static_cast<std::size_t>(d)] <= 1) continue;
      for (std::size_t s = 1; s < space.slots().size(); ++s)
        if ((space.slots()[s].dims >> static_cast<unsigned>(d) & 1U) != 0) parameters_.push_back({d, s});
    }
    for (const Parameter& p : parameters_) {
      const double whole = std::log(soft.size[static_cast<std::size_t>(p.dim)]);
      at_.push_back(whole * rng.unit() * 2 / static_cast<double>(space.slots().size()));
    }
    for (int l = 0; l < soft.levels; ++l) {
      std::vector<int> order;
      for (int d = 0; d < soft.dims; ++d)
        if (soft.size[static_cast<std::size_t>(d)] > 1) order.push_back(d);
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
      orders_.push_back(order);
    }
  }

  /// Whether the loops of all slots have room in a mapping.
  [[nodiscard]] bool possible() const { return parameters_.size() + static_cast<std::size_t>(soft_.dims) <= max_loops; }

  /// Adam (arXiv 1412.6980) on the logarithm of the goal and of what overshoots.
  void run() {
    std::vector<double> mean(at_.size(), 0);
    std::vector<double> square(at_.size(), 0);
    std::vector<double> slope(at_.size());
    for (int step = 1; step <= steps && !referee_.over(); ++step) {
      if (step % steps_between_orders == 1) pick_orders();
      slopes(slope);
      const double rate = 0.3 * (1 - 0.8 * step / steps);
      for (std::size_t i = 0; i < at_.size(); ++i) {
        mean[i] = 0.9 * mean[i] + 0.1 * slope[i];
        square[i] = 0.99 * square[i] + 0.01 * slope[i] * slope[i];
        const double m = mean[i] / (1 - std::pow(0.9, step));
        const double v = square[i] / (1 - std::pow(0.99, step));
        at_[i] = std::max(0.0, at_[i] - rate * m / (std::sqrt(v) + 1e-6));
      }
    }
  }

  /// The mapping whose bounds are nearest, dimension by dimension.
  [[nodiscard]] Mapping rounded() const {
    std::vector<const FactorVector*> factors;
    for (int d = 0; d < soft_.dims; ++d) factors.push_back(nearest(d));
    std::vector<std::vector<int>> orders(space_.slots().size());
    for (std::size_t s = 0; s < orders.size(); ++s)
      if (space_.slots()[s].kind == LoopKind::temporal)
        orders[s] = orders_[static_cast<std::size_t>(space_.slots()[s].level)];
    return space_.build(factors, orders, keeps_);
  }

 private:
  struct Parameter {
    int dim;
    std::size_t slot;
  };

  template <typename S>
  BasicMapping<S> mapping(const std::vector<S>& bounds) const {
    BasicMapping<S> made;
    made.keeps = keeps_;
    std::array<S, max_dims> outer;
    for (std::size_t d = 0; d < static_cast<std::size_t>(soft_.dims); ++d) outer[d] = S(soft_.size[d]);
    std::vector<std::vector<std::size_t>> place(space_.slots().size(),
                                                std::vector<std::size_t>(static_cast<std::size_t>(soft_.dims), none));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      outer[static_cast<std::size_t>(parameters_[i].dim)] /= bounds[i];
      place[parameters_[i].slot][static_cast<std::size_t>(parameters_[i].dim)] = i;
    }
    for (std::size_t s = 0; s < space_.slots().size(); ++s)
      for (const int d : orders_[static_cast<std::size_t>(space_.slots()[s].level)]) {
        const auto dim = static_cast<std::size_t>(d);
        if (s == 0)
          made.add(d, larger(outer[dim], S(1)), 0);
        else if (place[s][dim] != none)
          made.add(d, bounds[place[s][dim]], space_.slots()[s].level, space_.slots()[s].kind);
      }
    return made;
  }

  template <typename S>
  S loss(const std::vector<S>& bounds) {
    BasicEvaluation<S>& out = scratch<S>();
    evaluate_into(soft_, mapping(bounds), out);
    S total(0);
    const auto add = [&](const S& over) {  // a ratio above 1
      const S h = logarithm(over);
      total += S(penalty) * (h + h * h);
    };
    for (int i = 0; i < out.counts.violation_count; ++i) {
      const BasicViolation<S>& violation = out.counts.violations[static_cast<std::size_t>(i)];
      if (violation.constraint != Constraint::uncovered && violation.limit > 0)
        add(violation.used / S(violation.limit));
    }
    std::array<S, max_dims> inner;
    inner.fill(S(1));
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      inner[static_cast<std::size_t>(parameters_[i].dim)] *= bounds[i];
    for (std::size_t d = 0; d < static_cast<std::size_t>(soft_.dims); ++d)
      if (least(inner[d]) > soft_.size[d]) add(inner[d] / S(soft_.size[d]));
    const Goal& goal = referee_.options().goal;
    if (least(out.cycles) > goal.max_cycles) add(out.cycles / S(goal.max_cycles));
    if (least(out.energy_pj) > goal.max_energy_pj) add(out.energy_pj / S(goal.max_energy_pj));
    switch (goal.objective) {
      case Objective::latency:
        return total + logarithm(out.cycles);
      case Objective::energy:
        return total + logarithm(out.energy_pj);
      case Objective::energy_delay:
        return total + logarithm(out.cycles) + logarithm(out.energy_pj);
      case Objective::weighted:
        return total + logarithm(S(out.energy_pj + S(goal.pj_per_cycle) * out.cycles));
    }
    fail_check("objective", __FILE__, __LINE__, "an unknown objective");
  }

  void slopes(std::vector<double>& slope) {
    std::vector<Dual> bounds(at_.size());
    for (std::size_t from = 0; from < at_.size(); from += lanes) {
      for (std::size_t i = 0; i < at_.size(); ++i) {
        bounds[i] = Dual(std::exp(at_[i]));
        if (i >= from && i < from + lanes) bounds[i].slope[i - from] = bounds[i].value;
      }
      const Dual value = loss(bounds);
      referee_.count(1);
      for (std::size_t i = from; i < std::min(at_.size(), from + lanes); ++i) slope[i] = value.slope[i - from];
    }
  }

  /// Each level in turn: every dimension is tried as the innermost.
  void pick_orders() {
    std::vector<double> bounds;
    for (const double x : at_) bounds.push_back(std::exp(x));
    double best = loss(bounds);
    referee_.count(1);
    for (std::size_t l = 0; l < orders_.size(); ++l)
      for (std::size_t k = 0; k < orders_[l].size() && !referee_.over(); ++k) {
        const std::vector<int> before = orders_[l];
        std::rotate(orders_[l].begin() + static_cast<std::ptrdiff_t>(k),
                    orders_[l].begin() + static_cast<std::ptrdiff_t>(k) + 1, orders_[l].end());
        const double value = loss(bounds);
        referee_.count(1);
        if (value < best)
          best = value;
        else
          orders_[l] = before;
      }
  }

  [[nodiscard]] const FactorVector* nearest(int d) const {
    std::vector<double> wanted(space_.slots().size(), 0);
    wanted[0] = std::log(soft_.size[static_cast<std::size_t>(d)]);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].dim != d) continue;
      wanted[parameters_[i].slot] = at_[i];
      wanted[0] -= at_[i];
    }
    const FactorVector* nearest = nullptr;
    double least_distance = Goal::unlimited;
    for (const FactorVector& vector : space_.factors(d)) {
      double distance = 0;
      for (std::size_t s = 0; s < vector.size(); ++s)
        distance += std::abs(std::log(static_cast<double>(vector[s])) - wanted[s]);
      if (distance >= least_distance) continue;
      least_distance = distance;
      nearest = &vector;
    }
    return nearest;
  }

  static double logarithm(double x) { return std::log(x); }
  static Dual logarithm(const Dual& x) {
    Dual result(std::log(x.value));
    for (std::size_t i = 0; i < lanes; ++i) result.slope[i] = x.slope[i] / x.value;
    return result;
  }
  template <typename S>
  BasicEvaluation<S>& scratch() {
    if constexpr (std::same_as<S, double>)
      return plain_;
    else
      return dual_;
  }

  static constexpr std::size_t none = ~std::size_t{0};
  Referee& referee_;
  const CostModel& soft_;
  const MappingSpace& space_;
  const Keeps keeps_;
  std::vector<Parameter> parameters_;
  std::vector<double> at_;
  std::vector<std::vector<int>> orders_;  // of each level, from the outermost inwards
  BasicEvaluation<double> plain_;
  BasicEvaluation<Dual> dual_;
};

}  // namespace

SearchAnswer gradient_search(const CostModel& model, const SearchOptions& options) {
  Referee referee(model, options, usual_evaluations);
  EvaluationOptions soft_options = model.options;
  soft_options.softness = softness;
  const CostModel soft(model.problem, model.architecture, soft_options);
  Descent descent(referee);
  Rng rng(options.seed, 4);
  for (int i = 1; !referee.over(); ++i) {
    SoftDescent start(referee, soft, descent.space(), rng);
    if (start.possible() && i % polished_only != 0) start.run();
    descent.run(start.rounded());
  }
  return referee.answer(false);
}

}  // namespace kasimir
