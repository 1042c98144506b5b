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
    const auto in_size = [&](const Size& size) { return size.has(symbol); };
    const bool used = std::ranges::any_of(steps, [&](const Step& step) {
      return std::ranges::any_of(step.arguments, [&](const Argument& argument) {
        if (const auto* size = std::get_if<Size>(&argument)) return in_size(*size);
        if (const auto* shape = std::get_if<Shape>(&argument))
          return std::ranges::any_of(*shape, in_size, &Axis::extent);
        return false;
      });
    });
    if (used) found.push_back(symbol);
  }
  return found;
}

void substitute(Kernel& kernel, const Substitution& substitution) {
  const auto rewrite = [&](Size& size) { size = size.substitute(substitution.symbol, substitution.value); };
  for (Step& step : kernel.steps) {
    for (Argument& argument : step.arguments) {
      if (auto* size = std::get_if<Size>(&argument)) rewrite(*size);
      if (auto* shape = std::get_if<Shape>(&argument))
        for (Axis& axis : *shape) rewrite(axis.extent);
    }
  }
}

}  // namespace kasimir
