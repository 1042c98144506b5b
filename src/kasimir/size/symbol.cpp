// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

namespace kasimir {
namespace {

constexpr std::array<std::string_view, symbol_count> names = {"N", "Ci", "Co", "H",  "W",  "s",  "g", "r",
                                                              "k", "x0", "x1", "x2", "x3", "x4", "x5"};

}  // namespace

std::string_view symbol_name(Symbol symbol) { return names[static_cast<std::size_t>(symbol)]; }

std::optional<Symbol> symbol_from_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Symbol>(i);
  }
  return std::nullopt;
}

Binding& Binding::set(Symbol symbol, std::int64_t value) {
  if (value < 1) throw input_error("{} must be a whole number of at least 1, found {}", symbol_name(symbol), value);
  values_[static_cast<std::size_t>(symbol)] = value;
  return *this;
}

std::string Binding::str() const {
  std::string text;
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    if (!has(symbol)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", symbol_name(symbol), at(symbol));
  }
  return text;
}

std::vector<std::int64_t> divisors(std::int64_t n) {
  KASIMIR_CHECK(n >= 1, "divisors of {}", n);
  std::vector<std::int64_t> found;
  std::vector<std::int64_t> partners;
  for (std::int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    found.push_back(d);
    if (d != n / d) partners.push_back(n / d);
  }
  found.insert(found.end(), partners.rbegin(), partners.rend());
  return found;
}

}  // namespace kasimir
