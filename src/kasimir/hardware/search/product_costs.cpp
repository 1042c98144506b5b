// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/product_costs.h"

#include "kasimir/hardware/search/pareto.h"

#include <algorithm>
#include <bit>
#include <numeric>

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

ProductCosts::ProductCosts(const CostModel& model, const MappingSpace& space, const Keeps& keeps, const Goal& goal)
    : model_(model), space_(space), keeps_(keeps), goal_(goal) {
  find_groups();
  find_limits();
  components_.push_back({});  // steps
  add_fans();
  add_entries();
  usable_ = usable_ && components_.size() <= max_components && order_class_count(model, keeps) <= max_classes;
}

void ProductCosts::find_groups() {
  std::vector<int> group(static_cast<std::size_t>(model_.dims));
  std::iota(group.begin(), group.end(), 0);
  for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t)
    for (const OperandRank& rank : model_.problem.operands[t].ranks)
      for (std::size_t k = 1; k < rank.terms.size(); ++k) {
        const int from = group[static_cast<std::size_t>(rank.terms[k].dim)];
        const int to = group[static_cast<std::size_t>(rank.terms[0].dim)];
        std::replace(group.begin(), group.end(), from, to);
      }
  for (int g = 0; g < model_.dims; ++g) {
    std::vector<int> dims;
    double choices = 1;
    for (int d = 0; d < model_.dims; ++d) {
      if (group[static_cast<std::size_t>(d)] != g || model_.size[static_cast<std::size_t>(d)] <= 1) continue;
      dims.push_back(d);
      choices *= static_cast<double>(space_.factors(d).size());
    }
    if (!dims.empty()) groups_.push_back(dims);
    usable_ = usable_ && choices <= max_choices;
  }
  if (groups_.empty()) groups_.emplace_back();
}

/// Parts of the evaluator that are not products.
void ProductCosts::find_limits() {
  exact_ = !model_.options.fill_and_drain;
  // boxes of an output may count elements twice
  if (model_.options.footprint == FootprintRule::bounding_box && model_.operand[0].sliding != 0) usable_ = false;
  if (model_.options.softness > 0 || model_.options.halo == HaloRule::full) usable_ = false;
}

bool ProductCosts::any_space(int from, int to) const {
  return std::any_of(space_.slots().begin(), space_.slots().end(), [&](const LoopSlot& slot) {
    return slot.kind != LoopKind::temporal && slot.level >= from && slot.level < to;
  });
}

int ProductCosts::add(Component component) {
  if (!any_space(component.spread_from, component.spread_to)) component.spread_from = component.spread_to = 0;
  if (!any_space(0, component.instances)) component.instances = 0;
  const auto known = std::find(components_.begin(), components_.end(), component);
  if (known != components_.end()) return static_cast<int>(known - components_.begin());
  components_.push_back(component);
  return static_cast<int>(components_.size() - 1);
}

void ProductCosts::add_fans() {
  for (const LoopSlot& slot : space_.slots()) {
    if (slot.kind == LoopKind::temporal) continue;
    Component fan{.factor = Factor::fan, .level = slot.level};
    fan.axis = slot.kind == LoopKind::spatial_x ? 0 : 1;
    fans_.emplace_back(add(fan),
                       model_.level[static_cast<std::size_t>(slot.level)].fan[static_cast<std::size_t>(fan.axis)]);
  }
  for (std::size_t l = 0; l < static_cast<std::size_t>(model_.levels); ++l) {
    if (model_.level[l].systolic == Systolic::none) continue;
    bool first = true;  // of several operands of the role the one that changes most would count
    for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t) {
      if (static_cast<int>(model_.operand[t].role) != static_cast<int>(model_.level[l].systolic) - 1) continue;
      exact_ = exact_ && first;
      const Component change{
          .factor = Factor::changes, .operand = static_cast<std::int8_t>(t), .level = static_cast<std::int8_t>(l + 1)};
      if (first) changes_.emplace_back(add(change), model_.level[l].skew);
      first = false;
    }
    if (first) first_changes_ += model_.level[l].skew;  // nothing is stationary: it is loaded once
  }
}

void ProductCosts::add_entries() {
  for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t) {
    int below = model_.levels;
    Component asked;  // by one child
    asked.operand = static_cast<std::int8_t>(t);
    for (auto l = static_cast<std::size_t>(model_.levels); l-- > 0;) {
      asked.spread_to = static_cast<std::int8_t>(below);
      if (model_.level[l].hop_pj_per_bit > 0) add_hops(l, t, asked);
      if ((keeps_[t] >> l & 1U) == 0) continue;
      const FlatLevel& level = model_.level[l];
      Entry entry{.operand = t, .level = l};
      entry.outermost = (keeps_[t] & ((1U << l) - 1)) == 0;
      entry.time = level.cycles_per_bit > 0 || level.cycles_per_read_bit > 0 || level.cycles_per_write_bit > 0;
      entry.energy = level.read_pj > 0 || level.write_pj > 0 || level.read_pj_per_bit > 0 || level.write_pj_per_bit > 0;
      Component served = asked;
      served.spread_from = static_cast<std::int8_t>(l);
      Component moved{.factor = Factor::visits, .operand = asked.operand, .level = static_cast<std::int8_t>(l)};
      if (!std::isinf(level.capacity) || level.partitioned)
        entry.footprint = add({.factor = Factor::footprint, .operand = asked.operand, .level = moved.level});
      if (t == 0)
        add_output(entry, served, moved);
      else
        add_input(entry, served, moved);
      const auto bit = static_cast<std::uint16_t>(1U << l);
      if (entry.time) timed_ = static_cast<std::uint16_t>(timed_ | bit);
      if (entry.footprint >= 0) limited_ = static_cast<std::uint16_t>(limited_ | bit);
      entries_.push_back(entry);
      asked = moved;
      below = static_cast<int>(l);
    }
  }
}

