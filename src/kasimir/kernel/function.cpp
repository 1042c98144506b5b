// SPDX-License-Identifier: Apache-2.0
// names primitives: scalar functions share their words
#include "kasimir/kernel/function.h"

#include <array>

namespace kasimir {
namespace {

// Operation counts of the compound functions: one per elementary operation of a usual vectorised evaluation
// (exp: range reduction and a polynomial of degree 5, about 10).
constexpr FnTraits none{};
constexpr FnTraits commutes{.commutative = true};
constexpr FnTraits odd{.zero_to_zero = true, .odd = true};
constexpr FnTraits positive{.nonnegative = true};

constexpr std::array<FnInfo, fn_count> table{
    {{"+", 2, 1, commutes},
     {"-", 2, 1, none},
     {"*", 2, 1, commutes},
     {"/", 2, 1, none},
     {"|", 2, 0, commutes},
     {"max", 2, 1, commutes},
     {"min", 2, 1, commutes},
     {"neg", 1, 1, {.zero_to_zero = true, .odd = true, .keeps_magnitude = true, .linear = true}},
     {"abs",
      1,
      1,
      {.zero_to_zero = true,
       .nonnegative = true,
       .even = true,
       .idempotent = true,
       .identity_on_nonnegative = true,
       .keeps_magnitude = true}},
     {"relu", 1, 1, {.zero_to_zero = true, .nonnegative = true, .idempotent = true, .identity_on_nonnegative = true}},
     {"exp", 1, 10, positive},
     {"sqrt", 1, 1, {.zero_to_zero = true, .nonnegative = true}},
     {"rsqrt", 1, 2, positive},
     {"sin", 1, 10, odd},
     {"tanh", 1, 12, odd},
     {"sigmoid", 1, 12, positive},
     {"gelu", 1, 14, {.zero_to_zero = true}},
     {"hardswish", 1, 5, {.zero_to_zero = true}}}};

}  // namespace

const FnInfo& fn_info(Fn fn) { return table[static_cast<std::size_t>(fn)]; }

}  // namespace kasimir
