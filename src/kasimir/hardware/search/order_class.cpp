// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/order_class.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace kasimir {
namespace {

/// Orders of a level beyond which nobody lists them.
constexpr std::size_t most_of_a_level = 2000;

}  // namespace

std::uint32_t LevelOrder::active() const {
  if (open || relaxed) return ~0U;
  std::uint32_t mask = 0;
  for (const std::uint32_t dims : classes) mask |= dims;
  return mask;
}

namespace {

/// Follows one operand's loops outwards, level by level.
class Walker {
 public:
  Walker(const FlatOperand& operand, bool halo) : operand_(operand), halo_(halo) {}

  void level(const LevelOrder& order, std::size_t l) {
    if (done_) {
      walk_.counted[l] = ~0U;
    } else if (order.relaxed) {
      walk_.counted[l] = operand_.relevant;
      walk_.may_slide = walk_.may_slide || halo_;
      walk_.slides = -1;
    } else if (walk_.slides >= 0) {
      go_on_sliding(order, l);
    } else {
      look(order, l);
    }
  }
  [[nodiscard]] const Walk& result() const { return walk_; }

 private:
  void look(const LevelOrder& order, std::size_t l) {
    std::uint32_t reused = 0;
    for (std::size_t k = 0; k < order.classes.size() && !done_; ++k) {
      if ((order.classes[k] & operand_.relevant) == 0) {
        reused |= order.classes[k];
        skipped_ = true;
        continue;
      }
      done_ = true;
      if (k == 0 && !skipped_ && halo_ && !walk_.may_slide && order.innermost >= 0 &&
          (operand_.sliding >> static_cast<unsigned>(order.innermost) & 1U) != 0)
        slide(order, l);
    }
    done_ = done_ || order.open;
    if (walk_.slides >= 0 && alone(order)) done_ = false;
    walk_.counted[l] = ~reused & ~slide_bit();
  }
  void go_on_sliding(const LevelOrder& order, std::size_t l) {
    walk_.counted[l] = ~0U;
    if (order.classes.empty() && !order.open) return;
    done_ = !alone(order) || order.innermost != walk_.slides;
    if (order.innermost != walk_.slides) return;
    slide(order, l);
    walk_.counted[l] = ~slide_bit();
  }
  void slide(const LevelOrder& order, std::size_t l) {
    walk_.slides = order.innermost;
    walk_.slide_levels = static_cast<std::uint16_t>(walk_.slide_levels | 1U << l);
  }
  static bool alone(const LevelOrder& order) {
    return !order.open && order.classes.size() == 1 && std::has_single_bit(order.classes[0]);
  }
  [[nodiscard]] std::uint32_t slide_bit() const {
    return walk_.slides < 0 ? 0U : 1U << static_cast<unsigned>(walk_.slides);
  }

  const FlatOperand& operand_;
  const bool halo_;
  bool skipped_ = false;
  bool done_ = false;
  Walk walk_;
};

/// Lists the orders of one level that matter for the operands whose tiles lie inside of it.
class LevelOrders {
 public:
  LevelOrders(const CostModel& model, std::uint32_t alive) : model_(model), alive_(alive) {
    for (int d = 0; d < model.dims; ++d) {
      const std::uint32_t bit = 1U << static_cast<unsigned>(d);
      if (model.size[static_cast<std::size_t>(d)] <= 1) continue;
      const std::uint32_t by = depending(bit);
      const auto same = std::find_if(classes_.begin(), classes_.end(),
                                     [&](std::uint32_t dims) { return depending(dims & (~dims + 1)) == by; });
      if (same == classes_.end())
        classes_.push_back(bit);
      else
        *same |= bit;
      if (model.options.halo == HaloRule::none) continue;
      for (std::size_t t = 0; t < static_cast<std::size_t>(model.operands); ++t)
        if ((alive >> t & 1U) != 0 && (model.operand[t].sliding & bit) != 0) sliding_ |= bit;
    }
  }

  std::vector<LevelOrder> run() {
    extend({}, alive_);
    // a dimension alone in its level, so that its windows go on in the next one
    for (std::uint32_t rest = sliding_; rest != 0; rest &= rest - 1)
      found_.push_back({{rest & (~rest + 1)}, false, false, std::countr_zero(rest)});
    return std::move(found_);
  }

