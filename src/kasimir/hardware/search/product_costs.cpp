// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/product_costs.h"

#include "kasimir/hardware/search/pareto.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kasimir {

/// One choice of a group, laid out for the factors.
struct ProductCosts::Choice {
  std::uint32_t dims = 0;                                             // of the group
  std::vector<std::array<double, max_dims>> bounds;                   // [slot][dimension], 1 outside the group
  std::array<std::array<double, max_dims>, max_levels + 1> tile;      // extents of the loops of a level and inside
  std::array<std::array<double, max_dims>, max_levels> spatial_tile;  // the same without the level's own time
  std::array<double, max_levels + 1> instances;                       // spatial loops outside of a level
  std::array<double, max_levels + 1> sums;  // those of them that the output does not depend on
};

namespace {

bool has(std::uint32_t mask, int dim) { return (mask >> static_cast<unsigned>(dim) & 1U) != 0; }

/// Whether a dimension of the group moves along the axis; those of size 1 are in no group.
bool along(const FlatOperand& operand, const FlatRank& rank, std::uint32_t dims) {
  const auto first = operand.terms.begin() + rank.first;
  return std::any_of(first, first + rank.terms, [&](const FlatTerm& term) { return has(dims, term.dim); });
}

/// Of the axes of the group's dimensions.
double group_footprint(const FlatOperand& operand, std::uint32_t dims, const Extents<double>& e, FootprintRule rule) {
  double product = 1;
  for (std::size_t k = 0; k < static_cast<std::size_t>(operand.plain_count); ++k)
    if (has(dims, operand.plain[k])) product *= e[static_cast<std::size_t>(operand.plain[k])];
  for (std::size_t r = 0; r < static_cast<std::size_t>(operand.rank_count); ++r) {
    if (along(operand, operand.ranks[r], dims)) product *= rank_footprint(operand, operand.ranks[r], e, rule);
  }
  return product;
}

/// The same of the box that is left when a dimension goes on by `stride`.
double group_kept(const FlatOperand& operand, std::uint32_t dims, const Extents<double>& e, int dim, double stride) {
  FlatOperand part = operand;
  part.plain_count = 0;
  part.rank_count = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(operand.plain_count); ++k)
    if (has(dims, operand.plain[k])) part.plain[static_cast<std::size_t>(part.plain_count++)] = operand.plain[k];
  for (std::size_t r = 0; r < static_cast<std::size_t>(operand.rank_count); ++r)
    if (along(operand, operand.ranks[r], dims))
      part.ranks[static_cast<std::size_t>(part.rank_count++)] = operand.ranks[r];
  return kept_by_box(part, e, dim, stride);
}

}  // namespace

std::vector<Walk> ProductCosts::walks_of(const OrderClass& orders) const {
  std::vector<Walk> walks(components_.size());
  for (std::size_t c = 0; c < components_.size(); ++c)
    if (components_[c].walks())
      walks[c] = walk(model_, orders, components_[c].operand, components_[c].level,
                      components_[c].factor == Factor::visits && model_.options.halo != HaloRule::none);
  return walks;
}

std::vector<double> ProductCosts::log_components(const Mapping& mapping) const {
  const std::vector<Walk> walks = walks_of(order_class_of(model_, mapping));
  std::vector<double> logs(components_.size(), 0);
  Choice choice;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    decode(g, choice_of(g, mapping), choice);
    for (std::size_t c = 0; c < components_.size(); ++c) logs[c] += std::log(factor(components_[c], choice, walks[c]));
  }
  return logs;
}

const FactorTable& ProductCosts::table(std::size_t group, const OrderClass& orders, bool pareto) {
  const std::vector<Walk> walks = walks_of(orders);
  Key wanted = key(group, orders, walks);
  wanted.push_back(pareto ? 1 : 0);
  std::unique_ptr<FactorTable>& known = known_[wanted];
  if (known != nullptr) return *known;
  known = std::make_unique<FactorTable>(tabulate(group, orders, walks, rows_of(group).numbers));
  if (pareto) keep_pareto_rows(*known, components_.size());
  return *known;
}

/// All that a table of the group depends on.
ProductCosts::Key ProductCosts::key(std::size_t group, const OrderClass& orders, const std::vector<Walk>& walks) const {
  const std::uint32_t dims = group_dims(group);
  Key key{static_cast<std::uint32_t>(group)};
  for (const LevelOrder& order : orders) key.push_back(order.active() & dims);
  for (std::size_t c = 0; c < components_.size(); ++c) add_walk(components_[c], walks[c], dims, key);
  return key;
}

