// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/field.h"

#include "kasimir/interp/field_arithmetic.h"

namespace kasimir {
namespace {

using Value = FieldDomain::Value;

Value square(Value a) { return field::multiply(a, a); }
Value keyed_odd(Fn fn, Value a) {
  if (a == 0) return 0;
  const Value size = square(field::keyed(fn, field::absolute(a)));
  return field::positive(a) ? size : field::minus(size);
}

Value of_rational(const Rational& r) {
  constexpr std::int64_t p = field::prime;
  const auto reduce = [](std::int64_t v) { return static_cast<Value>(((v % p) + p) % p); };
  return field::multiply(reduce(r.num()), field::inverse(reduce(r.den())));
}

Value larger(Value a, Value b) { return field::rank(a) >= field::rank(b) ? a : b; }

}  // namespace

Value FieldDomain::constant(const Constant& c) {
  constexpr Value half_pi_key = 1234577;  // any fixed element: pi is transcendental, so no identity ties it to numbers
  return field::multiply(of_rational(c.value), c.half_pi ? half_pi_key : 1);
}

Value FieldDomain::apply(Fn fn, Value a) {
  switch (fn) {
    case Fn::neg:
      return field::minus(a);
    case Fn::abs:
      return field::absolute(a);
    case Fn::relu:
      return field::half(field::plus(a, field::absolute(a)));
    case Fn::exp:
      return a == 0 ? 1 : square(field::keyed(fn, a));
    case Fn::sqrt:
      return field::root(a);
    case Fn::rsqrt:
      return field::inverse(field::root(a));
    case Fn::sin:
    case Fn::tanh:
      return keyed_odd(fn, a);
    case Fn::sigmoid:
      return square(field::keyed(fn, a));
    case Fn::gelu:
      return field::half(field::multiply(a, field::plus(1, keyed_odd(fn, a))));
    case Fn::hardswish:
      return field::multiply(a, field::keyed(fn, a));
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
      return field::plus(a, b);
    case Fn::sub:
      return field::plus(a, field::minus(b));
    case Fn::mul:
      return field::multiply(a, b);
    case Fn::div:
      return field::multiply(a, field::inverse(b));
    case Fn::max:
      return larger(a, b);
    case Fn::min:
      return field::minus(larger(field::minus(a), field::minus(b)));
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
  return field::multiply(value, take_root ? field::root(f) : f);
}

}  // namespace kasimir
