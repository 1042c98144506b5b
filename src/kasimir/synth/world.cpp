// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/world.h"

#include "kasimir/synth/step_facts.h"

#include <algorithm>

namespace kasimir {
namespace {

/// One more than the number of the highest free symbol.
int open_symbols(const Size& size) {
  for (int i = free_symbol_count; i > 0; --i)
    if (size.has(free_symbol(i - 1))) return i;
  return 0;
}

int open_symbols(const Shape& shape) {
  int most = 0;
  for (const Axis& axis : shape) most = std::max(most, open_symbols(axis.extent));
  return most;
}

std::uint64_t hash_of(const Shape& shape) {
  std::uint64_t hash = shape.size();
  for (const Axis& axis : shape) hash = mix_bits(hash ^ axis.extent.hash() ^ static_cast<std::uint64_t>(axis.kind));
  return hash;
}

bool has_rows_and_columns(const Shape& shape) {
  return find_axis(shape, AxisKind::height) >= 0 && find_axis(shape, AxisKind::width) >= 0;
}

}  // namespace

std::uint64_t hash_of(const Argument& argument) {
  std::uint64_t hash = argument.index();
  const auto add = [&](std::uint64_t value) { hash = mix_bits(hash ^ value); };
  if (const auto* numbers = std::get_if<Numbers>(&argument)) {
    add(numbers->count);
    for (const auto value : numbers->value) add(static_cast<std::uint64_t>(value));
  } else if (const auto* size = std::get_if<Size>(&argument)) {
    add(size->hash());
  } else if (const auto* axes = std::get_if<AxisSet>(&argument)) {
    for (AxisKind kind : axes->kinds()) add(static_cast<std::uint64_t>(kind));
  } else if (const auto* word = std::get_if<Word>(&argument)) {
    add(word->index);
  } else {
    add(hash_of(std::get<Shape>(argument)));
  }
  return hash;
}

std::size_t World::Hash::operator()(const Shape& shape) const { return hash_of(shape); }

std::size_t World::Hash::operator()(const std::vector<Argument>& arguments) const {
  std::uint64_t hash = arguments.size();
  for (const Argument& argument : arguments) hash = mix_bits(hash ^ hash_of(argument));
  return hash;
}

std::size_t World::Hash::operator()(const std::vector<Size>& sizes) const {
  std::uint64_t hash = sizes.size();
  for (const Size& size : sizes) hash = mix_bits(hash ^ size.hash());
  return hash;
}

World::World(Catalog catalog, std::span<const SiteLoad> loads, Options options)
    : catalog_(catalog), loads_(loads.begin(), loads.end()), options_(std::move(options)) {
  KASIMIR_CHECK(catalog.size() <= 256 && !options_.choices.empty() && options_.choices.size() <= 512 &&
                    options_.weights.size() == catalog.size(),
                "{} primitives, {} choices", catalog.size(), options_.choices.size());
  std::vector<Site> sites;
  for (const SiteLoad& load : loads_) sites.push_back(load.site);
  any_stride_ = std::ranges::any_of(sites, [](const Site& site) { return site.s > 1; });
  same_channels_ = std::ranges::all_of(sites, [](const Site& site) { return site.ci == site.co; });
  sites_ = SiteSet(std::move(sites), {});
  sites_.explains = false;
  // As many as the shortest vector of single precision, so that the bounds of a move at up to four sites are one line
  // of the cache.
  constexpr int vector = 4;
  lanes_ = (site_count() + vector - 1) / vector * vector;
  no_bounds_.assign(static_cast<std::size_t>(2 * bounded_costs * lanes_), 0.0F);
  input_ = intern(input_shape());
}

std::int32_t World::rule_id(const std::string& rule) {
  const auto [at, is_new] = rule_ids_.try_emplace(rule, static_cast<std::int32_t>(rules_.size()));
  if (is_new) rules_.push_back(rule);
  KASIMIR_CHECK(rules_.size() <= most_rules, "{} rules, the last is `{}`", rules_.size(), rule);
  return at->second;
}

/// Symbols that are the same number at every site are one: fewer shapes to work out.
Size World::canonical(const Size& size) const {
  Size result = size;
  if (same_channels_) result = result.substitute(Symbol::Ci, Size(Symbol::Co));
  return any_stride_ ? result : result.substitute(Symbol::s, Size(1));
}

int World::steps_to_ready(const Shape& shape, bool careful) const {
  if (find_axis(shape, AxisKind::token) >= 0) return careful ? 2 : 1;
  bool windowed = false;
  bool strided = false;
  for (const Axis& axis : shape) {
    windowed = windowed || is_window(axis.kind);
    strided = strided || (is_spatial(axis.kind) && axis.extent.has(Symbol::s));
  }
  const Size channels = extent_of(shape, AxisKind::channel);
  // Missing rows or columns, or channels that divide Co, are filled in by a broadcast, which is counted elsewhere.
  const bool fills = !has_rows_and_columns(shape) && !careful && sites_.whole(Size(Symbol::Co) / channels);
  const bool channels_wrong =
      windowed || find_axis(shape, AxisKind::group) >= 0 || !(fills || sites_.equal(channels, Size(Symbol::Co)));
  // One step can take the stride and set the channels at once, but none that also takes windows away.
  if (strided && channels_wrong) return careful || windowed ? 2 : 1;
  return strided || channels_wrong ? 1 : 0;
}

/// The only way to write a shape in a world.
Shape World::canonical(Shape shape) const {
  std::ranges::sort(shape, {}, &Axis::kind);
  for (Axis& axis : shape) axis.extent = canonical(axis.extent);
  return shape;
}

ShapeFacts World::facts_of(Shape symbolic) const {
  ShapeFacts facts;
  facts.shape = canonical(std::move(symbolic));
  if (const auto found = shape_ids_.find(facts.shape); found != shape_ids_.end()) return shape(found->second);
  facts.full = has_rows_and_columns(facts.shape);
  facts.free = open_symbols(facts.shape) > 0;
  const Shape wanted = output_shape();
  facts.output =
      facts.shape.size() == wanted.size() && std::ranges::all_of(wanted, [&](const Axis& axis) {
        return find_axis(facts.shape, axis.kind) >= 0 && sites_.equal(extent_of(facts.shape, axis.kind), axis.extent);
      });
  if (!facts.output) {
    facts.least_steps = static_cast<std::int8_t>(steps_to_ready(facts.shape, false));
    facts.sure_steps = static_cast<std::int8_t>(steps_to_ready(facts.shape, true));
  }
  for (int i = 0; i < most_open; ++i) {
    const Size rest = extent_of(facts.shape, AxisKind::channel) / Size(free_symbol(i));
    if (facts.full || !rest.is_number()) continue;
    facts.to_match = static_cast<std::int8_t>(i);
    facts.match_ratio = static_cast<float>(1.0 / rest.coefficient().value());
  }
  return facts;
}

ShapeId World::intern(const Shape& symbolic) {
  ShapeFacts facts = facts_of(symbolic);
  if (const auto found = shape_ids_.find(facts.shape); found != shape_ids_.end()) return found->second;
  const auto id = static_cast<ShapeId>(shapes_.size());
  shape_ids_.emplace(facts.shape, id);
  shapes_.push_back(std::move(facts));
  unary_tables_.resize(shapes_.size() * catalog_.size());
  unary_closers_.resize(shapes_.size(), no_id);
  return id;
}

ArgumentsId World::intern(const std::vector<Argument>& arguments) {
  if (const auto found = argument_ids_.find(arguments); found != argument_ids_.end()) return found->second;
  const auto id = static_cast<ArgumentsId>(arguments_.size());
  arguments_.push_back(arguments);
  argument_ids_.emplace(arguments, id);
  return id;
}

std::vector<Substitution> without_gap(const Substitution& by, int open) {
  std::vector<Substitution> all{by};
  for (int i = static_cast<int>(by.symbol) - static_cast<int>(Symbol::x0) + 1; i < open; ++i)
    all.push_back({free_symbol(i), Size(free_symbol(i - 1))});
  return all;
}

std::int32_t World::intern(const Substitution& by, int open) {
  std::vector<Size> name{by.value, Size(by.symbol), Size(open)};
  const auto [found, is_new] =
      substitution_ids_.try_emplace(std::move(name), static_cast<std::int32_t>(substitutions_.size()));
  if (is_new) substitutions_.push_back(without_gap(by, open));
  return found->second;
}

ArgumentsId World::substituted(ArgumentsId id, std::span<const Substitution> by) {
  std::vector<Argument> values = arguments(id);
  for (const Substitution& one : by) substitute(values, one);
  return intern(values);
}

ArgumentsId World::substituted(ArgumentsId id, std::int32_t by) {
  const Key name = key({id, by}, 0, 0);
  if (const auto found = substituted_arguments_.find(name); found != substituted_arguments_.end()) return found->second;
  const ArgumentsId result = substituted(id, substitutions_[static_cast<std::size_t>(by)]);
  substituted_arguments_.emplace(name, result);
  return result;
}

WrittenMove World::substituted(const WrittenMove& written, Operands operands, std::int32_t by, int choice) {
  const Key name = key({written.move, written.arguments}, static_cast<std::uint64_t>(choice),
                       static_cast<std::uint64_t>(static_cast<std::uint32_t>(by)));
  if (const auto found = substituted_moves_.find(name); found != substituted_moves_.end()) return found->second;
  const int primitive = move(written.move).primitive;
  const ArgumentsId arguments = substituted(written.arguments, by);
  const WrittenMove result{apply(primitive, operands, arguments, choice), arguments};
  substituted_moves_.emplace(name, result);
  return result;
}

void World::note_step(MoveId id, const void* what, std::uint8_t signs) {
  const auto found = step_numbers_.try_emplace(what, static_cast<std::int32_t>(step_numbers_.size())).first;
  Move& move = moves_[static_cast<std::size_t>(id)];
  move.step = found->second;
  move.signs = signs;
}

MoveId World::apply(int primitive, Operands operands, ArgumentsId written, int choice) {
  const MoveId id = sketch(primitive, operands, written, choice);
  if (move(id).sketch) finish(id);
  return id;
}

/// Numbers in place of choice symbols, so that what does not depend on them is worked out once for all their values.
std::vector<Argument> World::in_numbers(std::vector<Argument> written, int choice) const {
  const Binding& values = options_.choices[static_cast<std::size_t>(choice)];
  for (Argument& argument : written)
    for_each_size(argument, [&](Size& size) {
      for (Symbol symbol : choice_symbols)
        if (size.has(symbol)) size = size.substitute(symbol, Size(values[symbol]));
      size = canonical(size);
    });
  return written;
}

ArgumentsId World::plain(ArgumentsId written, int choice) {
  const Key by_text = key({written, choice}, 0, 0);
  if (const auto found = written_ids_.find(by_text); found != written_ids_.end()) return found->second;
  const ArgumentsId id = intern(in_numbers(arguments(written), choice));
  written_ids_.emplace(by_text, id);
  return id;
}

MoveId World::sketch(int primitive, Operands operands, ArgumentsId written, int choice) {
  const ArgumentsId numbers = plain(written, choice);
  const Key application = key(operands, static_cast<std::uint64_t>(primitive), static_cast<std::uint64_t>(numbers));
  if (const auto found = move_ids_.find(application); found != move_ids_.end()) return found->second;
  const MoveId id = work_out(primitive, operands, numbers);
  move_ids_.emplace(application, id);
  return id;
}

Outcome<Shape> World::shape_after(int primitive, Operands operands, const std::vector<Argument>& numbers) const {
  auto result = catalog_[static_cast<std::size_t>(primitive)]->shape(call(primitive, operands, numbers));
  if (!result.ok()) return result;
  if (auto reason = check_shape(*result, sites_)) return *std::move(reason);
  return result;
}

/// What the shapes say of a move: its result, if that is legal.
MoveId World::work_out(int primitive, Operands operands, ArgumentsId plain) {
  const Primitive& record = *catalog_[static_cast<std::size_t>(primitive)];
  Move move;
  move.primitive = static_cast<std::uint8_t>(primitive);
  move.weighted = record.weighted;
  move.bounds = no_bounds_.data();
  const auto id = static_cast<MoveId>(moves_.size());
  applied_.push_back({operands, plain});
  const auto result = shape_after(primitive, operands, arguments(plain));
  if (!result.ok()) {
    move.rule = rule_id(result.rejection().rule);
  } else {
    move.sketch = true;
    move.result = intern(*result);
    const ShapeFacts& facts = this->shape(move.result);
    move.full = facts.full;
    move.least_steps = facts.least_steps;
    move.sure_steps = facts.sure_steps;
  }
  moves_.push_back(move);
  return id;
}

/// What the stages say of a move that is legal by its shapes.
void World::finish(MoveId id) {
  const Graph& stages = graph(id);
  Move move = this->move(id);
  const Application applied = application(id);
  move.sketch = false;
  move.costs = costs_of(stages);
  const MoveCosts& costs = costs_[static_cast<std::size_t>(move.costs)];
  move.bounds = costs.bounds;
  move.rule = costs.rule;
  int open = open_symbols(shape(move.result).shape);
  for (const Argument& argument : arguments(applied.arguments))
    for_each_size(argument, [&](const Size& size) { open = std::max(open, open_symbols(size)); });
  for (const ShapeId operand : applied.operands)
    if (operand != no_id) open = std::max(open, open_symbols(shape(operand).shape));
  move.open_symbols = static_cast<std::uint8_t>(open);
  if (move.rule != no_id) move.result = no_id;
  moves_[static_cast<std::size_t>(id)] = move;
}

Call World::call(int primitive, Operands operands, const std::vector<Argument>& numbers) const {
  const auto shape_of = [&](ShapeId id) { return id == no_id ? nullptr : &shape(id).shape; };
  return {*catalog_[static_cast<std::size_t>(primitive)], std::array{shape_of(operands[0]), shape_of(operands[1])},
          numbers, sites_};
}

const Graph& World::graph(MoveId id) const {
  if (graph_of_ == id) return graph_;
  const Application& applied = application(id);
  graph_ = one_step_graph(call(move(id).primitive, applied.operands, arguments(applied.arguments)));
  graph_of_ = id;
  return graph_;
}

}  // namespace kasimir
