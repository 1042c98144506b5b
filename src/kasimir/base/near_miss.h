// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kasimir {

/// How far a rejection was from being none, where its rule ends with a bound, as in "budget: macs at most 0.5", and its
/// explanation begins with what was reached, as in "0.53 at Ci=64 ..": the factor between them, at least 1. Infinite
/// where either is no number. Numbers may end in k, M, G or T. What stands before a parenthesis of the explanation is
/// the rule again and does not count: "budget: macs at most 0.5 (0.53 at ..)".
double miss_factor(std::string_view rule, std::string_view explanation);

/// Keeps the explanation of the nearest miss; of equally near ones, and of those that cannot be compared, the first
/// that says anything.
void keep_nearest(std::string& kept, std::string_view rule, std::string_view explanation);

}  // namespace kasimir
