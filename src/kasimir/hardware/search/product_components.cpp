// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/product_costs.h"

#include <algorithm>
#include <numeric>

namespace kasimir {

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
  rows_.resize(groups_.size());
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

}  // namespace kasimir
