// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/product_costs.h"

#include <algorithm>
#include <cmath>

// Twice as fast with vectors of 256 bits where the machine has them; equal results, as neither variant fuses
// operations.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define KASIMIR_WIDE_LANES __attribute__((flatten, target_clones("avx2", "default")))
#else
#define KASIMIR_WIDE_LANES
#endif

namespace kasimir {
namespace {

using Lane = std::array<double, PricedBlock::size>;

/// Like round_up of scalar.h for values that are not negative; without a branch or call, so that it runs in lanes.
inline double whole_number(double v) {
  constexpr double two_to_52 = 4503599627370496.0;
  const double least = v - 1e-14 * v;
  const double nearest = (least + two_to_52) - two_to_52;
  const double up = nearest < least ? nearest + 1 : nearest;
  return least < two_to_52 / 2 ? up : least;
}

}  // namespace

/// Values of all components and sums over entries, one lane for each mapping.
struct ProductCosts::Products {
  std::array<Lane, max_components> value;
  Lane energy;
  Lane serial;
  std::array<Lane, max_levels> read, write;  // bits per instance
  std::array<Lane, max_levels> used;         // bits
  std::array<std::array<Lane, 3>, max_levels> part;
  Lane overshoot;
  Lane cycles;

  const Lane& of(int component) const { return value[static_cast<std::size_t>(component)]; }
};

void ProductCosts::hold(const Entry& entry, std::size_t count, Products& products) const {
  if (entry.footprint < 0) return;
  const FlatOperand& operand = model_.operand[entry.operand];
  const FlatLevel& level = model_.level[entry.level];
  const Lane& tile = products.of(entry.footprint);
  Lane& used = products.used[entry.level];
  Lane bits;
  const double finished = operand.bits * level.copies;
  const double partial = operand.partial_bits * level.copies;
  for (std::size_t i = 0; i < count; ++i) bits[i] = tile[i] * finished;
  if (entry.operand == 0 && operand.bits != operand.partial_bits) {
    const Lane& updates = products.of(entry.updates);
    for (std::size_t i = 0; i < count; ++i) bits[i] = updates[i] > 1 + 1e-9 ? tile[i] * partial : bits[i];
    if (entry.split >= 0) {
      const Lane& split = products.of(entry.split);
      for (std::size_t i = 0; i < count; ++i) bits[i] = split[i] > 1 ? tile[i] * partial : bits[i];
    }
  }
  for (std::size_t i = 0; i < count; ++i) used[i] += bits[i];
  if (!level.partitioned) return;
  Lane& part = products.part[entry.level][static_cast<std::size_t>(operand.role)];
  for (std::size_t i = 0; i < count; ++i) part[i] += bits[i];
}

void ProductCosts::price_input(const Entry& entry, std::size_t count, Products& products) const {
  const FlatLevel& level = model_.level[entry.level];
  const double bits = model_.operand[entry.operand].bits;
  if (entry.time) {
    const Lane& served = products.of(entry.served);
    Lane& read = products.read[entry.level];
    for (std::size_t i = 0; i < count; ++i) read[i] += served[i] * bits;
    if (!entry.outermost) {
      const Lane& fills = products.of(entry.fills);
      Lane& write = products.write[entry.level];
      for (std::size_t i = 0; i < count; ++i) write[i] += fills[i] * bits;
      const double rate = level.single ? std::max(level.cycles_per_bit, level.cycles_per_write_bit) : 0;
      for (std::size_t i = 0; rate > 0 && i < count; ++i)
        products.serial[i] +=
            model_.options.whole_cycles ? whole_number(fills[i] * bits * rate) : fills[i] * bits * rate;
    }
  }
  if (!entry.energy) return;
  const Lane& served = products.of(entry.served_all);
  const double read_pj = level.read_pj + bits * level.read_pj_per_bit;
  for (std::size_t i = 0; i < count; ++i) products.energy[i] += served[i] * read_pj;
  if (entry.outermost) return;
  const Lane& fills = products.of(entry.fills_all);
  const double write_pj = level.write_pj + bits * level.write_pj_per_bit;
  for (std::size_t i = 0; i < count; ++i) products.energy[i] += fills[i] * write_pj;
}

/// Per result: reads u - 1, updates u, fills b - 1 (or b), the last update at the final width.
void ProductCosts::price_output(const Entry& entry, std::size_t count, Products& products) const {
  if (!entry.time && !entry.energy) return;
  const FlatLevel& level = model_.level[entry.level];
  const FlatOperand& operand = model_.operand[0];
  const double partial = operand.partial_bits;
  const double saved = operand.partial_bits - operand.bits;
  const double elided = model_.options.first_fill_elided ? 1 : 0;
  const double rate = level.single ? std::max(level.cycles_per_bit, level.cycles_per_write_bit) : 0;
  const Lane& updates = products.of(entry.updates);
  Lane reads, writes, write_bits, fills;
  for (std::size_t i = 0; i < count; ++i) fills[i] = 0;
  if (entry.refills >= 0) {
    const Lane& refills = products.of(entry.refills);
    for (std::size_t i = 0; i < count; ++i) fills[i] = std::max(0.0, refills[i] - elided * std::min(1.0, updates[i]));
  }
  for (std::size_t i = 0; i < count; ++i) {
    reads[i] = std::max(0.0, updates[i] - 1);
    writes[i] = fills[i] + updates[i];
    write_bits[i] = writes[i] * partial - std::min(1.0, updates[i]) * saved;
  }
  if (entry.split >= 0 && saved != 0) {
    const Lane& split = products.of(entry.split);
    for (std::size_t i = 0; i < count; ++i) write_bits[i] = split[i] > 1 ? writes[i] * partial : write_bits[i];
  }
  if (entry.time) {
    const Lane& result = products.of(entry.result);
    for (std::size_t i = 0; i < count; ++i) {
      products.read[entry.level][i] += result[i] * reads[i] * partial;
      products.write[entry.level][i] += result[i] * write_bits[i];
    }
    for (std::size_t i = 0; rate > 0 && !entry.outermost && i < count; ++i) {
      const double moved = result[i] * (fills[i] * partial + std::min(1.0, updates[i]) * operand.bits) * rate;
      products.serial[i] += model_.options.whole_cycles ? whole_number(moved) : moved;
    }
  }
  if (!entry.energy) return;
  const Lane& result = products.of(entry.result_all);
  const double read_pj = level.read_pj + partial * level.read_pj_per_bit;
  for (std::size_t i = 0; i < count; ++i)
    products.energy[i] +=
        result[i] * (reads[i] * read_pj + writes[i] * level.write_pj + write_bits[i] * level.write_pj_per_bit);
}

KASIMIR_WIDE_LANES void ProductCosts::price(const double* others, const FactorTable& table, std::size_t from,
                                            std::size_t count, PricedBlock& out) const {
  Products products;
  for (std::size_t c = 0; c < components_.size(); ++c) {
    const double* column = table.column(c) + from;
    for (std::size_t i = 0; i < count; ++i) products.value[c][i] = others[c] * column[i];
  }
  const double compute_pj = model_.problem.points() * model_.operation_pj;
  for (std::size_t i = 0; i < count; ++i) {
    products.energy[i] = compute_pj;
    products.serial[i] = 0;
    products.overshoot[i] = 1;
  }
  for (const Entry& entry : entries_) {
    for (std::size_t i = 0; entry.time && i < count; ++i)
      products.read[entry.level][i] = products.write[entry.level][i] = 0;
    for (std::size_t i = 0; entry.footprint >= 0 && i < count; ++i) products.used[entry.level][i] = 0;
  }
  for (std::size_t l = 0; l < static_cast<std::size_t>(model_.levels); ++l)
    for (std::size_t r = 0; model_.level[l].partitioned && r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i) products.part[l][r][i] = 0;
  for (const Entry& entry : entries_) {
    hold(entry, count, products);
    if (entry.operand == 0)
      price_output(entry, count, products);
    else
      price_input(entry, count, products);
  }
  for (const auto& [component, pj] : hops_)
    for (std::size_t i = 0; i < count; ++i) products.energy[i] += products.of(component)[i] * pj;
  finish(count, products, out);
}

void ProductCosts::finish(std::size_t count, Products& products, PricedBlock& out) const {
  const bool whole = model_.options.whole_cycles;
  Lane& cycles = products.cycles;
  Lane& over = products.overshoot;
  const Lane& steps = products.of(0);
  for (std::size_t i = 0; i < count; ++i) cycles[i] = steps[i] * model_.cycles_per_step + first_changes_;
  for (const auto& [component, skew] : changes_)
    for (std::size_t i = 0; i < count; ++i) cycles[i] += products.of(component)[i] * skew;
  for (std::size_t i = 0; whole && i < count; ++i) cycles[i] = whole_number(cycles[i]);
  for (std::size_t l = 0; l < static_cast<std::size_t>(model_.levels); ++l) {
    const FlatLevel& level = model_.level[l];
    const Lane& read = products.read[l];
    const Lane& write = products.write[l];
    if ((timed_ >> l & 1U) != 0)
      for (std::size_t i = 0; i < count; ++i) {
        const double shared = (read[i] + write[i]) * level.cycles_per_bit;
        const double own = std::max(read[i] * level.cycles_per_read_bit, write[i] * level.cycles_per_write_bit);
        const double busy = std::max(shared, own);
        cycles[i] = std::max(cycles[i], whole ? whole_number(busy) : busy);
      }
    const double per_bit = 1 / level.capacity;
    if ((limited_ >> l & 1U) != 0)
      for (std::size_t i = 0; i < count; ++i) over[i] *= std::max(1.0, products.used[l][i] * per_bit);
    for (std::size_t r = 0; level.partitioned && (limited_ >> l & 1U) != 0 && r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i) over[i] *= std::max(1.0, products.part[l][r][i] / level.partition[r]);
  }
  for (const auto& [component, limit] : fans_)
    for (std::size_t i = 0; i < count; ++i) over[i] *= std::max(1.0, products.of(component)[i] * (1 / limit));
  for (std::size_t i = 0; i < count; ++i) {
    cycles[i] += products.serial[i];
    if (model_.cycles_per_pj > 0) {
      const double least = products.energy[i] * model_.cycles_per_pj;
      cycles[i] = std::max(cycles[i], whole ? whole_number(least) : least);
    }
    products.energy[i] += cycles[i] * model_.leakage_pj_per_cycle;
  }
  const double per_cycle = 1 / goal_.max_cycles;
  const double per_pj = 1 / goal_.max_energy_pj;
  for (std::size_t i = 0; per_cycle + per_pj > 0 && i < count; ++i)
    over[i] *= std::max(1.0, cycles[i] * per_cycle) * std::max(1.0, products.energy[i] * per_pj);
  for (std::size_t i = 0; i < count; ++i) {
    out.cycles[i] = cycles[i];
    out.energy_pj[i] = products.energy[i];
    out.overshoot[i] = over[i];
  }
  const auto values = [&](const auto& value) {
    for (std::size_t i = 0; i < count; ++i)
      out.value[i] = over[i] > 1 + 1e-9 ? Goal::unlimited : value(cycles[i], products.energy[i]);
  };
  if (goal_.objective == Objective::energy_delay)
    values([](double time, double energy) { return time * energy; });
  else
    values([&](double time, double energy) { return value_of(goal_, time, energy); });
}

bool ProductCosts::fits_alone(const std::vector<double>& row) const {
  for (const auto& [component, limit] : fans_)
    if (row[static_cast<std::size_t>(component)] > limit) return false;
  for (const Entry& entry : entries_) {
    if (entry.footprint < 0) continue;
    const FlatOperand& operand = model_.operand[entry.operand];
    const FlatLevel& level = model_.level[entry.level];
    const double limit = std::min(level.capacity, level.partition[static_cast<std::size_t>(operand.role)]);
    const double bits = std::min(operand.bits, operand.partial_bits) * level.copies;
    if (row[static_cast<std::size_t>(entry.footprint)] * bits > limit * (1 + 1e-9)) return false;
  }
  return true;
}

Mapping ProductCosts::mapping(const std::vector<std::uint32_t>& choices, const OrderClass& orders) const {
  std::vector<const FactorVector*> factors;
  for (int d = 0; d < model_.dims; ++d) factors.push_back(&space_.factors(d).front());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::uint32_t number = choices[g];
    for (const int d : groups_[g]) {
      const std::vector<FactorVector>& list = space_.factors(d);
      factors[static_cast<std::size_t>(d)] = &list[number % list.size()];
      number /= static_cast<std::uint32_t>(list.size());
    }
  }
  return space_.build(factors, loop_orders(space_, orders, model_.dims), keeps_);
}

std::uint32_t ProductCosts::choice_of(std::size_t group, const Mapping& mapping) const {
  std::uint32_t number = 0;
  for (auto k = groups_[group].size(); k-- > 0;) {
    const int d = groups_[group][k];
    FactorVector wanted(space_.slots().size(), 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(mapping.count); ++i)
      for (std::size_t s = 0; s < wanted.size(); ++s)
        if (mapping.loops[i].dim == d && mapping.loops[i].level == space_.slots()[s].level &&
            mapping.loops[i].kind == space_.slots()[s].kind)
          wanted[s] *= mapping.loops[i].bound;
    const std::vector<FactorVector>& list = space_.factors(d);
    const auto place = std::lower_bound(list.begin(), list.end(), wanted);
    KASIMIR_CHECK(place != list.end() && *place == wanted, "bounds of dimension {} outside the space", d);
    number = number * static_cast<std::uint32_t>(list.size()) + static_cast<std::uint32_t>(place - list.begin());
  }
  return number;
}

}  // namespace kasimir
