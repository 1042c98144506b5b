// SPDX-License-Identifier: Apache-2.0
// The part of a world that draws: tables of offers, and the moves that close.
#include "kasimir/synth/world.h"

#include <algorithm>
#include <bit>

namespace kasimir {
namespace {

bool has_choice(const Argument& argument) {
  bool found = false;
  for_each_size(argument, [&](const Size& size) {
    found = found || std::ranges::any_of(choice_symbols, [&](Symbol symbol) { return size.has(symbol); });
  });
  return found;
}

}  // namespace

bool World::ever_offers(std::size_t primitive) {
  const Size s(Symbol::s);
  // One shape with everything, and one without windows and groups, which some primitives refuse to add twice.
  const Shape plain{{AxisKind::channel, Size(Symbol::Co)},
                    {AxisKind::height, s * Size(Symbol::H)},
                    {AxisKind::width, s * Size(Symbol::W)}};
  Shape all = plain;
  all.insert(all.begin(), {AxisKind::group, Size(Symbol::g)});
  for (AxisKind kind : {AxisKind::window_h, AxisKind::window_w}) all.push_back({kind, Size(3)});
  all.push_back({AxisKind::token, Size(Symbol::Co)});
  return std::ranges::any_of(std::array{plain, all}, [&](const Shape& shape) {
    Proposer proposer({&shape, &shape}, sites_);
    return catalog_[primitive]->offers(proposer).ok();
  });
}

namespace {

constexpr std::int16_t unknown = -1;   // MoveTable::ways of a table that was not asked for yet
constexpr std::int16_t by_count = -2;  // of one that depends on the symbols in use: they are in by_open_

std::uint64_t hash_of(const std::vector<Offer>& offers) {
  std::uint64_t hash = offers.size();
  const auto add = [&](std::uint64_t value) { hash = mix_bits(hash ^ value); };
  for (const Offer& offer : offers) {
    add(std::bit_cast<std::uint64_t>(offer.weight));
    for (const auto& options : offer.options) {
      add(options.size());
      for (const Option& option : options) {
        add(hash_of(option.value));
        add(std::bit_cast<std::uint64_t>(option.weight));
      }
    }
    for (const Substitution& by : offer.substitutions) add(by.value.hash() ^ static_cast<std::uint64_t>(by.symbol));
  }
  return hash;
}

bool same(const std::vector<Offer>& a, const std::vector<Offer>& b) {
  const auto same_option = [](const Option& x, const Option& y) { return x.weight == y.weight && x.value == y.value; };
  return std::ranges::equal(a, b, [&](const Offer& x, const Offer& y) {
    return x.weight == y.weight && x.substitutions == y.substitutions &&
           std::ranges::equal(x.options, y.options, [&](const auto& of_x, const auto& of_y) {
             return std::ranges::equal(of_x, of_y, same_option);
           });
  });
}

}  // namespace

void World::add_way(const Offer& offer, double until, std::int32_t number, std::int32_t& slots) {
  MoveTable::Way way{static_cast<float>(until),
                     number,
                     static_cast<std::int32_t>(pool_.size()),
                     slots,
                     1,
                     static_cast<std::int16_t>(offer.options.size()),
                     false,
                     !offer.substitutions.empty()};
  for (const auto& options : offer.options) {
    way.slots *= static_cast<std::int32_t>(options.size());
    for (const Option& option : options) way.by_choice = way.by_choice || has_choice(option.value);
  }
  if (way.slots == 0) return;
  for (const auto& options : offer.options) {
    pool_.push_back(static_cast<float>(options.size()));
    double total = 0.0;
    for (const Option& option : options) total += option.weight;
    double upto = 0.0;
    for (const Option& option : options) pool_.push_back(static_cast<float>((upto += option.weight) / total));
  }
  slots += way.slots * (way.by_choice ? static_cast<std::int32_t>(options_.choices.size()) : 1);
  ways_.push_back(way);
}

/// Equal offers are one.
std::int32_t World::intern(std::vector<Offer> offers) {
  std::uint64_t hash = hash_of(offers);
  for (auto found = drawing_ids_.find(hash); found != drawing_ids_.end(); found = drawing_ids_.find(++hash))
    if (same(drawings_[static_cast<std::size_t>(found->second)].offers, offers)) return found->second;
  const auto id = static_cast<std::int32_t>(drawings_.size());
  drawing_ids_.emplace(hash, id);
  Drawing& drawing = drawings_.emplace_back();
  drawing.first_way = static_cast<std::int32_t>(ways_.size());
  double total = 0.0;
  for (const Offer& offer : offers) total += offer.weight;
  double until = 0.0;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    until += offers[i].weight / total;
    add_way(offers[i], until, static_cast<std::int32_t>(i), drawing.slots);
  }
  drawing.ways = static_cast<std::int16_t>(static_cast<std::int32_t>(ways_.size()) - drawing.first_way);
  drawing.arguments.assign(static_cast<std::size_t>(drawing.slots), no_id);
  drawing.offers = std::move(offers);
  return id;
}

