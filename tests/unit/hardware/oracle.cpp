// SPDX-License-Identifier: Apache-2.0
#include "unit/hardware/oracle.h"

#include <algorithm>
#include <limits>

namespace kasimir {

Oracle::Oracle(const CostModel& model, const Mapping& mapping)
    : model_(model), mapping_(mapping), loops_(static_cast<std::size_t>(mapping.count)), stride_(loops_) {
  std::vector<std::int64_t> inside(model.problem.dims.size(), 1);
  for (std::size_t i = loops_; i-- > 0;) {
    auto& product = inside[static_cast<std::size_t>(mapping.loops[i].dim)];
    stride_[i] = product;
    product *= mapping.loops[i].bound;
  }
}

template <typename Choose, typename Visit>
void Oracle::walk(Indices& at, std::size_t loop, const Choose& choose, const Visit& visit) const {
  if (loop == loops_) return visit(at);
  if (!choose(loop)) return walk(at, loop + 1, choose, visit);
  for (std::int64_t i = 0; i < mapping_.loops[loop].bound; ++i) {
    at[loop] = i;
    walk(at, loop + 1, choose, visit);
  }
  at[loop] = 0;
}

bool Oracle::coordinates(std::size_t operand, const Indices& at, std::vector<std::int64_t>& out) const {
  std::vector<std::int64_t> dims(model_.problem.dims.size(), 0);
  for (std::size_t i = 0; i < loops_; ++i) dims[static_cast<std::size_t>(mapping_.loops[i].dim)] += at[i] * stride_[i];
  out.clear();
  for (const OperandRank& rank : model_.problem.operands[operand].ranks) {
    std::int64_t value = rank.offset;
    for (const IndexTerm& term : rank.terms) value += term.coefficient * dims[static_cast<std::size_t>(term.dim)];
    if (value < 0 || value >= rank.extent) return false;
    out.push_back(value);
  }
  return true;
}

Oracle::Elements Oracle::tile(std::size_t operand, int level, Indices at) const {
  constexpr std::int64_t radix = 1 << 12;
  std::vector<std::vector<std::int64_t>> touched;
  std::vector<std::int64_t> element;
  walk(
      at, 0, [&](std::size_t loop) { return level_of(loop) >= level; },
      [&](const Indices& here) {
        if (coordinates(operand, here, element)) touched.push_back(element);
      });
  Elements elements;
  if (model_.options.footprint == FootprintRule::exact || touched.empty()) {
    for (const auto& one : touched) {
      std::int64_t code = 0;
      for (const std::int64_t value : one) code = code * radix + value;
      elements.insert(code);
    }
    return elements;
  }
  std::vector<std::int64_t> low = touched[0];
  std::vector<std::int64_t> high = touched[0];
  for (const auto& one : touched)
    for (std::size_t r = 0; r < one.size(); ++r) {
      low[r] = std::min(low[r], one[r]);
      high[r] = std::max(high[r], one[r]);
    }
  std::vector<std::int64_t> codes{0};
  for (std::size_t r = 0; r < low.size(); ++r) {
    std::vector<std::int64_t> longer;
    for (const std::int64_t code : codes)
      for (std::int64_t value = low[r]; value <= high[r]; ++value) longer.push_back(code * radix + value);
    codes = std::move(longer);
  }
  return {codes.begin(), codes.end()};
}

std::vector<bool> Oracle::within_epoch(std::size_t operand, int level) const {
  std::vector<bool> within(loops_, false);
  bool skipped = false;
  bool found = false;
  int moving = -1;
  for (std::size_t i = loops_; i-- > 0;) {
    if (level_of(i) >= level || spatial(i) || mapping_.loops[i].bound == 1) continue;
    if (!relevant(operand, i)) {
      if (found) return within;
      skipped = true;
    } else {
      const HaloRule halo = model_.options.halo;
      const bool same = found && mapping_.loops[i].dim == moving;
      if (halo == HaloRule::none || (halo == HaloRule::innermost && (skipped || (found && !same)))) return within;
      found = true;
      moving = mapping_.loops[i].dim;
    }
    within[i] = true;
  }
  return within;
}

std::vector<Oracle::Elements> Oracle::epochs(std::size_t operand, int level, Indices at) const {
  const std::vector<bool> within = within_epoch(operand, level);
  std::vector<Elements> result;
  const auto outside = [&](std::size_t loop) { return level_of(loop) < level && !spatial(loop); };
  walk(at, 0, outside, [&](const Indices& here) {
    bool begins = true;
    for (std::size_t i = 0; i < loops_; ++i)
      if (outside(i) && within[i] && here[i] != 0) begins = false;
    if (begins) result.emplace_back();
    const Elements now = tile(operand, level, here);
    result.back().insert(now.begin(), now.end());
  });
  return result;
}

OracleCount Oracle::count(std::size_t operand, int level) const {
  OracleCount count{static_cast<std::size_t>(level), operand};
  int below = level + 1;
  while (below < model_.levels && !keeps(operand, below)) ++below;
  const Indices start(loops_, 0);
  for (const Elements& epoch : epochs(operand, level, start))
    count.footprint =
        std::max(count.footprint, static_cast<double>(epoch.empty() ? 0 : tile(operand, level, start).size()));
  std::multiset<std::int64_t> asked;
  const auto child = [&](std::size_t loop) {
    if (!spatial(loop) || level_of(loop) < level || level_of(loop) >= below) return false;
    const FlatLevel& flat = model_.level[static_cast<std::size_t>(level_of(loop))];
    const std::size_t axis = mapping_.loops[loop].kind == LoopKind::spatial_x ? 0 : 1;
    return relevant(operand, loop) || !(operand == 0 ? flat.reduction[axis] : flat.multicast[axis]);
  };
  Indices at = start;
  walk(at, 0, child, [&](const Indices& here) {
    if (below < model_.levels) {
      for (const Elements& epoch : epochs(operand, below, here)) asked.insert(epoch.begin(), epoch.end());
      return;
    }
    Indices step = here;  // compute units keep nothing: each asks for one element in each step
    walk(
        step, 0, [&](std::size_t loop) { return !spatial(loop); },
        [&](const Indices& now) {
          const Elements one = tile(operand, below, now);
          asked.insert(one.begin(), one.end());
        });
  });
  bool outermost = true;
  for (int l = 0; l < level; ++l) outermost = outermost && !keeps(operand, l);
  Elements seen;
  double again = 0;
  double fetched = 0;
  for (const Elements& epoch : epochs(operand, level, start))
    for (const std::int64_t element : epoch) {
      fetched += 1;
      again += seen.insert(element).second ? 0 : 1;
    }
  if (operand != 0) {
    count.reads = static_cast<double>(asked.size());
    count.fills = outermost ? 0 : fetched;
    return count;
  }
  count.updates = static_cast<double>(asked.size());
  count.distinct = static_cast<double>(Elements(asked.begin(), asked.end()).size());
  count.reads = count.updates - count.distinct;
  count.fills = outermost ? 0 : again;
  return count;
}

std::vector<OracleCount> Oracle::counts() const {
  std::vector<OracleCount> all;
  for (int l = model_.levels; l-- > 0;)
    for (std::size_t t = 0; t < model_.problem.operands.size(); ++t)
      if (keeps(t, l)) all.push_back(count(t, l));
  return all;
}

}  // namespace kasimir
