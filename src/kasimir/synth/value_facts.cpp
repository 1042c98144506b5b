// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/value_facts.h"

namespace kasimir {
namespace {

Parity product(Parity a, Parity b) {
  if (a == Parity::none || b == Parity::none) return Parity::none;
  return a == b ? Parity::even : Parity::odd;
}

Parity common(Parity a, Parity b) { return a == b ? a : Parity::none; }

/// The degree of f(a, b) for a function that is linear in both together.
Degree sum(Degree a, Degree b) { return a == b ? a : Degree::other; }

Degree product(Degree a, Degree b) {
  if (a == Degree::constant) return b;
  return b == Degree::constant ? a : Degree::other;
}

ValueFacts of_function(const FnTraits& fn, const ValueFacts& a) {
  ValueFacts y;
  y.zero = a.zero && fn.zero_to_zero;
  y.nonnegative = fn.nonnegative || (a.nonnegative && fn.identity_on_nonnegative);
  y.parity = a.parity;
  if (a.parity == Parity::odd) y.parity = fn.odd ? Parity::odd : fn.even ? Parity::even : Parity::none;
  y.degree = a.degree == Degree::linear && !fn.linear ? Degree::other : a.degree;
  return y;
}

/// `same`: both arguments are the same value.
ValueFacts of_function(Fn fn, const ValueFacts& a, const ValueFacts& b, bool same) {
  const bool constant = a.degree == Degree::constant && b.degree == Degree::constant;
  // A maximum of odd functions is not odd.
  const Parity even = common(a.parity, b.parity) == Parity::even ? Parity::even : Parity::none;
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return {a.zero && b.zero, a.nonnegative && b.nonnegative, common(a.parity, b.parity), sum(a.degree, b.degree)};
    case Fn::sub:
      return {a.zero && b.zero, false, common(a.parity, b.parity), sum(a.degree, b.degree)};
    case Fn::mul:
      return {a.zero || b.zero, same || (a.nonnegative && b.nonnegative), product(a.parity, b.parity),
              product(a.degree, b.degree)};
    case Fn::div:
      return {a.zero, a.nonnegative && b.nonnegative, product(a.parity, b.parity),
              b.degree == Degree::constant ? a.degree : Degree::other};
    case Fn::max:
      return {a.zero && b.zero, a.nonnegative || b.nonnegative, even, constant ? Degree::constant : Degree::other};
    case Fn::min:
      return {a.zero && b.zero, a.nonnegative && b.nonnegative, even, constant ? Degree::constant : Degree::other};
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

}  // namespace

ValueFacts value_facts(const Stage& stage, const std::vector<ValueFacts>& tensors) {
  std::vector<ValueFacts> nodes;
  for (const auto& node : stage.nodes) {
    if (const auto* read = std::get_if<BasicRead<Symbolic>>(&node)) {
      nodes.push_back(tensors[static_cast<std::size_t>(read->tensor)]);
    } else if (const auto* constant = std::get_if<Constant>(&node)) {
      const Rational& value = constant->value;
      nodes.push_back({value == Rational(0), value >= Rational(0), Parity::even, Degree::constant});
    } else {
      const auto& apply = std::get<Apply>(node);
      const ValueFacts& a = nodes[static_cast<std::size_t>(apply.a)];
      nodes.push_back(apply.b < 0
                          ? of_function(fn_info(apply.fn).traits, a)
                          : of_function(apply.fn, a, nodes[static_cast<std::size_t>(apply.b)], apply.a == apply.b));
    }
  }
  ValueFacts value = nodes.back();
  if (stage.reduce == Reduce::max) {
    if (value.parity == Parity::odd) value.parity = Parity::none;
    if (value.degree == Degree::linear) value.degree = Degree::other;
  }
  return value;
}

}  // namespace kasimir
