// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

#include "kasimir/base/text.h"
#include "kasimir/synth/solver.h"

#include <algorithm>

namespace kasimir {
namespace {

constexpr std::size_t values = 3;
using Values = std::array<Size, values>;

/// What each of x0 .. x2 stands for, all at once: the sizes that are put in have free symbols of their own.
Size with_values(const Size& size, const Values& of) {
  Size result = without_free_symbols(size);
  for (std::size_t i = 0; i < values; ++i)
    if (const int power = size.power(free_symbol(static_cast<int>(i))); power != 0) result *= of[i].pow(power);
  return result;
}

/// The widths of one draw. A free one is as often new as it is one in use.
Values draw_values(Rng& rng, const Shape& shape, int open) {
  constexpr double free_share = 0.4;
  const Size channels = extent_of(shape, AxisKind::channel);
  const Size out(Symbol::Co);
  Size inner = (rng.chance(0.5) ? channels : out) / Size(Symbol::r);
  if (rng.chance(free_share)) {
    const bool fresh = open == 0 || (open < World::most_open && rng.chance(0.5));
    inner = Size(free_symbol(fresh ? open : static_cast<int>(rng.below(static_cast<std::uint64_t>(open)))));
  }
  return {channels, inner, rng.chance(0.5) ? channels : out};
}

struct Parts {
  std::string_view primitive;
  std::vector<std::string_view> operands;
  std::string parameters;  ///< "to=x0, groups=x0"
};

/// `linear(a, to=x0)` in parts; a name alone has no operands.
Parts parts_of(std::string_view way) {
  const std::size_t open = way.find('(');
  Parts parts{trim(way.substr(0, open)), {}, {}};
  if (open == std::string_view::npos) return parts;
  const std::string_view inside = way.substr(open + 1, way.rfind(')') - open - 1);
  std::size_t at = 0;
  while (at < inside.size()) {
    const std::size_t end = std::min(inside.find_first_of(",=", at), inside.size());
    if (end < inside.size() && inside[end] == '=') break;
    parts.operands.push_back(trim(inside.substr(at, end - at)));
    at = end + 1;
  }
  if (at < inside.size()) parts.parameters = ", " + std::string(trim(inside.substr(at)));
  return parts;
}

/// The arguments of a way, which is one step of a kernel whose operands are all `x`.
std::vector<Argument> arguments_of(const Parts& parts, Catalog catalog, std::string_view where) {
  std::string operands = "x";
  for (std::size_t i = 1; i < parts.operands.size(); ++i) operands += ", x";
  const std::string text =
      fmt::format("kernel k\ngiven g=1 r=1\na = {}({}{})\nreturn a\n", parts.primitive, operands, parts.parameters);
  return parse_kernel(text, catalog, where).steps.front().arguments;
}

bool has_values(const std::vector<Argument>& arguments) {
  bool found = false;
  for (const Argument& argument : arguments)
    for_each_size(argument, [&](const Size& size) { found = found || size.has_free(); });
  return found;
}

}  // namespace

CompositeSet::Template CompositeSet::read(const Composite& composite, Catalog catalog,
                                          std::span<const double> weights) {
  Template result{&composite, {}, 0};
  std::vector<std::string_view> names{"x"};
  const auto number = [&](std::string_view name) {
    const auto found = std::ranges::find(names, name);
    KASIMIR_CHECK(found != names.end(), "{}: no line above names `{}`", composite.name, name);
    return static_cast<std::int16_t>(found - names.begin());
  };
  const auto read_way = [&](std::string_view text, Line& ways) {
    const Parts parts = parts_of(trim(text));
    Way way;
    if (parts.operands.empty()) {
      way.operands[0] = number(parts.primitive);
      return ways.push_back(way);
    }
    std::ranges::transform(parts.operands, way.operands.begin(), number);
    const auto found = std::ranges::find(catalog, parts.primitive, &Primitive::name);
    if (found == catalog.end() || weights[static_cast<std::size_t>(found - catalog.begin())] <= 0.0) return;
    way.primitive = static_cast<int>(found - catalog.begin());
    way.arguments = arguments_of(parts, catalog, composite.name);
    way.sized = has_values(way.arguments);
    ways.push_back(std::move(way));
  };
  const std::vector<std::string> texts = split(trim(composite.steps), '\n');
  KASIMIR_CHECK(texts.size() <= DrawnComposite::most_steps, "{}: {} lines", composite.name, texts.size());
  for (const std::string_view text : texts) {
    const std::size_t sign = text.find('=');
    Line& ways = result.lines.emplace_back();
    for (const std::string& way : split(text.substr(sign + 1), '|')) read_way(way, ways);
    if (std::ranges::none_of(ways, [](const Way& way) { return way.primitive < 0; })) ++result.least_steps;
    names.push_back(trim(text.substr(0, sign)));
  }
  return result;
}

CompositeSet::CompositeSet(Catalog catalog, std::span<const double> weights) {
  for (const Composite* composite : composites()) {
    Template one = read(*composite, catalog, weights);
    const bool possible = std::ranges::none_of(one.lines, [](const Line& line) { return line.empty(); });
    if (possible && composite->weight > 0.0) templates_.push_back(std::move(one));
  }
}

bool CompositeSet::draw(std::size_t number, Rng& rng, World& world, ShapeId tensor, int open,
                        DrawnComposite& into) const {
  const Shape& shape = world.shape(tensor).shape;
  if (find_axis(shape, AxisKind::channel) < 0) return false;
  const Values of = draw_values(rng, shape, open);
  const Template& chosen = templates_[number];
  std::array<std::int16_t, DrawnComposite::most_steps + 1> tensors{};
  into.count = 0;
  for (std::size_t i = 0; i < chosen.lines.size(); ++i) {
    const Way& way = rng.pick(chosen.lines[i]);
    if (way.primitive < 0) {
      tensors[i + 1] = tensors[static_cast<std::size_t>(way.operands[0])];
      continue;
    }
    DrawnComposite::Step& step = into.steps[static_cast<std::size_t>(into.count++)];
    step.primitive = way.primitive;
    for (std::size_t k = 0; k < step.operands.size(); ++k)
      step.operands[k] = way.operands[k] < 0 ? way.operands[k] : tensors[static_cast<std::size_t>(way.operands[k])];
    std::vector<Argument> arguments = way.arguments;
    for (Argument& argument : arguments)
      if (way.sized) for_each_size(argument, [&](Size& size) { size = with_values(size, of); });
    step.arguments = world.intern(arguments);
    tensors[i + 1] = static_cast<std::int16_t>(into.count);
  }
  return true;
}

}  // namespace kasimir