MoveTable World::table(int primitive, Operands operands, int open) {
  const std::size_t place =
      static_cast<std::size_t>(operands[0]) * catalog_.size() + static_cast<std::size_t>(primitive);
  MoveTable table;
  if (operands[1] == no_id) {
    table = unary_tables_[place];
    if (table.ways == unknown) {
      make_tables(primitive, operands, open, table);
      unary_tables_[place] = table;
    }
  } else {
    const auto [found, is_new] = binary_tables_.try_emplace(key(operands, static_cast<std::uint64_t>(primitive), 0));
    if (is_new) make_tables(primitive, operands, open, found.value());
    table = found->second;
  }
  if (table.ways != by_count) return table;
  MoveTable& counted = by_open_[static_cast<std::size_t>(table.first_way)][static_cast<std::size_t>(open)];
  bool by_open = false;
  if (counted.ways == unknown) counted = make_table(primitive, operands, open, by_open);
  return counted;
}

/// A table, or a mark that there is one for each number of symbols in use.
void World::make_tables(int primitive, Operands operands, int open, MoveTable& table) {
  bool by_open = false;
  table = make_table(primitive, operands, open, by_open);
  if (!by_open) return;
  by_open_.emplace_back()[static_cast<std::size_t>(open)] = table;
  table = MoveTable{};
  table.ways = by_count;
  table.first_way = static_cast<std::int32_t>(by_open_.size()) - 1;
}

Proposer World::proposer(int primitive, Operands operands, int open, bool closing) const {
  std::vector<const Shape*> shapes;
  for (int i = 0; i < catalog_[static_cast<std::size_t>(primitive)]->operands; ++i)
    shapes.push_back(&shape(operands[static_cast<std::size_t>(i)]).shape);
  Proposer proposer(std::move(shapes), sites_);
  proposer.weights_may_depend_on_resolution = options_.weights_may_depend_on_resolution;
  proposer.closing = closing;
  for (int i = 0; i < open; ++i) proposer.open_symbols.push_back(free_symbol(i));
  if (open < most_open) proposer.fresh_symbol = free_symbol(open);
  return proposer;
}

MoveTable World::make_table(int primitive, Operands operands, int open, bool& by_open) {
  const Proposer asking = proposer(primitive, operands, open, false);
  auto offers = catalog_[static_cast<std::size_t>(primitive)]->offers(asking);
  by_open = asking.asked_for_widths();
  MoveTable table;
  table.ways = 0;
  if (!offers.ok()) {
    table.rule = static_cast<std::int16_t>(rule_id(offers.rejection().rule));
    return table;
  }
  table.offers = intern(*std::move(offers));
  const Drawing& drawing = drawings_[static_cast<std::size_t>(table.offers)];
  table.first_way = drawing.first_way;
  table.ways = drawing.ways;
  if (table.ways == 0)
    table.rule = static_cast<std::int16_t>(rule_id("the operand has an axis that the primitive works on"));
  // Of many combinations few are ever drawn: those are remembered by number, and memory that nobody reads is not
  // touched.
  constexpr std::int32_t many = 32;
  if (drawing.slots <= many) {
    table.first_slot = static_cast<std::int32_t>(slots_.size());
    slots_.resize(slots_.size() + static_cast<std::size_t>(drawing.slots));
  } else {
    table.first_slot = -1 - wide_tables_++;
  }
  return table;
}

DrawnMove World::draw(const MoveTable& table, Rng& rng) const {
  auto chosen = static_cast<std::size_t>(table.first_way);
  if (table.ways > 1) {
    const auto at = static_cast<float>(rng.unit());
    for (std::int32_t i = 1; i < table.ways && ways_[chosen].until <= at; ++i) ++chosen;
  }
  const MoveTable::Way& way = ways_[chosen];
  std::int32_t option = 0;
  const float* parameter = pool_.data() + way.pool;
  for (int p = 0; p < way.parameters; ++p) {
    const auto count = static_cast<std::int32_t>(*parameter++);
    std::int32_t i = 0;
    if (count > 1) {
      const auto at = static_cast<float>(rng.unit());
      while (i + 1 < count && parameter[i] <= at) ++i;
    }
    option = option * count + i;
    parameter += count;
  }
  return {static_cast<std::int32_t>(chosen), option};
}