/// What the component's factors for a group of these dimensions depend on, of the order of loops.
void ProductCosts::add_walk(const Component& component, const Walk& walk, std::uint32_t dims, Key& key) {
  if (!component.walks()) return;
  for (std::size_t l = 0; l < static_cast<std::size_t>(component.level); ++l) key.push_back(walk.counted[l] & dims);
  const bool slides = walk.slides >= 0 && has(dims, walk.slides);
  key.push_back(slides ? static_cast<std::uint32_t>(walk.slides) : max_dims);
  key.push_back(slides ? walk.slide_levels : 0U);
  key.push_back(walk.may_slide ? 1U : 0U);
}

std::uint32_t ProductCosts::group_dims(std::size_t group) const {
  std::uint32_t dims = 0;
  for (const int d : groups_[group]) dims |= 1U << static_cast<unsigned>(d);
  return dims;
}

FactorTable ProductCosts::select(std::size_t group, const OrderClass& orders,
                                 const std::vector<std::uint32_t>& choices) {
  return tabulate(group, orders, walks_of(orders), choices);
}

FactorTable ProductCosts::tabulate(std::size_t group, const OrderClass& orders, const std::vector<Walk>& walks,
                                   const std::vector<std::uint32_t>& choices) {
  const GroupRows& all = rows_of(group);
  const auto levels = static_cast<std::size_t>(model_.levels);
  std::vector<std::uint32_t> active;
  for (const LevelOrder& order : orders) active.push_back(order.active());
  std::vector<std::size_t> kept;
  FactorTable table;
  std::size_t i = 0;
  for (const std::uint32_t number : choices) {
    while (all.numbers[i] != number) ++i;
    bool allowed = true;
    for (std::size_t l = 0; l < levels && allowed; ++l) allowed = (all.loops[i * levels + l] & ~active[l]) == 0;
    if (!allowed) continue;
    kept.push_back(i);
    table.choice.push_back(number);
  }
  table.rows = kept.size();
  table.columns.resize(components_.size() * kept.size());
  table.logs.resize(components_.size() * kept.size());
  for (std::size_t c = 0; c < components_.size(); ++c) {
    const GroupRows::Column& column = this->column(group, c, walks[c]);
    double* const values = table.columns.data() + c * kept.size();
    double* const logs = table.logs.data() + c * kept.size();
    for (std::size_t k = 0; k < kept.size(); ++k) {
      values[k] = column.values[kept[k]];
      logs[k] = column.logs[kept[k]];
    }
  }
  table.find_ranges(components_.size());
  return table;
}

/// Finds the choices that fit by themselves, whatever the order of their loops is.
const ProductCosts::GroupRows& ProductCosts::rows_of(std::size_t group) {
  GroupRows& all = rows_[group];
  if (all.known) return all;
  all.known = true;
  std::size_t choices = 1;
  for (const int d : groups_[group]) choices *= space_.factors(d).size();
  Choice choice;
  std::vector<double> row(components_.size(), 0);
  const auto levels = static_cast<std::size_t>(model_.levels);
  std::map<std::vector<double>, std::uint32_t> places;
  for (std::uint32_t number = 0; number < choices; ++number) {
    decode(group, number, choice);
    for (std::size_t c = 0; c < components_.size(); ++c)
      if (components_[c].factor == Factor::footprint || components_[c].factor == Factor::fan)
        row[c] = factor(components_[c], choice, {});
    if (!fits_alone(row)) continue;
    all.numbers.push_back(number);
    const std::size_t at = all.loops.size();
    all.loops.resize(at + levels, 0);
    std::vector<double> place;
    for (std::size_t s = 0; s < space_.slots().size(); ++s)
      for (const int d : groups_[group]) {
        const double bound = choice.bounds[s][static_cast<std::size_t>(d)];
        if (space_.slots()[s].kind != LoopKind::temporal)
          place.push_back(bound);
        else if (bound > 1)
          all.loops[at + static_cast<std::size_t>(space_.slots()[s].level)] |= 1U << static_cast<unsigned>(d);
      }
    all.places.push_back(places.try_emplace(place, static_cast<std::uint32_t>(places.size())).first->second);
  }
  return all;
}