void ProductCosts::add_hops(std::size_t level, std::size_t operand, const Component& asked) {
  Component crossing = asked;
  crossing.spread_from = static_cast<std::int8_t>(level + 1);
  crossing.instances = static_cast<std::int8_t>(level + 1);
  const FlatOperand& flat = model_.operand[operand];
  hops_.emplace_back(add(crossing),
                     model_.level[level].hop_pj_per_bit * (operand == 0 ? flat.partial_bits : flat.bits));
}

void ProductCosts::add_input(Entry& entry, Component served, Component moved) {
  if (entry.time) {
    entry.served = add(served);
    if (!entry.outermost) entry.fills = add(moved);
  }
  served.instances = moved.instances = static_cast<std::int8_t>(entry.level);
  if (entry.energy) {
    entry.served_all = add(served);
    if (!entry.outermost) entry.fills_all = add(moved);
  }
}

void ProductCosts::add_output(Entry& entry, Component served, Component moved) {
  const auto level = static_cast<std::int8_t>(entry.level);
  Component result{.factor = Factor::distinct, .level = level};
  if (entry.time) entry.result = add(result);
  result.instances = level;
  if (entry.energy) entry.result_all = add(result);
  served.per_result = moved.per_result = level;
  const bool sums = model_.operand[0].bits != model_.operand[0].partial_bits;
  if (entry.time || entry.energy || (entry.footprint >= 0 && sums)) entry.updates = add(served);
  if ((entry.time || entry.energy) && !entry.outermost) entry.refills = add(moved);
  if (sums && any_space(0, level)) entry.split = add({.factor = Factor::split, .level = level});
}

const FactorTable& ProductCosts::table(std::size_t group, const OrderClass& orders, bool pareto) {
  std::vector<Walk> walks(components_.size());
  for (std::size_t c = 0; c < components_.size(); ++c)
    if (components_[c].factor == Factor::visits || components_[c].factor == Factor::changes)
      walks[c] = walk(model_, orders, components_[c].operand, components_[c].level,
                      components_[c].factor == Factor::visits && model_.options.halo != HaloRule::none);
  Key wanted = key(group, orders, walks);
  wanted.push_back(pareto ? 1 : 0);
  std::unique_ptr<FactorTable>& known = known_[wanted];
  if (known != nullptr) return *known;
  known = std::make_unique<FactorTable>(tabulate(group, orders, walks));
  if (pareto) keep_pareto_rows(*known, components_.size());
  known->least.assign(components_.size(), 0);
  for (std::size_t c = 0; c < components_.size() && known->rows > 0; ++c)
    known->least[c] = *std::min_element(known->column(c), known->column(c) + known->rows);
  return *known;
}

/// All that a table of the group depends on.
ProductCosts::Key ProductCosts::key(std::size_t group, const OrderClass& orders, const std::vector<Walk>& walks) const {
  std::uint32_t dims = 0;
  for (const int d : groups_[group]) dims |= 1U << static_cast<unsigned>(d);
  Key key{static_cast<std::uint32_t>(group)};
  for (const LevelOrder& order : orders) key.push_back(order.active() & dims);
  for (std::size_t c = 0; c < components_.size(); ++c) {
    if (components_[c].factor != Factor::visits && components_[c].factor != Factor::changes) continue;
    for (std::size_t l = 0; l < static_cast<std::size_t>(components_[c].level); ++l)
      key.push_back(walks[c].counted[l] & dims);
    const bool slides = walks[c].slides >= 0 && has(dims, walks[c].slides);
    key.push_back(slides ? static_cast<std::uint32_t>(walks[c].slides) : max_dims);
    key.push_back(slides ? walks[c].slide_levels : 0U);
  }
  return key;
}

FactorTable ProductCosts::tabulate(std::size_t group, const OrderClass& orders, const std::vector<Walk>& walks) const {
  std::size_t choices = 1;
  for (const int d : groups_[group]) choices *= space_.factors(d).size();
  std::vector<std::vector<double>> rows;
  FactorTable table;
  Choice choice;
  std::vector<double> row(components_.size());
  for (std::uint32_t number = 0; number < choices; ++number) {
    if (!decode(group, number, orders, choice)) continue;
    for (std::size_t c = 0; c < components_.size(); ++c) row[c] = factor(components_[c], choice, walks[c]);
    if (!fits_alone(row)) continue;
    rows.push_back(row);
    table.choice.push_back(number);
  }
  table.rows = rows.size();
  table.columns.resize(components_.size() * rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < components_.size(); ++c) table.columns[c * rows.size() + r] = rows[r][c];
  return table;
}

/// Lays the choice out. @returns false if it has a loop that the class does not allow.
bool ProductCosts::decode(std::size_t group, std::uint32_t number, const OrderClass& orders, Choice& choice) const {
  const std::vector<LoopSlot>& slots = space_.slots();
  choice.dims = 0;
  choice.bounds.resize(slots.size());
  for (auto& bounds : choice.bounds) bounds.fill(1);
  for (const int d : groups_[group]) {
    const std::vector<FactorVector>& list = space_.factors(d);
    const FactorVector& factors = list[number % list.size()];
    number /= static_cast<std::uint32_t>(list.size());
    choice.dims |= 1U << static_cast<unsigned>(d);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      choice.bounds[s][static_cast<std::size_t>(d)] = static_cast<double>(factors[s]);
      if (factors[s] > 1 && slots[s].kind == LoopKind::temporal &&
          !has(orders[static_cast<std::size_t>(slots[s].level)].active(), d))
        return false;
    }
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
  return true;
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

double ProductCosts::visits(const Component& component, const Choice& choice, const Walk& walk) const {
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