ArgumentsId World::arguments_at(const MoveTable& table, const DrawnMove& drawn) {
  Drawing& drawing = drawings_[static_cast<std::size_t>(table.offers)];
  ArgumentsId& known = drawing.arguments[static_cast<std::size_t>(way(drawn).first_slot + drawn.option)];
  if (known != no_id) return known;
  const Offer& chosen = offer(table, drawn);
  std::vector<Argument> arguments(chosen.options.size(), Word{});
  std::int32_t rest = drawn.option;
  for (std::size_t p = chosen.options.size(); p-- > 0;) {
    const auto count = static_cast<std::int32_t>(chosen.options[p].size());
    arguments[p] = chosen.options[p][static_cast<std::size_t>(rest % count)].value;
    rest /= count;
  }
  return known = intern(arguments);
}

WrittenMove World::resolve(int primitive, Operands operands, const MoveTable& table, const DrawnMove& drawn,
                           int choice) {
  const WrittenMove written = sketch(primitive, operands, table, drawn, choice);
  whole_move(written.move);
  return written;
}

WrittenMove World::sketch(int primitive, Operands operands, const MoveTable& table, const DrawnMove& drawn,
                          int choice) {
  const MoveTable::Way& chosen = way(drawn);
  const std::int32_t number = chosen.first_slot + drawn.option + (chosen.by_choice ? choice * chosen.slots : 0);
  const auto work_out = [&] {
    const ArgumentsId written = arguments_at(table, drawn);
    return WrittenMove{sketch(primitive, operands, written, choice), written};
  };
  if (table.first_slot < 0) {
    const std::uint64_t slot =
        (static_cast<std::uint64_t>(-table.first_slot) << 32U) | static_cast<std::uint64_t>(number);
    if (const auto found = wide_slots_.find(slot); found != wide_slots_.end()) return found->second;
    return wide_slots_.emplace(slot, work_out()).first->second;
  }
  const auto slot = static_cast<std::size_t>(table.first_slot + number);
  if (slots_[slot].move == no_id) {
    const WrittenMove written = work_out();
    slots_[slot] = written;
  }
  return slots_[slot];
}

/// Whether the result, if the shapes allow it, is nearer to the output than the operands are, `before` steps from it.
/// The application is not remembered for having been asked about.
World::Lead World::lead(int primitive, Operands operands, const std::vector<Argument>& written, int choice,
                        int before) const {
  auto result = std::ranges::any_of(written, has_choice)
                    ? shape_after(primitive, operands, in_numbers(written, choice))
                    : shape_after(primitive, operands, written);
  if (!result.ok()) return Lead::nowhere;
  const ShapeFacts after = facts_of(*std::move(result));
  // A step from the output's shape to itself ends a kernel too: it may be what its lower bounds still lack.
  const bool surer = operands[1] == no_id && after.sure_steps < shape(operands[0]).sure_steps;
  if (after.output && (before == 0 || after.least_steps < before)) return Lead::there;
  return after.least_steps < before || surer ? Lead::nearer : Lead::nowhere;
}

/// The closing moves of one primitive; without `weights` only whether some of them end. Whether they depend on the
/// choice symbols.
bool World::close(int primitive, Operands operands, int choice, int before, Closers& closers,
                  std::vector<double>* weights) {
  const Primitive& record = *catalog_[static_cast<std::size_t>(primitive)];
  auto offers = record.offers(proposer(primitive, operands, 0, true));
  if (!offers.ok()) return false;
  bool by_choice = false;
  const bool unary = operands[1] == no_id;
  for (Offer& offer : *offers) {
    if (!offer.substitutions.empty()) {
      if (weights != nullptr) closers.matches.push_back({primitive, std::move(offer)});
      continue;
    }
    for (const auto& options : offer.options)
      by_choice = by_choice || std::ranges::any_of(options, has_choice, &Option::value);
    std::size_t combinations = 1;
    for (const auto& options : offer.options) combinations *= options.size();
    std::vector<Argument> arguments(offer.options.size(), Word{});
    Lead leads = Lead::nowhere;
    for (std::size_t k = 0; k < combinations; ++k) {
      std::size_t rest = k;
      bool new_shape = k == 0;
      for (std::size_t p = offer.options.size(); p-- > 0; rest /= offer.options[p].size()) {
        const Argument& value = offer.options[p][rest % offer.options[p].size()].value;
        new_shape = new_shape || (record.params[p].shapes && value != arguments[p]);
        arguments[p] = value;
      }
      if (new_shape) leads = lead(primitive, operands, arguments, choice, before);
      if (leads == Lead::nowhere) continue;
      if (weights == nullptr) {
        closers.ends = closers.ends || leads == Lead::there;
        continue;
      }
      const ArgumentsId written = intern(arguments);
      const MoveId id = sketch(primitive, operands, written, choice);
      if (unary && !whole_move(id).legal()) continue;
      closers.moves.push_back({id, written});
      closers.ends = closers.ends || leads == Lead::there;
      weights->push_back(record.closing_weight / static_cast<double>(combinations));
    }
  }
  return by_choice;
}

