// SPDX-License-Identifier: Apache-2.0
// names primitives: scalar functions share their words
#include "kasimir/kernel/function.h"

#include <array>

namespace kasimir {
namespace {

// Operation counts of the compound functions: one per elementary operation of a usual vectorised evaluation
// (exp: range reduction and a polynomial of degree 5, about 10).
constexpr std::array<FnInfo, fn_count> table{{{"+", 2, 1},
                                              {"-", 2, 1},
                                              {"*", 2, 1},
                                              {"/", 2, 1},
                                              {"|", 2, 0},
                                              {"max", 2, 1},
                                              {"min", 2, 1},
                                              {"neg", 1, 1},
                                              {"abs", 1, 1},
                                              {"relu", 1, 1},
                                              {"exp", 1, 10},
                                              {"sqrt", 1, 1},
                                              {"rsqrt", 1, 2},
                                              {"sin", 1, 10},
                                              {"tanh", 1, 12},
                                              {"sigmoid", 1, 12},
                                              {"gelu", 1, 14},
                                              {"hardswish", 1, 5}}};

}  // namespace

const FnInfo& fn_info(Fn fn) { return table[static_cast<std::size_t>(fn)]; }

}  // namespace kasimir
