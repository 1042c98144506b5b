// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/space.h"

#include "kasimir/base/error.h"

#include <algorithm>

namespace kasimir {
namespace {

const char* name_of(LoopKind kind) {
  return kind == LoopKind::temporal ? "time" : kind == LoopKind::spatial_x ? "columns" : "rows";
}

std::vector<LoopSlot> slots_of(const CostModel& model) {
  const std::uint32_t all = model.dims == 32 ? ~0U : (1U << static_cast<unsigned>(model.dims)) - 1;
  std::vector<LoopSlot> slots;
  for (std::size_t l = 0; l < static_cast<std::size_t>(model.levels); ++l) {
    const FlatLevel& level = model.level[l];
    slots.push_back({static_cast<std::int8_t>(l), LoopKind::temporal, all});
    for (const std::size_t axis : {std::size_t{0}, std::size_t{1}})
      if (level.fan[axis] > 1 && (level.allowed[axis] & all) != 0)
        slots.push_back({static_cast<std::int8_t>(l), axis == 0 ? LoopKind::spatial_x : LoopKind::spatial_y,
                         level.allowed[axis] & all});
  }
  return slots;
}

std::size_t slot_of(const std::vector<LoopSlot>& slots, const CostModel& model, const SlotRule& rule) {
  if (rule.level < 0 || rule.level >= model.levels)
    throw input_error("a rule is for level {}, the architecture has {}", rule.level, model.levels);
  if (rule.dim < 0 || rule.dim >= model.dims)
    throw input_error("a rule is for dimension {}, the problem has {}", rule.dim, model.dims);
  for (std::size_t s = 0; s < slots.size(); ++s)
    if (slots[s].level == rule.level && slots[s].kind == rule.kind) return s;
  throw input_error("a rule is for the {} of level {}, which has none", name_of(rule.kind),
                    model.architecture.levels[static_cast<std::size_t>(rule.level)].name);
}

constexpr std::size_t most_factorisations = 1000000;

/// Bounds that one dimension may have in each slot: 0 for any.
using Wanted = std::vector<std::int64_t>;

class FactorLister {
 public:
  FactorLister(const CostModel& model, const std::vector<LoopSlot>& slots, std::size_t dim, const Wanted& wanted)
      : model_(model), slots_(slots), dim_(dim), wanted_(wanted), at_(slots.size(), 1) {}

  std::vector<FactorVector> run() {
    const std::int64_t size = model_.problem.dims[dim_].size;
    for (std::int64_t f = 1; f <= size / f; ++f) {
      if (size % f != 0) continue;
      divisors_.push_back(f);
      if (f != size / f) divisors_.push_back(size / f);
    }
    std::sort(divisors_.begin(), divisors_.end());
    extend(0, size);
    return std::move(found_);
  }

 private:
  void extend(std::size_t s, std::int64_t rest) {
    if (s == slots_.size()) {
      if (rest == 1) found_.push_back(at_);
      if (found_.size() > most_factorisations)
        throw input_error("dimension {} of size {} has more than {} factorisations over {} places for loops",
                          model_.problem.dims[dim_].name, model_.problem.dims[dim_].size, most_factorisations,
                          slots_.size())
            .note("fix some of its bounds by rules");
      return;
    }
    const std::int64_t limit = (slots_[s].dims >> dim_ & 1U) == 0 ? 1 : fan(slots_[s]);
    for (const std::int64_t f : divisors_) {
      if (f > std::min(rest, limit)) break;
      if (rest % f != 0 || (wanted_[s] != 0 && wanted_[s] != f)) continue;
      at_[s] = f;
      extend(s + 1, rest / f);
    }
    at_[s] = 1;
  }
  [[nodiscard]] std::int64_t fan(const LoopSlot& slot) const {
    if (slot.kind == LoopKind::temporal) return std::numeric_limits<std::int64_t>::max();
    const MemoryLevel& level = model_.architecture.levels[static_cast<std::size_t>(slot.level)];
    return slot.kind == LoopKind::spatial_x ? level.x.size : level.y.size;
  }

  const CostModel& model_;
  const std::vector<LoopSlot>& slots_;
  const std::size_t dim_;
  const Wanted& wanted_;
  FactorVector at_;
  std::vector<std::int64_t> divisors_;
  std::vector<FactorVector> found_;
};

/// All subsets of each operand's inner levels, the fullest first.
std::vector<Keeps> all_keeps(const CostModel& model) {
  std::vector<Keeps> all{Keeps{}};
  for (std::size_t t = 0; t < static_cast<std::size_t>(model.operands); ++t) {
    std::vector<Keeps> longer;
    const unsigned inner = model.keepable[t] & ~1U;
    for (const Keeps& keeps : all)
      for (unsigned some = inner;; some = (some - 1) & inner) {
        longer.push_back(keeps);
        longer.back()[t] = static_cast<std::uint16_t>(some | 1U);
        if (some == 0) break;
      }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

MappingSpace::MappingSpace(const CostModel& model, const SpaceRules& rules) : slots_(slots_of(model)) {
  std::vector<Wanted> wanted(static_cast<std::size_t>(model.dims), Wanted(slots_.size(), 0));
  for (const SlotRule& rule : rules.bounds) {
    const std::size_t slot = slot_of(slots_, model, rule);
    if (rule.bound < 1)
      throw input_error("a rule wants bound {} for {}, at least 1 is needed", rule.bound,
                        model.problem.dims[static_cast<std::size_t>(rule.dim)].name);
    wanted[static_cast<std::size_t>(rule.dim)][slot] = rule.bound;
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(model.dims); ++d) {
    factors_.push_back(FactorLister(model, slots_, d, wanted[d]).run());
    if (factors_.back().empty())
      throw input_error("the rules leave no bounds for {}, whose size is {}", model.problem.dims[d].name,
                        model.problem.dims[d].size);
  }
  if (rules.search_keeps)
    keeps_ = all_keeps(model);
  else
    keeps_ = {model.keepable};
}

double MappingSpace::size() const {
  auto size = static_cast<double>(keeps_.size());
  for (const auto& list : factors_) size *= static_cast<double>(list.size());
  return size;
}

Mapping MappingSpace::build(const std::vector<const FactorVector*>& factors, const std::vector<std::vector<int>>& order,
                            const Keeps& keeps) const {
  Mapping mapping;
  mapping.keeps = keeps;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const auto add = [&](int dim) {
      const std::int64_t bound = (*factors[static_cast<std::size_t>(dim)])[s];
      if (bound > 1) mapping.add(dim, bound, slots_[s].level, slots_[s].kind);
    };
    const std::vector<int> none;
    const std::vector<int>& listed = s < order.size() ? order[s] : none;
    for (int d = 0; d < static_cast<int>(factors.size()); ++d)
      if (std::find(listed.begin(), listed.end(), d) == listed.end()) add(d);
    for (const int d : listed) add(d);
  }
  return mapping;
}

Mapping MappingSpace::random(Rng& rng) const {
  std::vector<const FactorVector*> factors;
  for (const auto& list : factors_) factors.push_back(&rng.pick(list));
  std::vector<std::vector<int>> order(slots_.size());
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].kind != LoopKind::temporal) continue;
    for (int d = 0; d < static_cast<int>(factors_.size()); ++d) order[s].push_back(d);
    for (std::size_t i = order[s].size(); i > 1; --i) std::swap(order[s][i - 1], order[s][rng.below(i)]);
  }
  return build(factors, order, rng.pick(keeps_));
}

}  // namespace kasimir