void World::bound(Closers& closers) {
  const std::size_t n = no_bounds_.size() / 2;
  closers.bounds = no_bounds_;
  for (std::size_t k = 0; k < closers.moves.size(); ++k) {
    const float* bounds = move(closers.moves[k].move).bounds;
    for (std::size_t i = 0; i < n; ++i) {
      closers.bounds[i] = k == 0 ? bounds[i] : std::min(closers.bounds[i], bounds[i]);
      closers.bounds[n + i] = std::max(closers.bounds[n + i], bounds[n + i]);
    }
  }
}

/// Those of all primitives, as close() of one.
bool World::close(Operands operands, int choice, Closers& closers, std::vector<double>* weights) {
  const bool unary = operands[1] == no_id;
  const int before = shape(operands[0]).least_steps + (unary ? 0 : shape(operands[1]).least_steps + 1);
  bool by_choice = false;
  for (std::size_t p = 0; p < catalog_.size(); ++p) {
    const bool closes = options_.weights[p] > 0.0 && catalog_[p]->closing_weight > 0.0;
    if (!closes || catalog_[p]->operands != (unary ? 1 : 2)) continue;
    if (close(static_cast<int>(p), operands, choice, before, closers, weights)) by_choice = true;
  }
  return by_choice;
}

std::int32_t World::make_closers(Operands operands, int choice, bool& by_choice) {
  const bool unary = operands[1] == no_id;
  Closers closers;
  std::vector<double> weights;
  by_choice = close(operands, choice, closers, &weights);
  double total = 0.0;
  for (const double weight : weights) total += weight;
  double upto = 0.0;
  for (const double weight : weights) closers.until.push_back(static_cast<float>((upto += weight) / total));
  if (unary) bound(closers);
  if (closers.moves.empty() && closers.matches.empty() && !unary) return no_closers;
  closers_.push_back(std::move(closers));
  return static_cast<std::int32_t>(closers_.size()) - 1;
}

const Closers& World::closers(Operands operands, int choice) {
  // Most do not depend on the choice symbols: they stand under the choice `any`, those that do leave a mark there.
  constexpr std::uint64_t any = 0xFFFF;
  constexpr std::int32_t depends = -2;
  const bool unary = operands[1] == no_id;
  const auto shape = static_cast<std::size_t>(operands[0]);
  if (unary && unary_closers_[shape] >= 0) return closers_[static_cast<std::size_t>(unary_closers_[shape])];
  if (!unary || unary_closers_[shape] == depends) {
    auto found = closer_ids_.find(key(operands, 0, any));
    if (found != closer_ids_.end() && found->second == depends)
      found = closer_ids_.find(key(operands, 0, static_cast<std::uint64_t>(choice)));
    if (found != closer_ids_.end()) return closers_[static_cast<std::size_t>(found->second)];
  }
  bool by_choice = false;
  const std::int32_t id = make_closers(operands, choice, by_choice);
  if (unary) unary_closers_[shape] = by_choice ? depends : id;
  if (by_choice) closer_ids_.insert_or_assign(key(operands, 0, any), depends);
  if (by_choice || !unary)
    closer_ids_.insert_or_assign(key(operands, 0, by_choice ? static_cast<std::uint64_t>(choice) : any), id);
  return closers_[static_cast<std::size_t>(id)];
}

bool World::may_end(Operands operands, int choice) {
  if (operands[1] == no_id) return closers(operands, choice).ends;
  // Most do not depend on the choice symbols: they stand under the choice `any`, those that do leave a mark there.
  constexpr int any = -1;
  constexpr std::uint8_t depends = 2;
  const auto name = [&](int of) {
    return static_cast<std::uint64_t>(operands[0]) << 37U | static_cast<std::uint64_t>(operands[1]) << 10U |
           static_cast<std::uint64_t>(of + 1);
  };
  const auto answer = [&](int of) {
    const std::uint64_t key = name(of);
    std::uint64_t& asked = asked_ends_[mix_bits(key) % most_asked];
    if (asked >> 2U == key) return static_cast<std::uint8_t>(asked & 3U);
    const auto [found, is_new] = ends_.try_emplace(key, std::uint8_t{0});
    if (is_new) {
      Closers closers;
      const bool by_choice = close(operands, choice, closers, nullptr);
      found.value() = of == any && by_choice ? depends : closers.ends ? 1 : 0;
    }
    asked = key << 2U | found->second;
    return found->second;
  };
  const std::uint8_t always = answer(any);
  return (always == depends ? answer(choice) : always) == 1;
}

}  // namespace kasimir