std::uint32_t ProductCosts::place_of(std::size_t group, std::uint32_t choice) {
  const GroupRows& all = rows_of(group);
  const auto found = std::lower_bound(all.numbers.begin(), all.numbers.end(), choice);
  return all.places[static_cast<std::size_t>(found - all.numbers.begin())];
}

/// A component of all choices of `rows_of`, kept for all classes of orders that give it the same walk.
const ProductCosts::GroupRows::Column& ProductCosts::column(std::size_t group, std::size_t component,
                                                            const Walk& walk) {
  const Component& asked = components_[component];
  Key key{static_cast<std::uint32_t>(component)};
  add_walk(asked, walk, group_dims(group), key);
  const GroupRows& all = rows_of(group);
  GroupRows::Column& made = rows_[group].columns[key];
  if (!made.values.empty() || all.numbers.empty()) return made;
  made.values.reserve(all.numbers.size());
  made.logs.reserve(all.numbers.size());
  Choice choice;
  for (const std::uint32_t number : all.numbers) {
    decode(group, number, choice);
    made.values.push_back(factor(asked, choice, walk));
    made.logs.push_back(std::log(std::max(made.values.back(), 1e-300)));
  }
  return made;
}

void FactorTable::find_ranges(std::size_t components) {
  least.assign(components, 0);
  log_low.assign(components, 0);
  log_high.assign(components, 0);
  for (std::size_t c = 0; rows > 0 && c < components; ++c) {
    double value = column(c)[0];
    double low = log_column(c)[0];
    double high = low;
    for (std::size_t r = 1; r < rows; ++r) {
      value = std::min(value, column(c)[r]);
      low = std::min(low, log_column(c)[r]);
      high = std::max(high, log_column(c)[r]);
    }
    least[c] = value;
    log_low[c] = low;
    log_high[c] = high;
  }
}

void FactorTable::keep(const std::vector<std::size_t>& kept, std::size_t components) {
  FactorTable smaller;
  smaller.rows = kept.size();
  smaller.choice.reserve(kept.size());
  smaller.columns.reserve(components * kept.size());
  smaller.logs.reserve(components * kept.size());
  for (const std::size_t r : kept) smaller.choice.push_back(choice[r]);
  for (std::size_t c = 0; c < components; ++c)
    for (const std::size_t r : kept) {
      smaller.columns.push_back(column(c)[r]);
      smaller.logs.push_back(log_column(c)[r]);
    }
  smaller.find_ranges(components);
  *this = std::move(smaller);
}

/// Lays the choice out.
void ProductCosts::decode(std::size_t group, std::uint32_t number, Choice& choice) const {
  const std::vector<LoopSlot>& slots = space_.slots();
  choice.dims = 0;
  choice.bounds.resize(slots.size());
  for (auto& bounds : choice.bounds) bounds.fill(1);
  for (const int d : groups_[group]) {
    const std::vector<FactorVector>& list = space_.factors(d);
    const FactorVector& factors = list[number % list.size()];
    number /= static_cast<std::uint32_t>(list.size());
    choice.dims |= 1U << static_cast<unsigned>(d);
    for (std::size_t s = 0; s < slots.size(); ++s)
      choice.bounds[s][static_cast<std::size_t>(d)] = static_cast<double>(factors[s]);
  }
  choice.tile[static_cast<std::size_t>(model_.levels)].fill(1);
  std::size_t s = slots.size();
  for (auto l = static_cast<std::size_t>(model_.levels); l-- > 0;) {
    choice.tile[l] = choice.tile[l + 1];
    for (; s > 0 && slots[s - 1].level == static_cast<int>(l); --s) {
      if (slots[s - 1].kind == LoopKind::temporal) choice.spatial_tile[l] = choice.tile[l];
      for (const int d : groups_[group])
        choice.tile[l][static_cast<std::size_t>(d)] *= choice.bounds[s - 1][static_cast<std::size_t>(d)];
    }
  }
  choice.instances[0] = choice.sums[0] = 1;
  s = 0;
  for (std::size_t l = 0; l < static_cast<std::size_t>(model_.levels); ++l) {
    choice.instances[l + 1] = choice.instances[l];
    choice.sums[l + 1] = choice.sums[l];
    for (; s < slots.size() && slots[s].level == static_cast<int>(l); ++s)
      for (const int d : groups_[group]) {
        if (slots[s].kind == LoopKind::temporal) continue;
        choice.instances[l + 1] *= choice.bounds[s][static_cast<std::size_t>(d)];
        if (!has(model_.operand[0].relevant, d)) choice.sums[l + 1] *= choice.bounds[s][static_cast<std::size_t>(d)];
      }
  }
}

