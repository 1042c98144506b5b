// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/world.h"

#include "kasimir/kernel/cost.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/synth/step_facts.h"

#include <algorithm>
#include <cstdlib>

namespace kasimir {
namespace {

constexpr int macs_row = 0;
constexpr int params_row = 1;
constexpr std::size_t block = 16384;  // moves whose bounds lie together

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
    for (const Axis& axis : std::get<Shape>(argument)) {
      add(static_cast<std::uint64_t>(axis.kind));
      add(axis.extent.hash());
    }
  }
  return hash;
}

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

bool has_rows_and_columns(const Shape& shape) {
  return find_axis(shape, AxisKind::height) >= 0 && find_axis(shape, AxisKind::width) >= 0;
}

}  // namespace

std::size_t World::Hash::operator()(const Shape& shape) const { return hash_of(Argument(shape)); }

std::size_t World::Hash::operator()(const std::vector<Argument>& arguments) const {
  std::uint64_t hash = arguments.size();
  for (const Argument& argument : arguments) hash = mix_bits(hash ^ hash_of(argument));
  return hash;
}

World::World(Catalog catalog, std::span<const SiteLoad> loads, Options options)
    : catalog_(catalog), loads_(loads.begin(), loads.end()), options_(std::move(options)) {
  KASIMIR_CHECK(catalog.size() <= 256 && !options_.choices.empty() && options_.weights.size() == catalog.size(),
                "{} primitives, {} choices", catalog.size(), options_.choices.size());
  std::vector<Site> sites;
  for (const SiteLoad& load : loads_) sites.push_back(load.site);
  any_stride_ = std::ranges::any_of(sites, [](const Site& site) { return site.s > 1; });
  same_channels_ = std::ranges::all_of(sites, [](const Site& site) { return site.ci == site.co; });
  sites_ = SiteSet(std::move(sites), {});
  sites_.explains = false;
  constexpr int vector = 8;
  lanes_ = (site_count() + vector - 1) / vector * vector;
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

ShapeId World::intern(const Shape& symbolic) {
  ShapeFacts facts;
  facts.shape = symbolic;
  std::ranges::sort(facts.shape, {}, &Axis::kind);
  for (Axis& axis : facts.shape) axis.extent = canonical(axis.extent);
  if (const auto found = shape_ids_.find(facts.shape); found != shape_ids_.end()) return found->second;
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
  const auto id = static_cast<ShapeId>(shapes_.size());
  shape_ids_.emplace(facts.shape, id);
  shapes_.push_back(std::move(facts));
  unary_tables_.resize(shapes_.size() * catalog_.size() * (most_open + 1), no_id);
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

ArgumentsId World::substituted(ArgumentsId id, std::span<const Substitution> by) {
  std::vector<Argument> values = arguments(id);
  for (const Substitution& one : by) substitute(values, one);
  return intern(values);
}

FreeTerm World::term(const Size& size) const {
  FreeTerm result{free_powers(size), {}};
  const Size bound = without_free_symbols(size);
  for (const Binding& binding : sites_.bindings()) result.factor.push_back(bound.value_at(binding));
  return result;
}

WholeTerm World::whole_term(const Size& size) const {
  WholeTerm result{free_powers(size), {}, {}};
  const Size bound = without_free_symbols(size);
  for (const Binding& binding : sites_.bindings()) {
    const Rational value = bound.at(binding);
    result.num.push_back(value.num());
    result.den.push_back(value.den());
  }
  return result;
}

void World::add_bounds(float* bounds, const FreeTerm& term, int row) const {
  float* least = bounds + static_cast<std::ptrdiff_t>(row) * lanes_;
  float* most = bounds + static_cast<std::ptrdiff_t>(bounded_costs + row) * lanes_;
  for (std::size_t site = 0; site < loads_.size(); ++site) {
    least[site] += static_cast<float>(least_at(term, site, nullptr));
    double dearest = term.factor[site];
    for (const int power : term.powers)
      for (int p = power; p > 0; --p) dearest *= static_cast<double>(widest(loads_[site].site));
    most[site] += static_cast<float>(dearest);
  }
}

void World::add_matched(MoveId id, const ShapeFacts& matched, float* sum) const {
  const MoveDetails& more = details(id);
  const auto add = [&](const std::vector<double>& fixed, const std::vector<FreeTerm>& free, int row) {
    float* at = sum + static_cast<std::ptrdiff_t>(row) * lanes_;
    for (std::size_t site = 0; site < loads_.size(); ++site) {
      double cost = fixed[site];
      for (const FreeTerm& one : free) cost += least_at(one, site, &matched);
      at[site] += static_cast<float>(cost);
    }
  };
  add(more.fixed_macs, more.macs, macs_row);
  add(more.fixed_params, more.params, params_row);
}

/// The least that the term costs at a site; the symbol of `matched`, if any, has the value that it must have.
double World::least_at(const FreeTerm& term, std::size_t site, const ShapeFacts* matched) const {
  const Site& at = loads_[site].site;
  const auto top = static_cast<double>(widest(at));
  const double bottom = std::min(static_cast<double>(options_.lane), top);
  double least = term.factor[site];
  for (int i = 0; i < free_symbol_count; ++i) {
    const int power = term.powers[static_cast<std::size_t>(i)];
    const bool given = matched != nullptr && i == matched->to_match;
    const double value = given       ? static_cast<double>(matched->match_ratio) * static_cast<double>(at.co)
                         : power > 0 ? bottom
                                     : top;
    for (int p = std::abs(power); p > 0; --p) least = power > 0 ? least * value : least / value;
  }
  return least;
}

float* World::new_bounds() {
  const auto size = static_cast<std::size_t>(2 * bounded_costs * lanes_);
  const std::size_t place = moves_.size() % block;
  if (place == 0) {
    bounds_.emplace_back();
    bounds_.back().reserve(block * size);  // never moved: moves point there
  }
  const std::size_t first = bounds_.back().size();
  bounds_.back().resize(first + size, 0.0F);
  return bounds_.back().data() + first;
}

/// Costs and conditions, from the stages.
void World::measure(const Graph& graph, Move& move, MoveDetails& details) {
  const Cost total = cost(graph);
  float* bounds = new_bounds();
  move.bounds = bounds;
  const auto add = [&](const SizeSum& sum, int row, std::vector<FreeTerm>& free, std::vector<double>& fixed) {
    fixed.assign(loads_.size(), 0.0);
    for (const Size& size : sum.terms()) {
      FreeTerm one = term(size);
      add_bounds(bounds, one, row);
      if (size.has_free()) {
        free.push_back(std::move(one));
      } else {
        for (std::size_t site = 0; site < loads_.size(); ++site) fixed[site] += one.factor[site];
      }
    }
  };
  add(total.macs, macs_row, details.macs, details.fixed_macs);
  add(total.params, params_row, details.params, details.fixed_params);
  for (const Size& size : whole_sizes(graph)) {
    if (size.has_free()) {
      details.whole.push_back(whole_term(size));
    } else if (!sites_.whole(size)) {
      move.rule = rule_id("every extent is a whole number at every site");
    }
  }
  details.fixed_bytes.assign(loads_.size(), 0.0);
  for (const Stage& stage : graph.stages) {
    Size volume(1);
    for (const auto& axis : graph.tensors[static_cast<std::size_t>(stage.out)].axes)
      if (axis.kind != AxisKind::batch) volume *= axis.extent;
    FreeTerm elements = term(volume);
    if (volume.has_free()) {
      details.volumes.push_back(std::move(elements));
    } else {
      for (std::size_t site = 0; site < loads_.size(); ++site)
        details.fixed_bytes[site] += bytes_per_element * elements.factor[site];
    }
    if (sites_.largest(volume) > static_cast<double>(options_.most_elements))
      move.rule = rule_id("memory: no tensor is too large");
  }
}

MoveId World::apply(int primitive, Operands operands, ArgumentsId written, int choice) {
  // Numbers in place of choice symbols, so that what does not depend on them is worked out once for all their values.
  const Key by_text = key({written, choice}, 0, 0);
  ArgumentsId plain = no_id;
  if (const auto found = written_ids_.find(by_text); found != written_ids_.end()) {
    plain = found->second;
  } else {
    std::vector<Argument> numbers = arguments(written);
    const Binding& values = options_.choices[static_cast<std::size_t>(choice)];
    for (Argument& argument : numbers)
      for_each_size(argument, [&](Size& size) {
        for (Symbol symbol : choice_symbols)
          if (size.has(symbol)) size = size.substitute(symbol, Size(values[symbol]));
        size = canonical(size);
      });
    plain = intern(numbers);
    written_ids_.emplace(by_text, plain);
  }
  const Key application = key(operands, static_cast<std::uint64_t>(primitive), static_cast<std::uint64_t>(plain));
  if (const auto found = move_ids_.find(application); found != move_ids_.end()) return found->second;
  const MoveId id = work_out(primitive, operands, plain);
  move_ids_.emplace(application, id);
  return id;
}

MoveId World::work_out(int primitive, Operands operands, ArgumentsId plain) {
  const Primitive& record = *catalog_[static_cast<std::size_t>(primitive)];
  Move move;
  move.primitive = static_cast<std::uint8_t>(primitive);
  move.weighted = record.weighted;
  MoveDetails details;
  details.operands = operands;
  details.arguments = plain;
  std::vector<Shape> shapes;
  for (int i = 0; i < record.operands; ++i) shapes.push_back(shape(operands[static_cast<std::size_t>(i)]).shape);
  const Call call(record, shapes, arguments(plain), sites_);
  auto result = record.shape(call);
  std::optional<Rejection> reason;
  if (!result.ok()) {
    reason = result.rejection();
  } else {
    reason = check_shape(*result, sites_);
  }
  if (reason) {
    move.rule = rule_id(reason->rule);
  } else {
    int open = open_symbols(*result);
    for (const Argument& argument : arguments(plain))
      for_each_size(argument, [&](const Size& size) { open = std::max(open, open_symbols(size)); });
    for (const Shape& operand : shapes) open = std::max(open, open_symbols(operand));
    const Graph graph = one_step_graph(call);
    measure(graph, move, details);
    if (!options_.weights_may_depend_on_resolution && !independent_of_resolution(graph))
      move.rule = rule_id("screen: no weight depends on H or W");
    move.open_symbols = static_cast<std::uint8_t>(open);
    if (move.rule == no_id) {
      move.result = intern(*result);
      const ShapeFacts& facts = this->shape(move.result);
      move.full = facts.full;
      move.least_steps = facts.least_steps;
      move.sure_steps = facts.sure_steps;
    }
  }
  if (move.bounds == nullptr) move.bounds = new_bounds();
  moves_.push_back(move);
  details_.push_back(std::move(details));
  return static_cast<MoveId>(moves_.size()) - 1;
}

Graph World::graph(MoveId id) const {
  const MoveDetails& more = details(id);
  const Primitive& record = *catalog_[move(id).primitive];
  std::vector<Shape> shapes;
  for (int i = 0; i < record.operands; ++i) shapes.push_back(shape(more.operands[static_cast<std::size_t>(i)]).shape);
  return one_step_graph(Call(record, std::move(shapes), arguments(more.arguments), sites_));
}

}  // namespace kasimir
