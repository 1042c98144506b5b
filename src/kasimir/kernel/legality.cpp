// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/legality.h"

#include <algorithm>
#include <limits>

namespace kasimir {

SiteSet::SiteSet(std::vector<Site> sites, const Binding& choices) : sites_(std::move(sites)) {
  for (const Site& site : sites_) {
    Binding binding = site.binding();
    binding.set(Symbol::N, 1);
    for (Symbol symbol : choice_symbols)
      if (choices.has(symbol)) binding.set(symbol, choices[symbol]);
    bindings_.push_back(binding);
  }
}

bool SiteSet::whole(const Size& size) const {
  if (size.is_number()) return size.coefficient().whole() && size.coefficient().num() >= 1;
  return std::ranges::all_of(bindings_,
                             [&](const Binding& binding) { return !size.bound_by(binding) || size.whole_at(binding); });
}

bool SiteSet::equal(const Size& a, const Size& b) const {
  if (a == b) return true;
  const Size ratio = a / b;
  return !bindings_.empty() && std::ranges::all_of(bindings_, [&](const Binding& binding) {
    return ratio.bound_by(binding) && ratio.at(binding) == Rational(1);
  });
}

double SiteSet::largest(const Size& size) const {
  double most = 0.0;
  for (Binding binding : bindings_) {
    for (int i = 0; i < symbol_count; ++i)
      if (const auto symbol = static_cast<Symbol>(i); size.has(symbol) && !binding.has(symbol)) binding.set(symbol, 1);
    most = std::max(most, size.value_at(binding));
  }
  return most;
}

double SiteSet::smallest(const Size& size) const {
  if (size.is_number()) return size.coefficient().value();
  double least = std::numeric_limits<double>::infinity();
  for (const Binding& binding : bindings_)
    if (size.bound_by(binding)) least = std::min(least, size.value_at(binding));
  return least;
}

}  // namespace kasimir
