// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/footprint.h"

#include "kasimir/kernel/cost.h"

#include <algorithm>

namespace kasimir {

Outcome<Footprint> footprint(const Kernel& kernel, const Site& site) {
  const auto training = lower_at(kernel, site, 1);
  if (!training.ok()) return training.rejection();
  const BoundGraph graph = freeze(*training);
  constexpr std::size_t never = ~std::size_t{0};
  std::vector<std::size_t> last_use(graph.tensors.size(), never);
  for (std::size_t s = 0; s < graph.stages.size(); ++s)
    for (const BoundNode& node : graph.stages[s].nodes)
      if (const auto* read = std::get_if<BoundRead>(&node)) last_use[static_cast<std::size_t>(read->tensor)] = s;
  last_use[static_cast<std::size_t>(graph.output)] = never;
  std::int64_t live = elements(graph.tensors[static_cast<std::size_t>(graph.input)]);
  Footprint result;
  for (std::size_t s = 0; s < graph.stages.size(); ++s) {
    live += elements(graph.tensors[static_cast<std::size_t>(graph.stages[s].out)]);
    result.peak = std::max(result.peak, live);
    for (std::size_t t = 0; t < last_use.size(); ++t)
      if (last_use[t] == s && graph.tensors[t].role != Role::weight && graph.tensors[t].role != Role::stat)
        live -= elements(graph.tensors[t]);
  }
  const SiteSet sites({site}, kernel.choices);
  Binding binding = sites.bindings().front();
  const Binding fit = kernel.fit_at(site);
  for (const Symbol symbol : kernel.free_symbols()) binding.set(symbol, fit[symbol]);
  const Cost costs = cost(lower(kernel, sites).value());
  result.intensity = costs.macs.value_at(binding) / (costs.elements.value_at(binding) + costs.params.value_at(binding));
  return result;
}

}  // namespace kasimir
