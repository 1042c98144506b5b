// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/kernel.h"

#include <algorithm>

namespace kasimir {

Binding Kernel::fit_at(const Site& site) const {
  const auto found = std::ranges::find(fits, site, &std::pair<Site, Binding>::first);
  return found == fits.end() ? Binding() : found->second;
}

std::vector<Symbol> Kernel::free_symbols() const {
  std::vector<Symbol> found;
  for (int i = 0; i < free_symbol_count; ++i) {
    const Symbol symbol = free_symbol(i);
    bool used = false;
    for (const Step& step : steps)
      for (const Argument& argument : step.arguments)
        for_each_size(argument, [&](const Size& size) { used = used || size.has(symbol); });
    if (used) found.push_back(symbol);
  }
  return found;
}

void substitute(Kernel& kernel, const Substitution& substitution) {
  for (Step& step : kernel.steps) substitute(step.arguments, substitution);
}

void substitute(std::vector<Argument>& arguments, const Substitution& substitution) {
  for (Argument& argument : arguments)
    for_each_size(argument, [&](Size& size) { size = size.substitute(substitution.symbol, substitution.value); });
}

Binding used_choices(std::span<const Step> steps, const Binding& values) {
  Binding used;
  for (const Step& step : steps)
    for (const Argument& argument : step.arguments)
      for_each_size(argument, [&](const Size& size) {
        for (Symbol symbol : choice_symbols)
          if (size.has(symbol) && values.has(symbol)) used.set(symbol, values[symbol]);
      });
  return used;
}

}  // namespace kasimir
