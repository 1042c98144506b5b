// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/primitive.h"

#include <algorithm>

namespace kasimir {

std::string_view family_name(Family family) {
  switch (family) {
    case Family::rearranging:
      return "rearranging";
    case Family::arithmetic:
      return "arithmetic";
    case Family::blending:
      return "blending";
  }
  return "";
}

const Primitive* find_primitive(Catalog catalog, std::string_view name) {
  const auto found = std::ranges::find(catalog, name, &Primitive::name);
  return found == catalog.end() ? nullptr : *found;
}

std::vector<std::string> primitive_names(Catalog catalog) {
  std::vector<std::string> names;
  for (const Primitive* primitive : catalog) names.emplace_back(primitive->name);
  return names;
}

Size Proposer::draw_width() {
  // A free width is what the budget solver can fit to the budget, so it is the most frequent draw; an open symbol is
  // reused as often as a new one is made, which keeps the number of unknowns small.
  if (closing) return Size(Symbol::Co);
  const double p = rng.unit();
  if (p < 0.45 && (fresh_symbol || !open_symbols.empty())) {
    if (!open_symbols.empty() && (!fresh_symbol || rng.chance(0.5))) return Size(rng.pick(open_symbols));
    return Size(*fresh_symbol);
  }
  if (p < 0.80) return Size(Symbol::Co);
  return Size(Symbol::Co) / Size(Symbol::r);
}

std::optional<Size> Proposer::draw_factor(const Size& extent) {
  std::vector<Size> possible;
  for (const Size& factor : {Size(Symbol::g), Size(Symbol::r), extent})
    if (sites.whole(extent / factor) && !factor.is_one()) possible.push_back(factor);
  if (possible.empty()) return std::nullopt;
  return rng.pick(possible);
}

}  // namespace kasimir
