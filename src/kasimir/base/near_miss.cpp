// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/near_miss.h"

#include "kasimir/base/text.h"

#include <cmath>
#include <limits>
#include <optional>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A word such as "0.5" or "2.36M".
std::optional<double> number_of(std::string_view word) {
  double unit = 1.0;
  constexpr std::string_view letters = "kMGT";
  if (const auto letter = word.empty() ? std::string_view::npos : letters.find(word.back());
      letter != std::string_view::npos) {
    unit = std::pow(1000.0, static_cast<double>(letter + 1));
    word.remove_suffix(1);
  }
  const auto number = parse_number(word);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return *number * unit;
}

}  // namespace

double miss_factor(std::string_view rule, std::string_view explanation) {
  const auto bound = number_of(rule.substr(rule.rfind(' ') + 1));
  if (explanation.starts_with(rule)) {
    explanation.remove_prefix(rule.size());
    while (!explanation.empty() && (explanation.front() == ' ' || explanation.front() == '('))
      explanation.remove_prefix(1);
  }
  const auto reached = number_of(explanation.substr(0, explanation.find_first_of(" ,)")));
  if (!bound || !reached || *bound <= 0.0 || *reached <= 0.0) return infinity;
  return *reached > *bound ? *reached / *bound : *bound / *reached;
}

void keep_nearest(std::string& kept, std::string_view rule, std::string_view explanation) {
  if (kept.empty() || miss_factor(rule, explanation) < miss_factor(rule, kept)) kept = explanation;
}

}  // namespace kasimir
