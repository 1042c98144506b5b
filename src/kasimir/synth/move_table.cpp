// SPDX-License-Identifier: Apache-2.0
// The part of a world that draws: tables of offers, and the moves that close.
#include "kasimir/synth/world.h"

#include <algorithm>

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

void World::add_way(const Offer& offer, double until, MoveTable& table, std::int32_t number) {
  MoveTable::Way way{static_cast<float>(until),
                     number,
                     static_cast<std::int32_t>(pool_.size()),
                     static_cast<std::int32_t>(slots_.size()),
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
  // Of many combinations few are ever drawn: those are remembered by number, and memory that nobody reads is not
  // touched.
  constexpr std::size_t many = 32;
  const std::size_t copies = way.by_choice ? options_.choices.size() : 1;
  const std::size_t all = static_cast<std::size_t>(way.slots) * copies;
  if (all <= many) {
    slots_.resize(slots_.size() + all);
  } else {
    way.first_slot = -1 - wide_ways_++;
  }
  ways_.push_back(way);
  ++table.ways;
}

MoveTable World::table(int primitive, Operands operands, int open, bool closing) {
  const auto find = [&](std::int32_t id) { return tables_[static_cast<std::size_t>(id)]; };
  if (operands[1] == no_id && !closing) {
    const std::size_t first =
        (static_cast<std::size_t>(operands[0]) * catalog_.size() + static_cast<std::size_t>(primitive)) *
        (most_open + 1);
    if (const std::int32_t id = unary_tables_[first + static_cast<std::size_t>(open)]; id != no_id) return find(id);
    bool by_open = false;
    const std::int32_t id = make_table(primitive, operands, open, closing, by_open);
    for (int i = by_open ? open : 0; i <= (by_open ? open : most_open); ++i)
      unary_tables_[first + static_cast<std::size_t>(i)] = id;
    return find(id);
  }
  // Most do not depend on the symbols in use: they stand under `any`, those that do leave a mark there.
  constexpr std::uint64_t any = 0xFF;
  constexpr std::int32_t depends = -2;
  const auto by_count = [&](std::uint64_t count) {
    return key(operands, static_cast<std::uint64_t>(primitive), (count << 1U) | (closing ? 1U : 0U));
  };
  auto found = table_ids_.find(by_count(any));
  if (found != table_ids_.end() && found->second == depends)
    found = table_ids_.find(by_count(static_cast<std::uint64_t>(open)));
  if (found != table_ids_.end()) return find(found->second);
  bool by_open = false;
  const std::int32_t id = make_table(primitive, operands, open, closing, by_open);
  if (by_open) table_ids_.insert_or_assign(by_count(any), depends);
  table_ids_.insert_or_assign(by_count(by_open ? static_cast<std::uint64_t>(open) : any), id);
  return find(id);
}

std::int32_t World::make_table(int primitive, Operands operands, int open, bool closing, bool& by_open) {
  const Primitive& record = *catalog_[static_cast<std::size_t>(primitive)];
  std::vector<const Shape*> shapes;
  for (int i = 0; i < record.operands; ++i) shapes.push_back(&shape(operands[static_cast<std::size_t>(i)]).shape);
  Proposer proposer(std::move(shapes), sites_);
  proposer.weights_may_depend_on_resolution = options_.weights_may_depend_on_resolution;
  proposer.closing = closing;
  for (int i = 0; i < open; ++i) proposer.open_symbols.push_back(free_symbol(i));
  if (open < most_open) proposer.fresh_symbol = free_symbol(open);

  MoveTable table;
  table.first_way = static_cast<std::int32_t>(ways_.size());
  auto offers = record.offers(proposer);
  if (!offers.ok()) {
    table.rule = rule_id(offers.rejection().rule);
  } else {
    double total = 0.0;
    for (const Offer& offer : *offers) total += offer.weight;
    double until = 0.0;
    for (std::size_t i = 0; i < offers->size(); ++i) {
      until += (*offers)[i].weight / total;
      add_way((*offers)[i], until, table, static_cast<std::int32_t>(i));
    }
    if (table.ways == 0) table.rule = rule_id("the operand has an axis that the primitive works on");
    table.offers = static_cast<std::int32_t>(offers_.size());
    offers_.push_back(*std::move(offers));
  }
  by_open = proposer.asked_for_widths();
  tables_.push_back(table);
  return static_cast<std::int32_t>(tables_.size()) - 1;
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
  return {way, option};
}

std::vector<Argument> World::arguments_at(const MoveTable& table, const DrawnMove& drawn) const {
  const Offer& chosen = offer(table, drawn);
  std::vector<Argument> arguments(chosen.options.size(), Word{});
  std::int32_t rest = drawn.option;
  for (std::size_t p = chosen.options.size(); p-- > 0;) {
    const auto count = static_cast<std::int32_t>(chosen.options[p].size());
    arguments[p] = chosen.options[p][static_cast<std::size_t>(rest % count)].value;
    rest /= count;
  }
  return arguments;
}

WrittenMove World::resolve(int primitive, Operands operands, const MoveTable& table, const DrawnMove& drawn,
                           int choice) {
  const std::int32_t number = drawn.option + (drawn.way.by_choice ? choice * drawn.way.slots : 0);
  const auto work_out = [&] {
    const ArgumentsId written = intern(arguments_at(table, drawn));
    return WrittenMove{apply(primitive, operands, written, choice), written};
  };
  if (drawn.way.first_slot < 0) {
    const std::uint64_t slot =
        (static_cast<std::uint64_t>(-drawn.way.first_slot) << 32U) | static_cast<std::uint64_t>(number);
    if (const auto found = wide_slots_.find(slot); found != wide_slots_.end()) return found->second;
    return wide_slots_.emplace(slot, work_out()).first->second;
  }
  const auto slot = static_cast<std::size_t>(drawn.way.first_slot + number);
  if (slots_[slot].move == no_id) {
    const WrittenMove written = work_out();
    slots_[slot] = written;
  }
  return slots_[slot];
}

void World::close(const MoveTable& table, int primitive, Operands operands, int choice, int before, Closers& closers,
                  std::vector<double>& weights) {
  for (std::int32_t w = table.first_way; w < table.first_way + table.ways; ++w) {
    const MoveTable::Way way = ways_[static_cast<std::size_t>(w)];
    if (way.substitutes) continue;
    for (std::int32_t option = 0; option < way.slots; ++option) {
      const WrittenMove written = resolve(primitive, operands, table, {way, option}, choice);
      const Move one = move(written.move);
      if (!one.legal()) continue;
      const ShapeFacts& after = shape(one.result);
      // A step from the output's shape to itself ends a kernel too: it may be what its lower bounds still lack.
      const bool surer = operands[1] == no_id && after.sure_steps < shape(operands[0]).sure_steps;
      if (after.least_steps >= before && !surer && !(before == 0 && after.output)) continue;
      closers.moves.push_back(written);
      weights.push_back(catalog_[static_cast<std::size_t>(primitive)]->closing_weight / static_cast<double>(way.slots));
    }
  }
}

const Closers& World::closers(Operands operands, int choice) {
  // Most do not depend on the choice symbols: they stand under the choice `any`, those that do leave a mark there.
  constexpr std::uint64_t any = 0xFFFF;
  constexpr std::int32_t depends = -2;
  auto found = closer_ids_.find(key(operands, 0, any));
  if (found != closer_ids_.end() && found->second == depends)
    found = closer_ids_.find(key(operands, 0, static_cast<std::uint64_t>(choice)));
  if (found != closer_ids_.end()) return closers_[static_cast<std::size_t>(found->second)];
  bool by_choice = false;
  const bool unary = operands[1] == no_id;
  const int before = shape(operands[0]).least_steps + (unary ? 0 : shape(operands[1]).least_steps + 1);
  Closers closers;
  std::vector<double> weights;
  for (std::size_t p = 0; p < catalog_.size(); ++p) {
    const bool closes = options_.weights[p] > 0.0 && catalog_[p]->closing_weight > 0.0;
    if (!closes || catalog_[p]->operands != (unary ? 1 : 2)) continue;
    const MoveTable closing = table(static_cast<int>(p), operands, 0, true);
    for (std::int32_t w = closing.first_way; w < closing.first_way + closing.ways; ++w)
      by_choice = by_choice || ways_[static_cast<std::size_t>(w)].by_choice;
    close(closing, static_cast<int>(p), operands, choice, before, closers, weights);
  }
  double total = 0.0;
  for (const double weight : weights) total += weight;
  double upto = 0.0;
  for (const double weight : weights) closers.until.push_back(static_cast<float>((upto += weight) / total));
  const auto n = static_cast<std::size_t>(2 * lanes_);
  closers.bounds.assign(2 * n, 0.0F);
  for (std::size_t k = 0; k < closers.moves.size(); ++k) {
    const float* bounds = move(closers.moves[k].move).bounds;
    for (std::size_t i = 0; i < n; ++i) {
      closers.bounds[i] = k == 0 ? bounds[i] : std::min(closers.bounds[i], bounds[i]);
      closers.bounds[n + i] = std::max(closers.bounds[n + i], bounds[n + i]);
    }
  }
  closers_.push_back(std::move(closers));
  if (by_choice) closer_ids_.insert_or_assign(key(operands, 0, any), depends);
  closer_ids_.insert_or_assign(key(operands, 0, by_choice ? static_cast<std::uint64_t>(choice) : any),
                               static_cast<std::int32_t>(closers_.size()) - 1);
  return closers_.back();
}

}  // namespace kasimir
