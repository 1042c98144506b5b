// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/field.h"

#include "kasimir/base/rng.h"

namespace kasimir {
namespace {

using Value = FieldDomain::Value;
constexpr std::uint64_t p = FieldDomain::prime;

Value multiply(Value a, Value b) { return static_cast<Value>(static_cast<std::uint64_t>(a) * b % p); }
Value plus(Value a, Value b) { return static_cast<Value>((static_cast<std::uint64_t>(a) + b) % p); }
Value minus(Value a) { return a == 0 ? 0 : static_cast<Value>(p - a); }

Value power(Value a, std::uint64_t exponent) {
  Value result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, a);
    a = multiply(a, a);
  }
  return result;
}

Value inverse(Value a) { return power(a, p - 2); }
bool positive(Value a) { return a != 0 && power(a, (p - 1) / 2) == 1; }
Value absolute(Value a) { return a == 0 || positive(a) ? a : minus(a); }
Value half(Value a) { return multiply(a, static_cast<Value>((p + 1) / 2)); }
/// The root of |a| that is itself a square, so that it counts as positive: p mod 4 = 3.
Value root(Value a) { return power(absolute(a), (p + 1) / 4); }

/// A fixed random function per key, never 0.
Value keyed(Fn fn, Value a) {
  return static_cast<Value>(mix_bits(a * 64ULL + static_cast<std::uint64_t>(fn)) % (p - 1) + 1);
}
Value square(Value a) { return multiply(a, a); }
Value keyed_odd(Fn fn, Value a) {
  if (a == 0) return 0;
  const Value size = square(keyed(fn, absolute(a)));
  return positive(a) ? size : minus(size);
}

Value of_rational(const Rational& r) {
  const auto reduce = [](std::int64_t v) {
    return static_cast<Value>(((v % static_cast<std::int64_t>(p)) + static_cast<std::int64_t>(p)) %
                              static_cast<std::int64_t>(p));
  };
  return multiply(reduce(r.num()), inverse(reduce(r.den())));
}

Value larger(Value a, Value b) { return keyed(Fn::max, a) >= keyed(Fn::max, b) ? a : b; }

}  // namespace

Value FieldDomain::constant(const Constant& c) {
  constexpr Value half_pi_key = 1234577;  // any fixed element: pi is transcendental, so no identity ties it to numbers
  return multiply(of_rational(c.value), c.half_pi ? half_pi_key : 1);
}

Value FieldDomain::apply(Fn fn, Value a) {
  switch (fn) {
    case Fn::neg:
      return minus(a);
    case Fn::abs:
      return absolute(a);
    case Fn::relu:
      return half(plus(a, absolute(a)));
    case Fn::exp:
      return a == 0 ? 1 : square(keyed(fn, a));
    case Fn::sqrt:
      return root(a);
    case Fn::rsqrt:
      return inverse(root(a));
    case Fn::sin:
    case Fn::tanh:
      return keyed_odd(fn, a);
    case Fn::sigmoid:
      return square(keyed(fn, a));
    case Fn::gelu:
      return half(multiply(a, plus(1, keyed_odd(fn, a))));
    case Fn::hardswish:
      return multiply(a, keyed(fn, a));
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

Value FieldDomain::apply(Fn fn, Value a, Value b) {
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return plus(a, b);
    case Fn::sub:
      return plus(a, minus(b));
    case Fn::mul:
      return multiply(a, b);
    case Fn::div:
      return multiply(a, inverse(b));
    case Fn::max:
      return larger(a, b);
    case Fn::min:
      return minus(larger(minus(a), minus(b)));
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

Value FieldDomain::scale(Value value, const Rational& factor, bool take_root) {
  const Value f = of_rational(factor);
  return multiply(value, take_root ? root(f) : f);
}

std::uint64_t fingerprint(const BoundGraph& training, std::uint64_t seed) {
  const BoundGraph graph = freeze(training);
  FieldDomain domain;
  TensorValues<Value> values(graph.tensors.size());
  std::uint64_t weights = 0;
  std::uint64_t statistics = 0;
  constexpr std::uint64_t apart = 1U << 20;  // more weights than a kernel has
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const BoundTensor& tensor = graph.tensors[i];
    if (tensor.role == Role::between) continue;
    std::uint64_t number = 0;
    if (tensor.role == Role::weight) number = ++weights;
    if (tensor.role == Role::stat) number = apart + ++statistics;
    std::uint64_t key = mix_bits(seed + number);
    for (const auto& axis : tensor.axes) key = mix_bits(key ^ static_cast<std::uint64_t>(axis.extent));
    Rng rng(key);
    auto& of = values[i];
    of.resize(static_cast<std::size_t>(elements(tensor)));
    for (Value& value : of) value = static_cast<Value>(rng.below(p));
  }
  evaluate(graph, domain, values);
  std::uint64_t hash = mix_bits(seed);
  for (Value value : values[static_cast<std::size_t>(graph.output)]) hash = mix_bits(hash ^ value);
  return hash;
}

}  // namespace kasimir