 private:
  /// Operands at stake that depend on one of the dimensions.
  [[nodiscard]] std::uint32_t depending(std::uint32_t dims) const {
    std::uint32_t by = 0;
    for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t)
      if ((alive_ >> t & 1U) != 0 && (model_.operand[t].relevant & dims) != 0) by |= 1U << t;
    return by;
  }
  /// `still` holds the operands that none of the classes so far moves.
  void extend(const std::vector<std::uint32_t>& list, std::uint32_t still) {
    if (found_.size() > most_of_a_level) return;
    if (still != 0) emit(list, false);
    bool longest = true;
    for (const std::uint32_t dims : classes_) {
      if (std::find(list.begin(), list.end(), dims) != list.end()) continue;
      const std::uint32_t left = still & ~depending(dims);
      // without an operand left, the class is one of `others`, unless its windows slide
      if (left == 0 && !(list.empty() && (dims & sliding_) != 0)) continue;
      longest = longest && left == 0;
      std::vector<std::uint32_t> longer = list;
      longer.push_back(dims);
      if (left != 0)
        extend(longer, left);
      else
        emit(longer, true);
    }
    if (longest) emit(list, true);
  }
  void emit(const std::vector<std::uint32_t>& list, bool open) {
    const std::uint32_t first = list.empty() ? 0 : list[0] & sliding_;
    if (first == 0) found_.push_back({list, open, false, -1});
    for (std::uint32_t rest = first; rest != 0; rest &= rest - 1)
      found_.push_back({list, open, false, std::countr_zero(rest)});
  }

  const CostModel& model_;
  std::uint32_t alive_;
  std::uint32_t sliding_ = 0;
  std::vector<std::uint32_t> classes_;
  std::vector<LevelOrder> found_;
};

/// Operands with a tile inside the level's loops.
std::uint32_t alive_at(const CostModel& model, const Keeps& keeps, std::size_t level) {
  std::uint32_t alive = 0;
  for (std::size_t t = 0; t < static_cast<std::size_t>(model.operands); ++t) {
    if (keeps[t] >> (level + 1) != 0) alive |= 1U << t;
    for (std::size_t l = level; l < static_cast<std::size_t>(model.levels); ++l)
      if (model.level[l].systolic != Systolic::none &&
          static_cast<int>(model.operand[t].role) == static_cast<int>(model.level[l].systolic) - 1)
        alive |= 1U << t;
  }
  return alive;
}

}  // namespace

Walk walk(const CostModel& model, const OrderClass& orders, int operand, int level, bool halo) {
  Walker walker(model.operand[static_cast<std::size_t>(operand)], halo);
  for (auto l = static_cast<std::size_t>(level); l-- > 0;) walker.level(orders[l], l);
  return walker.result();
}

std::vector<std::vector<LevelOrder>> level_orders(const CostModel& model, const Keeps& keeps) {
  std::vector<std::vector<LevelOrder>> levels;
  for (std::size_t l = 0; l < static_cast<std::size_t>(model.levels); ++l) {
    const std::uint32_t alive = alive_at(model, keeps, l);
    levels.push_back({{{}, true, false, -1}});
    if (alive != 0) levels.back() = LevelOrders(model, alive).run();
    if (levels.back().size() > most_of_a_level) return {};
  }
  return levels;
}

double order_class_count(const CostModel& model, const Keeps& keeps) {
  const std::vector<std::vector<LevelOrder>> levels = level_orders(model, keeps);
  double count = levels.empty() ? std::numeric_limits<double>::infinity() : 1;
  for (const std::vector<LevelOrder>& here : levels) count *= static_cast<double>(here.size());
  return count;
}

std::vector<OrderClass> order_classes(const CostModel& model, const Keeps& keeps) {
  std::vector<OrderClass> all{OrderClass{}};
  for (const std::vector<LevelOrder>& here : level_orders(model, keeps)) {
    std::vector<OrderClass> longer;
    for (const OrderClass& outer : all)
      for (const LevelOrder& order : here) {
        longer.push_back(outer);
        longer.back().push_back(order);
      }
    all = std::move(longer);
  }
  return all;
}

OrderClass order_class_of(const CostModel& model, const Mapping& mapping) {
  OrderClass orders(static_cast<std::size_t>(model.levels));
  for (int i = mapping.count; i-- > 0;) {
    const auto& loop = mapping.loops[static_cast<std::size_t>(i)];
    if (loop.kind != LoopKind::temporal || loop.bound == 1) continue;
    LevelOrder& order = orders[static_cast<std::size_t>(loop.level)];
    if (order.classes.empty()) order.innermost = loop.dim;
    order.classes.push_back(1U << static_cast<unsigned>(loop.dim));
  }
  return orders;
}

std::vector<std::vector<int>> loop_orders(const MappingSpace& space, const OrderClass& orders, int dims) {
  std::vector<std::vector<int>> result(space.slots().size());
  for (std::size_t s = 0; s < space.slots().size(); ++s) {
    if (space.slots()[s].kind != LoopKind::temporal) continue;
    const LevelOrder& order = orders[static_cast<std::size_t>(space.slots()[s].level)];
    if (order.innermost >= 0) result[s].push_back(order.innermost);
    for (const std::uint32_t mask : order.classes)
      for (int d = 0; d < dims; ++d)
        if ((mask >> static_cast<unsigned>(d) & 1U) != 0 && d != order.innermost) result[s].push_back(d);
    std::reverse(result[s].begin(), result[s].end());
  }
  return result;
}

}  // namespace kasimir