double ProductCosts::factor(const Component& component, const Choice& choice, const Walk& walk) const {
  const auto level = static_cast<std::size_t>(component.level);
  double value = 1;
  switch (component.factor) {
    case Factor::steps:
      for (std::size_t s = 0; s < space_.slots().size(); ++s)
        for (int d = 0; space_.slots()[s].kind == LoopKind::temporal && d < model_.dims; ++d)
          if (has(choice.dims, d)) value *= choice.bounds[s][static_cast<std::size_t>(d)];
      break;
    case Factor::visits:
    case Factor::changes:
      value = visits(component, choice, walk);
      break;
    case Factor::footprint:
      return group_footprint(model_.operand[static_cast<std::size_t>(component.operand)], choice.dims,
                             choice.tile[level], model_.options.footprint);
    case Factor::distinct:
      value = distinct(choice, 0, component.level);
      break;
    case Factor::split:
      return choice.sums[level];
    case Factor::fan:
      for (std::size_t s = 0; s < space_.slots().size(); ++s)
        for (int d = 0; d < model_.dims; ++d)
          if (space_.slots()[s].level == component.level && has(choice.dims, d) &&
              space_.slots()[s].kind == (component.axis == 0 ? LoopKind::spatial_x : LoopKind::spatial_y))
            value *= choice.bounds[s][static_cast<std::size_t>(d)];
      return value;
  }
  value *= spread(component, choice) * choice.instances[static_cast<std::size_t>(component.instances)];
  if (component.per_result >= 0) value /= distinct(choice, 0, component.per_result);
  return value;
}

/// Children that ask for elements of their own, as Counter::spread and Counter::overlap have it.
double ProductCosts::spread(const Component& component, const Choice& choice) const {
  const auto t = static_cast<std::size_t>(component.operand);
  const FlatOperand& operand = model_.operand[t];
  double product = 1;
  for (auto l = static_cast<std::size_t>(component.spread_from); l < static_cast<std::size_t>(component.spread_to);
       ++l) {
    const FlatLevel& level = model_.level[l];
    const bool overlapping = level.share_overlaps && t > 0 && operand.sliding != 0;
    for (std::size_t s = 0; s < space_.slots().size(); ++s) {
      const LoopSlot& slot = space_.slots()[s];
      if (slot.level != static_cast<int>(l) || slot.kind == LoopKind::temporal) continue;
      const std::size_t axis = slot.kind == LoopKind::spatial_x ? 0 : 1;
      const bool once = t == 0 ? level.reduction[axis] : level.multicast[axis];
      for (int d = 0; d < model_.dims; ++d)
        if (has(choice.dims, d) && (has(operand.relevant, d) ? !overlapping : !once))
          product *= choice.bounds[s][static_cast<std::size_t>(d)];
    }
    if (overlapping)
      product *= group_footprint(operand, choice.dims, choice.spatial_tile[l], model_.options.footprint) /
                 group_footprint(operand, choice.dims, choice.tile[l + 1], model_.options.footprint);
  }
  return product;
}

/// The tile at a level times the temporal loops outside that the output depends on.
double ProductCosts::distinct(const Choice& choice, std::size_t operand, int level) const {
  const FlatOperand& flat = model_.operand[operand];
  double value =
      group_footprint(flat, choice.dims, choice.tile[static_cast<std::size_t>(level)], model_.options.footprint);
  for (std::size_t s = 0; s < space_.slots().size() && space_.slots()[s].level < level; ++s)
    for (int d = 0; space_.slots()[s].kind == LoopKind::temporal && d < model_.dims; ++d)
      if (has(choice.dims & flat.relevant, d)) value *= choice.bounds[s][static_cast<std::size_t>(d)];
  return value;
}

