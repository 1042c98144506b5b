// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/synth/growth.h"

#include <algorithm>
#include <limits>

namespace kasimir {

void GrowthLimits::check(Catalog catalog) const {
  const auto known = primitive_names(catalog);
  for (const auto* names : {&allow, &forbid, &require})
    for (const std::string& name : *names)
      if (find_primitive(catalog, name) == nullptr)
        throw input_error("unknown primitive `{}`, {}", name, suggestion(name, known));
  for (const std::string& name : require)
    if (std::ranges::find(forbid, name) != forbid.end() ||
        (!allow.empty() && std::ranges::find(allow, name) == allow.end()))
      throw input_error("the primitive `{}` is required and not allowed at once", name);
  if (min_primitives < 1 || max_primitives < min_primitives || max_primitives > most_primitives)
    throw input_error("kernels of {}..{} primitives were asked for; the range must lie within 1..{}", min_primitives,
                      max_primitives, most_primitives);
  if (require.size() > static_cast<std::size_t>(max_primitives))
    throw input_error("{} primitives are required in kernels of at most {}", require.size(), max_primitives);
  if (max_width < 1 || max_width > most_width)
    throw input_error("a width of {} was asked for; it must lie within 1..{}", max_width, most_width);
  if (!(composites >= 0.0 && composites <= most_composites))
    throw input_error("composites were given the weight {}; it must lie within 0..{}", composites, most_composites);
  if (!(successor_share >= 0.0 && successor_share <= 1.0))
    throw input_error("successors were given {} of the draws; the share must lie within 0..1", successor_share);
}

CostLines::CostLines(std::span<const SiteLoad> loads, const Budget& budget, int lanes) {
  constexpr float none = std::numeric_limits<float>::infinity();
  // The bounds are in single precision: what they refuse must be beyond what rounding could have done.
  constexpr float rounding = 1e-5F;
  const auto row = static_cast<std::size_t>(lanes);
  high.assign(bounded_costs * row, none);
  low.assign(bounded_costs * row, -none);
  count.assign(row, 0.0F);
  const auto set = [&](std::size_t cost, const Limit& limit, double SiteLoad::* replaced) {
    total_high[cost] = limit.relative ? none : static_cast<float>(limit.high) * (1 + rounding);
    total_low[cost] = limit.relative ? -none : static_cast<float>(limit.low) * (1 - rounding);
    if (!limit.relative) return;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      high[cost * row + i] = static_cast<float>(limit.high * (loads[i].*replaced)) * (1 + rounding);
      low[cost * row + i] = static_cast<float>(limit.low * (loads[i].*replaced)) * (1 - rounding);
    }
  };
  set(0, budget.macs, &SiteLoad::macs);
  set(1, budget.params, &SiteLoad::params);
  for (std::size_t i = 0; i < loads.size(); ++i) count[i] = static_cast<float>(loads[i].count);
}

}  // namespace kasimir
