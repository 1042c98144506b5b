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

std::vector<Option> Proposer::widths() const {
  asked_for_widths_ = !closing;
  if (closing) return {{Size(Symbol::Co)}};
  // A free width is what the budget solver can fit to the budget, so it is the most frequent draw; an open symbol is
  // reused as often as a new one is made, which keeps the number of unknowns small.
  constexpr double free_share = 0.45;
  std::vector<Option> options{{Size(Symbol::Co), 0.35}, {Size(Symbol::Co) / Size(Symbol::r), 0.2}};
  const double fresh_share = !fresh_symbol ? 0.0 : open_symbols.empty() ? 1.0 : 0.5;
  if (fresh_symbol) options.push_back({Size(*fresh_symbol), free_share * fresh_share});
  for (Symbol symbol : open_symbols)
    options.push_back({Size(symbol), free_share * (1.0 - fresh_share) / static_cast<double>(open_symbols.size())});
  return options;
}

std::vector<Option> Proposer::factors(const Size& extent) const {
  std::vector<Option> possible;
  for (const Size& factor : {Size(Symbol::g), Size(Symbol::r), extent})
    if (sites.whole(extent / factor) && !factor.is_one()) possible.push_back({factor});
  return possible;
}

Draw draw(std::span<const Offer> offers, Rng& rng) {
  const auto pick = [&](const auto& all) -> const auto& {
    double total = 0.0;
    for (const auto& one : all) total += one.weight;
    double at = rng.unit() * total;
    for (const auto& one : all)
      if ((at -= one.weight) < 0.0) return one;
    return all.back();
  };
  const Offer& offer = pick(offers);
  Draw drawn{{}, offer.substitutions};
  for (const auto& options : offer.options) drawn.arguments.push_back(pick(options).value);
  return drawn;
}

}  // namespace kasimir