/// Of all ways to slide one dimension, or none: its passes fetch at least the union of their tiles.
double ProductCosts::least_visits(const Component& component, const Choice& choice, const Walk& walk) const {
  const FlatOperand& operand = model_.operand[static_cast<std::size_t>(component.operand)];
  const auto& extents = choice.tile[static_cast<std::size_t>(component.level)];
  const FootprintRule rule = model_.options.footprint;
  const double tile = group_footprint(operand, choice.dims, extents, rule);
  std::array<double, max_dims> passes;
  std::array<double, max_dims> counted;
  passes.fill(1);
  counted.fill(1);
  for (std::size_t s = 0; s < space_.slots().size() && space_.slots()[s].level < component.level; ++s) {
    if (space_.slots()[s].kind != LoopKind::temporal) continue;
    for (int dim = 0; dim < model_.dims; ++dim) {
      if (!has(choice.dims, dim)) continue;
      const auto d = static_cast<std::size_t>(dim);
      passes[d] *= choice.bounds[s][d];
      if (has(walk.counted[static_cast<std::size_t>(space_.slots()[s].level)], dim)) counted[d] *= choice.bounds[s][d];
    }
  }
  double all = 1;
  for (const double bound : counted) all *= bound;
  double least = tile * all;
  for (int dim = 0; dim < model_.dims; ++dim) {
    if (!has(choice.dims & operand.sliding, dim)) continue;
    const auto d = static_cast<std::size_t>(dim);
    Extents<double> together = extents;
    together[d] *= passes[d];
    least = std::min(least, group_footprint(operand, choice.dims, together, rule) * all / counted[d]);
  }
  return least;
}

double ProductCosts::visits(const Component& component, const Choice& choice, const Walk& walk) const {
  if (walk.may_slide && component.factor == Factor::visits) return least_visits(component, choice, walk);
  const FlatOperand& operand = model_.operand[static_cast<std::size_t>(component.operand)];
  std::uint16_t run = 0;  // levels of the loops that slide the tile
  double value = 1;
  if (walk.slides >= 0 && has(choice.dims, walk.slides))
    value = moved(component, choice, walk, run);
  else if (component.factor == Factor::visits)
    value = group_footprint(operand, choice.dims, choice.tile[static_cast<std::size_t>(component.level)],
                            model_.options.footprint);
  for (std::size_t s = 0; s < space_.slots().size() && space_.slots()[s].level < component.level; ++s) {
    if (space_.slots()[s].kind != LoopKind::temporal) continue;
    const auto level = static_cast<std::size_t>(space_.slots()[s].level);
    for (int d = 0; d < model_.dims; ++d) {
      if (!has(choice.dims, d)) continue;
      const bool slid = d == walk.slides && (walk.slide_levels >> level & 1U) != 0;
      if (slid ? (run >> level & 1U) == 0 : has(walk.counted[level], d))
        value *= choice.bounds[s][static_cast<std::size_t>(d)];
    }
  }
  return value;
}

/// What Counter::moved finds for this group's share of the tile; a tile with holes in another group's is not seen.
double ProductCosts::moved(const Component& component, const Choice& choice, const Walk& walk,
                           std::uint16_t& run) const {
  const FlatOperand& operand = model_.operand[static_cast<std::size_t>(component.operand)];
  const auto d = static_cast<std::size_t>(walk.slides);
  const auto& extents = choice.tile[static_cast<std::size_t>(component.level)];
  double passes = 1;
  double stride = extents[d];
  bool started = false;
  for (int l = component.level - 1; l >= 0; --l) {
    double time = 1;
    double space = 1;
    for (std::size_t s = 0; s < space_.slots().size(); ++s)
      if (space_.slots()[s].level == l)
        (space_.slots()[s].kind == LoopKind::temporal ? time : space) *= choice.bounds[s][d];
    const bool slid = (walk.slide_levels >> static_cast<unsigned>(l) & 1U) != 0;
    if (started && space > 1) break;
    if (!started) stride *= space;
    if (!slid) continue;
    started = started || time > 1;
    passes *= time;
    run = static_cast<std::uint16_t>(run | 1U << static_cast<unsigned>(l));
  }
  const FootprintRule rule = model_.options.footprint;
  const double tile = group_footprint(operand, choice.dims, extents, rule);
  const double apart = tile * passes;
  const bool gap = stride > extents[d];
  if (rule == FootprintRule::bounding_box || gap) {
    const double box = group_footprint(operand, choice.dims, extents, FootprintRule::bounding_box);
    if (box > tile * (1 + 1e-9)) return apart;
    return tile + (passes - 1) * (tile - group_kept(operand, choice.dims, extents, walk.slides, stride));
  }
  Extents<double> together = extents;
  together[d] *= passes;
  return std::min(apart, group_footprint(operand, choice.dims, together, rule));
}

}  // namespace kasimir
