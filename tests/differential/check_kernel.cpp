// SPDX-License-Identifier: Apache-2.0
#include "differential/check_kernel.h"

#include "kasimir/interp/real.h"
#include "kasimir/nest/inline_copies.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

/// Dual numbers with the number of ties of a maximum: the gradient of a reduction is split evenly among all of its
/// ties, however many, as ATen's amax does. `scale` ends a reduction.
struct TiedDual {
  Dual dual;
  int ties = 1;
};
struct TiedDualDomain {
  using Value = TiedDual;
  [[nodiscard]] static TiedDual zero() { return {}; }
  [[nodiscard]] static TiedDual constant(const Constant& c) { return {DualDomain::constant(c)}; }
  [[nodiscard]] static TiedDual apply(Fn fn, TiedDual a) { return {DualDomain::apply(fn, a.dual)}; }
  [[nodiscard]] static TiedDual apply(Fn fn, TiedDual a, TiedDual b) {
    if (fn != Fn::max || a.dual.value != b.dual.value) {
      const TiedDual winner = a.dual.value > b.dual.value ? a : b;
      return {DualDomain::apply(fn, a.dual, b.dual), fn == Fn::max ? winner.ties : 1};
    }
    const int ties = a.ties + b.ties;
    return {{a.dual.value, (a.dual.slope * a.ties + b.dual.slope * b.ties) / ties}, ties};
  }
  [[nodiscard]] static TiedDual scale(TiedDual v, const Rational& factor, bool root) {
    return {DualDomain::scale(v.dual, factor, root)};
  }
  [[nodiscard]] static bool stabiliser() { return true; }
};

double largest(const std::vector<double>& values) {
  double most = 0.0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (std::isnan(difference)) return INFINITY;
    most = std::max(most, difference);
  }
  return most;
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> random_direction(std::size_t size, Rng& rng) {
  std::vector<double> direction(size);
  for (double& d : direction) d = rng.normal();
  return direction;
}

/// The slope of every tensor when `tensor` moves along `direction`, and the largest slope anywhere.
std::vector<double> slope_along(const BoundGraph& graph, const TensorValues<double>& inputs, std::size_t tensor,
                                const std::vector<double>& direction, double& scale) {
  TensorValues<TiedDual> duals(graph.tensors.size());
  for (std::size_t t = 0; t < inputs.size(); ++t)
    for (std::size_t i = 0; i < inputs[t].size(); ++i)
      duals[t].push_back({{inputs[t][i], t == tensor ? direction[i] : 0.0}});
  TiedDualDomain domain;
  evaluate(graph, domain, duals);
  std::vector<double> slopes;
  for (const TiedDual& d : duals[static_cast<std::size_t>(graph.output)]) slopes.push_back(d.dual.slope);
  for (const auto& values : duals)
    for (const TiedDual& d : values) scale = std::max({scale, std::abs(d.dual.slope), std::abs(d.dual.value)});
  return slopes;
}

class Comparison {
 public:
  Comparison(const BoundGraph& graph, const Peepholes& peepholes, std::uint64_t seed)
      : graph_(graph), peepholes_(peepholes), rng_(seed), inputs_(random_values(graph, rng_)), all_(inputs_) {
    RealDomain domain;
    evaluate(graph_, domain, all_);
    for (const auto& values : all_) scale_ = std::max(scale_, largest(values));
  }

  KernelDifference run() {
    KernelDifference difference;
    const auto& expected = all_[static_cast<std::size_t>(graph_.output)];
    AtenOptions options{peepholes_, false, random_direction(expected.size(), rng_)};
    const AtenResult result = run_aten(inline_copies(graph_), inputs_, options);
    difference.value = largest_difference(result.output, expected) / scale_;
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (!all_[t].empty() && !result.statistics[t].empty())
        difference.value = std::max(difference.value, largest_difference(result.statistics[t], all_[t]) / scale_);
      if (result.gradients[t].empty()) continue;
      const auto direction = random_direction(inputs_[t].size(), rng_);
      double scale = scale_;
      const auto slopes = slope_along(graph_, inputs_, t, direction, scale);
      double terms = scale;  // the inner products add this many numbers of that size
      for (double c : options.cotangent) terms = std::max(terms, std::abs(c) * scale);
      const double error = std::abs(inner(result.gradients[t], direction) - inner(slopes, options.cotangent));
      const double count = std::sqrt(static_cast<double>(direction.size() + slopes.size()));
      difference.gradient = std::max(difference.gradient, std::isnan(error) ? INFINITY : error / (terms * count));
    }
    difference.frozen = frozen();
    return difference;
  }

 private:
  /// Statistics as stored tensors: those of this very batch, moved a little.
  double frozen() {
    const BoundGraph graph = freeze(graph_);
    TensorValues<double> values(graph.tensors.size());
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].role == Role::between) continue;
      values[t] = graph.tensors[t].role == Role::stat ? all_[t] : inputs_[t];
      if (graph.tensors[t].role == Role::stat)
        for (double& v : values[t]) v += 0.1 * rng_.unit();
    }
    TensorValues<double> expected = values;
    RealDomain domain;
    evaluate(graph, domain, expected);
    double scale = 0.0;
    for (const auto& v : expected) scale = std::max(scale, largest(v));
    const AtenResult result = run_aten(inline_copies(graph), values, {peepholes_, false, {}});
    return largest_difference(result.output, expected[static_cast<std::size_t>(graph.output)]) / scale;
  }

  const BoundGraph& graph_;
  Peepholes peepholes_;
  Rng rng_;
  TensorValues<double> inputs_;
  TensorValues<double> all_;
  double scale_ = 0.0;
};

}  // namespace

KernelDifference check_kernel(const Kernel& kernel, const Site& site, std::int64_t batch, std::uint64_t seed,
                              const Peepholes& peepholes) {
  const auto graph = lower_at(kernel, site, batch);
  if (!graph.ok()) return {0, 0, 0, graph.rejection().str()};
  return Comparison(*graph, peepholes, seed).run();
}

}  // namespace kasimir
