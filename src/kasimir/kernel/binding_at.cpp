// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/binding_at.h"

namespace kasimir {

std::optional<Binding> binding_at(const Kernel& kernel, const Site& site) {
  Binding binding = site.binding();
  const Binding fit = kernel.fit_at(site);
  for (const Symbol symbol : kernel.free_symbols()) {
    if (!fit.has(symbol)) return std::nullopt;
    binding.set(symbol, fit[symbol]);
  }
  for (const Symbol symbol : choice_symbols)
    if (kernel.choices.has(symbol)) binding.set(symbol, kernel.choices[symbol]);
  return binding;
}

}  // namespace kasimir
