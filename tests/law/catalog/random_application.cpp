// SPDX-License-Identifier: Apache-2.0
#include "law/catalog/random_application.h"

#include <algorithm>
#include <array>

namespace kasimir::testing {
namespace {

/// Maps of one position, H != W, windows larger than the map, Ci != Co, strides 1 to 3.
constexpr std::array<Site, 7> site_pool{{{4, 4, 3, 4, 1},
                                         {4, 8, 1, 1, 1},
                                         {8, 4, 2, 3, 2},
                                         {12, 4, 3, 1, 2},
                                         {4, 12, 1, 2, 3},
                                         {2, 6, 2, 2, 1},
                                         {2, 2, 1, 3, 2}}};

Size draw_extent(AxisKind kind, Rng& rng) {
  const Size s(Symbol::s);
  const auto pick = [&](std::initializer_list<Size> sizes) { return std::data(sizes)[rng.below(sizes.size())]; };
  switch (kind) {
    case AxisKind::channel:
      return pick({Size(Symbol::Ci), Size(Symbol::Ci), Size(Symbol::Co), Size(Symbol::Co) / Size(Symbol::r),
                   Size(Symbol::x0), Size(1)});
    case AxisKind::group:
      return pick({Size(Symbol::g), Size(Symbol::g), Size(Symbol::r), Size(3)});
    case AxisKind::window_h:
    case AxisKind::window_w:
      return pick({Size(3), Size(3), Size(5)});
    case AxisKind::height:
      return pick({Size(Symbol::H), s * Size(Symbol::H)});
    case AxisKind::width:
      return pick({Size(Symbol::W), s * Size(Symbol::W)});
    case AxisKind::token:
      return pick({Size(Symbol::H) * Size(Symbol::W), Size(Symbol::Ci), Size(Symbol::Co)});
    case AxisKind::batch:
      break;
  }
  return Size(1);
}

void shuffle(Shape& shape, Rng& rng) {
  for (std::size_t i = shape.size(); i > 1; --i) std::swap(shape[i - 1], shape[rng.below(i)]);
}

Shape draw_shape(Rng& rng) {
  const std::pair<AxisKind, double> chances[] = {
      {AxisKind::group, 0.35},    {AxisKind::channel, 0.85},  {AxisKind::height, 0.75}, {AxisKind::width, 0.75},
      {AxisKind::window_h, 0.15}, {AxisKind::window_w, 0.15}, {AxisKind::token, 0.12}};
  Shape shape;
  while (shape.empty())
    for (const auto& [kind, chance] : chances)
      if (rng.chance(chance)) shape.push_back({kind, draw_extent(kind, rng)});
  if (rng.chance(0.3)) shuffle(shape, rng);
  return shape;
}

/// Related to the first operand, so that the two often fit together: some axes less, the channels changed, another
/// order.
Shape draw_second(const Shape& first, Rng& rng) {
  Shape shape;
  for (const Axis& axis : first)
    if (rng.chance(0.9)) shape.push_back(axis);
  if (shape.empty()) shape = first;
  for (Axis& axis : shape)
    if (axis.kind == AxisKind::channel && rng.chance(0.5)) axis.extent = draw_extent(axis.kind, rng);
  if (rng.chance(0.3)) shuffle(shape, rng);
  return shape;
}

std::vector<Shape> draw_operands(int count, Rng& rng) {
  std::vector<Shape> operands{draw_shape(rng)};
  if (count == 1) return operands;
  operands.push_back(rng.chance(0.85) ? draw_second(operands[0], rng) : draw_shape(rng));
  if (rng.chance(0.5)) std::swap(operands[0], operands[1]);
  return operands;
}

void substitute(Application& application, const Substitution& by) {
  const auto rewrite = [&](Shape& shape) {
    for (Axis& axis : shape) axis.extent = axis.extent.substitute(by.symbol, by.value);
  };
  for (Shape& operand : application.operands) rewrite(operand);
  for (Argument& argument : application.arguments) {
    if (auto* size = std::get_if<Size>(&argument)) *size = size->substitute(by.symbol, by.value);
    if (auto* shape = std::get_if<Shape>(&argument)) rewrite(*shape);
  }
}

}  // namespace

Outcome<RandomApplication> draw_application(const Primitive& primitive, std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  RandomApplication drawn{{&primitive, draw_operands(primitive.operands, rng), {}}, {}, {}};
  for (std::int64_t left = rng.between(1, 2); left > 0; --left) drawn.sites.push_back(rng.pick(site_pool));
  const SiteSet sites = drawn.site_set();
  for (const Shape& operand : drawn.application.operands)
    for (const Axis& axis : operand)
      if (!sites.whole(axis.extent)) return Rejection{"the operands are whole", str(operand)};

  std::vector<const Shape*> operands;
  for (const Shape& operand : drawn.application.operands) operands.push_back(&operand);
  Proposer proposer(std::move(operands), sites);
  proposer.open_symbols = {Symbol::x0};
  proposer.fresh_symbol = Symbol::x1;
  proposer.weights_may_depend_on_resolution = rng.chance(0.3);
  proposer.closing = rng.chance(0.3);
  const auto offers = primitive.offers(proposer);
  if (!offers.ok()) return offers.rejection();
  if (std::ranges::any_of(*offers, [](const Offer& offer) {
        return std::ranges::any_of(offer.options, [](const auto& options) { return options.empty(); });
      }))
    return Rejection{"every argument has an option", ""};
  Draw picked = draw(*offers, rng);
  drawn.application.arguments = std::move(picked.arguments);
  for (const Substitution& substitution : picked.substitutions) substitute(drawn.application, substitution);
  auto shape = drawn.application.shape(sites);
  if (!shape.ok()) return shape.rejection();
  drawn.shape = *std::move(shape);
  return drawn;
}

std::optional<BoundGraph> bind_somehow(const Graph& graph, const Site& site, std::int64_t batch, Binding* used) {
  for (std::int64_t x0 = 1; x0 <= 48; ++x0) {
    for (std::int64_t x1 = 1; x1 <= 48; ++x1) {
      Binding binding = binding_at(site, batch);
      binding.set(Symbol::x0, x0).set(Symbol::x1, x1);
      auto bound = bind(graph, binding);
      if (!bound.ok()) continue;
      if (used != nullptr) *used = binding;
      return *std::move(bound);
    }
  }
  return std::nullopt;
}

}  // namespace kasimir::testing
