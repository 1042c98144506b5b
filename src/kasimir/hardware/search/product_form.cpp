// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/product_costs.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

void append(std::vector<Monomial>& to, double coefficient, int component) {
  if (coefficient > 0) to.push_back({std::log(coefficient), static_cast<std::int16_t>(component), -1, 1});
}

/// `by` times all of `from`.
void append(PriceSum& to, const PriceSum& from, double by) {
  if (by <= 0) return;
  for (Monomial term : from.terms) {
    term.log_coefficient += std::log(by);
    to.terms.push_back(term);
  }
  for (OutputTerm term : from.outputs) {
    term.by_update *= by;
    term.by_refill *= by;
    term.saved *= by;
    to.outputs.push_back(term);
  }
}

}  // namespace

/// Energy and serial time of an input's or weight's entry.
void ProductCosts::add_form(const Entry& entry, PriceForm& form) const {
  const FlatLevel& level = model_.level[entry.level];
  const double bits = model_.operand[entry.operand].bits;
  if (entry.time && !entry.outermost && level.single)
    append(form.serial.terms, bits * std::max(level.cycles_per_bit, level.cycles_per_write_bit), entry.fills);
  if (!entry.energy) return;
  append(form.energy.terms, level.read_pj + bits * level.read_pj_per_bit, entry.served_all);
  if (!entry.outermost) append(form.energy.terms, level.write_pj + bits * level.write_pj_per_bit, entry.fills_all);
}

/// Per result: reads are at least u - 1, updates u, fills b - 1, and the last update may be narrow.
void ProductCosts::add_output_form(const Entry& entry, PriceForm& form) const {
  const FlatLevel& level = model_.level[entry.level];
  const double partial = model_.operand[0].partial_bits;
  const double narrower = std::max(0, model_.operand[0].partial_bits - model_.operand[0].bits);
  const bool refilled = entry.refills >= 0;
  const double elided = refilled && model_.options.first_fill_elided ? 1 : 0;
  OutputTerm term{.updates = static_cast<std::int16_t>(entry.updates),
                  .refills = static_cast<std::int16_t>(entry.refills)};
  if (entry.time && refilled && level.single) {
    term.result = static_cast<std::int16_t>(entry.result);
    term.by_refill = partial * std::max(level.cycles_per_bit, level.cycles_per_write_bit);
    term.saved = elided * term.by_refill;
    form.serial.outputs.push_back(term);
  }
  if (!entry.energy) return;
  const double read_pj = level.read_pj + partial * level.read_pj_per_bit;
  const double write_pj = level.write_pj + partial * level.write_pj_per_bit;
  term.result = static_cast<std::int16_t>(entry.result_all);
  term.by_update = read_pj + write_pj;
  term.by_refill = refilled ? write_pj : 0;
  term.saved = read_pj + elided * write_pj + narrower * level.write_pj_per_bit;
  form.energy.outputs.push_back(term);
}

std::vector<HeldShare> ProductCosts::held_form() const {
  std::vector<HeldShare> all;
  for (std::size_t l = 0; l < static_cast<std::size_t>(model_.levels); ++l) {
    const FlatLevel& level = model_.level[l];
    HeldShare whole;
    std::array<HeldShare, 3> by_role;
    for (const Entry& entry : entries_) {
      if (entry.level != l || entry.footprint < 0) continue;
      const FlatOperand& operand = model_.operand[entry.operand];
      const bool sums = entry.operand == 0 && operand.bits != operand.partial_bits;
      const double bits = level.copies * (sums ? std::min(operand.bits, operand.partial_bits) : operand.bits);
      const double wide = level.copies * (sums ? operand.partial_bits : operand.bits);
      const auto part = [&](double limit) -> HeldShare::Part {
        return {.tile = {std::log(bits / limit), static_cast<std::int16_t>(entry.footprint), -1, 1},
                .wide = std::log(wide / limit),
                .updates = static_cast<std::int16_t>(sums ? entry.updates : -1),
                .split = static_cast<std::int16_t>(sums ? entry.split : -1)};
      };
      const auto role = static_cast<std::size_t>(operand.role);
      if (!std::isinf(level.capacity)) whole.parts.push_back(part(level.capacity));
      if (!std::isinf(level.partition[role])) by_role[role].parts.push_back(part(level.partition[role]));
    }
    if (!whole.parts.empty()) all.push_back(std::move(whole));
    for (HeldShare& role : by_role)
      if (!role.parts.empty()) all.push_back(std::move(role));
  }
  return all;
}

/// Computing, and each port of each level.
std::vector<PriceSum> ProductCosts::times_form() const {
  struct Port {
    PriceSum read, write;
  };
  std::array<Port, max_levels> ports;
  const double partial = model_.operand[0].partial_bits;
  const double narrower = std::max(0, model_.operand[0].partial_bits - model_.operand[0].bits);
  for (const Entry& entry : entries_) {
    if (!entry.time) continue;
    Port& port = ports[entry.level];
    if (entry.operand != 0) {
      const double bits = model_.operand[entry.operand].bits;
      append(port.read.terms, bits, entry.served);
      if (!entry.outermost) append(port.write.terms, bits, entry.fills);
      continue;
    }
    const bool refilled = entry.refills >= 0;
    OutputTerm term{.result = static_cast<std::int16_t>(entry.result),
                    .updates = static_cast<std::int16_t>(entry.updates),
                    .refills = static_cast<std::int16_t>(entry.refills),
                    .by_update = partial,
                    .by_refill = 0,
                    .saved = partial};
    port.read.outputs.push_back(term);
    term.by_refill = refilled ? partial : 0;
    term.saved = (refilled && model_.options.first_fill_elided ? partial : 0) + narrower;
    port.write.outputs.push_back(term);
  }
  std::vector<PriceSum> times(1);
  append(times[0].terms, model_.cycles_per_step, 0);
  append(times[0].terms, first_changes_, -1);
  for (const auto& [component, skew] : changes_) append(times[0].terms, skew, component);
  for (std::size_t l = 0; l < static_cast<std::size_t>(model_.levels); ++l) {
    const FlatLevel& level = model_.level[l];
    PriceSum shared;
    append(shared, ports[l].read, level.cycles_per_bit);
    append(shared, ports[l].write, level.cycles_per_bit);
    PriceSum read;
    append(read, ports[l].read, level.cycles_per_read_bit);
    PriceSum write;
    append(write, ports[l].write, level.cycles_per_write_bit);
    for (PriceSum* busy : {&shared, &read, &write})
      if (!busy->terms.empty() || !busy->outputs.empty()) times.push_back(std::move(*busy));
  }
  return times;
}

PriceForm ProductCosts::form() const {
  PriceForm form;
  append(form.energy.terms, model_.problem.points() * model_.operation_pj, -1);
  for (const Entry& entry : entries_)
    if (entry.operand == 0)
      add_output_form(entry, form);
    else
      add_form(entry, form);
  for (const auto& [component, pj] : hops_) append(form.energy.terms, pj, component);
  form.times = times_form();
  if (model_.cycles_per_pj > 0) append(form.times.emplace_back(), form.energy, model_.cycles_per_pj);
  form.held = held_form();
  for (const auto& [component, limit] : fans_) append(form.fans, 1 / limit, component);
  return form;
}

}  // namespace kasimir
