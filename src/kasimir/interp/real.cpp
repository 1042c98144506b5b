// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/real.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kasimir {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_pdf(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double clip6(double x) { return std::clamp(x, 0.0, 6.0); }

/// Derivative of the one-argument functions at x with value y.
double slope(Fn fn, double x, double y) {
  switch (fn) {
    case Fn::neg:
      return -1.0;
    case Fn::abs:
      return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
    case Fn::relu:
      return x > 0 ? 1.0 : 0.0;
    case Fn::exp:
      return y;
    case Fn::sqrt:
      return 0.5 / y;
    case Fn::rsqrt:
      return -0.5 * y * y * y;
    case Fn::sin:
      return std::cos(x);
    case Fn::tanh:
      return 1.0 - y * y;
    case Fn::sigmoid:
      return y * (1.0 - y);
    case Fn::gelu:
      return normal_cdf(x) + x * normal_pdf(x);
    case Fn::hardswish:
      return x <= -3 ? 0.0 : x < 3 ? (2 * x + 3) / 6 : 1.0;
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::div:
    case Fn::join:
    case Fn::max:
    case Fn::min:
      break;
  }
  KASIMIR_CHECK(false, "{} takes two arguments", fn_info(fn).name);
}

double factor_value(const Rational& factor, bool root) { return root ? std::sqrt(factor.value()) : factor.value(); }

}  // namespace

double RealDomain::constant(const Constant& c) { return c.value.value() * (c.half_pi ? std::numbers::pi / 2 : 1.0); }

double RealDomain::apply(Fn fn, double a) {
  switch (fn) {
    case Fn::neg:
      return -a;
    case Fn::abs:
      return std::abs(a);
    case Fn::relu:
      return std::max(a, 0.0);
    case Fn::exp:
      return std::exp(a);
    case Fn::sqrt:
      return std::sqrt(a);
    case Fn::rsqrt:
      return 1.0 / std::sqrt(a);
    case Fn::sin:
      return std::sin(a);
    case Fn::tanh:
      return std::tanh(a);
    case Fn::sigmoid:
      return sigmoid(a);
    case Fn::gelu:
      return a * normal_cdf(a);
    case Fn::hardswish:
      return a * clip6(a + 3) / 6;
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::div:
    case Fn::join:
    case Fn::max:
    case Fn::min:
      break;
  }
  KASIMIR_CHECK(false, "{} takes two arguments", fn_info(fn).name);
}

double RealDomain::apply(Fn fn, double a, double b) {
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return a + b;
    case Fn::sub:
      return a - b;
    case Fn::mul:
      return a * b;
    case Fn::div:
      return a / b;
    case Fn::max:
      return std::max(a, b);
    case Fn::min:
      return std::min(a, b);
    case Fn::neg:
    case Fn::abs:
    case Fn::relu:
    case Fn::exp:
    case Fn::sqrt:
    case Fn::rsqrt:
    case Fn::sin:
    case Fn::tanh:
    case Fn::sigmoid:
    case Fn::gelu:
    case Fn::hardswish:
      break;
  }
  KASIMIR_CHECK(false, "{} takes one argument", fn_info(fn).name);
}

double RealDomain::scale(double value, const Rational& factor, bool root) { return value * factor_value(factor, root); }

Dual DualDomain::apply(Fn fn, Dual a) {
  const double y = RealDomain::apply(fn, a.value);
  return {y, a.slope == 0.0 ? 0.0 : slope(fn, a.value, y) * a.slope};
}

Dual DualDomain::apply(Fn fn, Dual a, Dual b) {
  const double y = RealDomain::apply(fn, a.value, b.value);
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return {y, a.slope + b.slope};
    case Fn::sub:
      return {y, a.slope - b.slope};
    case Fn::mul:
      return {y, a.slope * b.value + a.value * b.slope};
    case Fn::div:
      return {y, (a.slope - y * b.slope) / b.value};
    case Fn::max:
    case Fn::min: {
      // At a tie a maximum has no derivative; the gradient is the mean of both sides', as in the back ends.
      if (a.value == b.value) return {y, 0.5 * (a.slope + b.slope)};
      return (a.value > b.value) == (fn == Fn::max) ? Dual{y, a.slope} : Dual{y, b.slope};
    }
    case Fn::neg:
    case Fn::abs:
    case Fn::relu:
    case Fn::exp:
    case Fn::sqrt:
    case Fn::rsqrt:
    case Fn::sin:
    case Fn::tanh:
    case Fn::sigmoid:
    case Fn::gelu:
    case Fn::hardswish:
      break;
  }
  KASIMIR_CHECK(false, "{} takes one argument", fn_info(fn).name);
}

Dual DualDomain::largest(const std::vector<Dual>& values) {
  const double most = std::ranges::max_element(values, {}, &Dual::value)->value;
  double slopes = 0.0;
  int ties = 0;
  for (const Dual& v : values) {
    if (v.value != most) continue;
    slopes += v.slope;
    ++ties;
  }
  return {most, ties == 0 ? 0.0 : slopes / ties};
}

Dual DualDomain::scale(Dual value, const Rational& factor, bool root) {
  const double f = factor_value(factor, root);
  return {value.value * f, value.slope * f};
}

TensorValues<double> random_values(const BoundGraph& graph, Rng& rng) {
  TensorValues<double> values(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const BoundTensor& tensor = graph.tensors[i];
    if (tensor.role == Role::between || tensor.role == Role::stat) continue;
    auto& of = values[i];
    of.resize(static_cast<std::size_t>(elements(tensor)));
    for (double& value : of) {
      if (tensor.role == Role::input) {
        value = rng.normal();
      } else if (tensor.weight_role == WeightRole::linear) {
        value = rng.normal() / std::sqrt(static_cast<double>(tensor.fan_in));
      } else {
        // Not exactly 1 and 0, so that a scale or an offset that is forgotten shows.
        value = (tensor.weight_role == WeightRole::scale ? 1.0 : 0.0) + 0.1 * rng.normal();
      }
    }
  }
  return values;
}

}  // namespace kasimir
