// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/counts.h"

/// Times and energies of counted traffic.
namespace kasimir {

template <typename S>
struct BasicEvaluation {
  using R = Real<S>;

  BasicCounts<S> counts;
  R cycles{};                              ///< of the whole run
  R compute_cycles{};                      ///< if memories were infinitely fast
  R serial_cycles{};                       ///< in which single buffers move tiles and nothing else happens
  R fill_cycles{};                         ///< before the first operation, where the options count it
  R drain_cycles{};                        ///< after the last
  R pause_cycles{};                        ///< in which nothing happens, to keep the limit of power
  std::array<R, max_levels> level_cycles;  ///< that each level's busiest port needs
  R energy_pj{};                           ///< all of the following
  R compute_pj{};
  R hop_pj{};
  R leakage_pj{};
  std::array<R, max_levels> level_pj;  ///< of each level's accesses
  R utilization{};                     ///< operations / what all compute units could do in this time
  double area_um2 = 0;
  bool finished = true;  ///< false if the options stopped it at a violation: only violations hold then

  [[nodiscard]] bool fits() const { return counts.violation_count == 0; }
  /// Cycles in which the compute units wait for memories: never negative.
  [[nodiscard]] R stall_cycles() const { return cycles - compute_cycles; }
};

using Evaluation = BasicEvaluation<double>;

/// Traffic of one operand at one instance of a level, or of all operands.
template <typename R>
struct Traffic {
  R reads{0};  ///< elements
  R writes{0};
  R read_bits{0};
  R write_bits{0};
};

/// Results are updated once at their final width, as long as no other instance has a part of the sum.
template <typename S>
Traffic<Real<S>> traffic_of(const CostModel& model, const BasicCounts<S>& counts, const BasicCount<S>& entry) {
  using R = Real<S>;
  const FlatOperand& operand = model.operand[static_cast<std::size_t>(entry.operand)];
  Traffic<R> traffic;
  traffic.reads = as_real(entry.reads);
  traffic.writes = as_real(entry.fills) + as_real(entry.updates);
  traffic.read_bits = traffic.reads * R(operand.partial_bits);
  traffic.write_bits = traffic.writes * R(operand.partial_bits);
  const Truth split = counts.split_sums[static_cast<std::size_t>(entry.level)];
  if (operand.bits == operand.partial_bits || split == Truth::yes) return traffic;
  R finished = as_real(entry.distinct);
  if constexpr (std::same_as<R, Interval>)
    if (split == Truth::maybe) finished = hull(finished, R(0));
  traffic.write_bits -= finished * R(operand.partial_bits - operand.bits);
  return traffic;
}

template <typename S>
class Pricer {
  using R = Real<S>;

 public:
  Pricer(const CostModel& model, const BasicCounts<S>& times, const BasicCounts<S>& totals, BasicEvaluation<S>& out)
      : model_(model), times_(times), totals_(totals), out_(out) {}

  void run() {
    energies();
    latencies();
    pause();
    out_.leakage_pj = out_.cycles * R(model_.leakage_pj_per_cycle);
    out_.energy_pj += out_.leakage_pj;
    const R points = as_real(totals_.steps) * as_real(totals_.instances[levels()]);
    out_.utilization = points * R(model_.cycles_per_step) / (out_.cycles * R(model_.units));
    out_.area_um2 = model_.area_um2;
  }

 private:
  [[nodiscard]] std::size_t levels() const { return static_cast<std::size_t>(model_.levels); }
  void energies();
  void latencies();
  void level_times();
  void fill_and_drain();
  void pause();
  R whole(const R& cycles) const { return model_.options.whole_cycles ? round_up(cycles) : cycles; }
  [[nodiscard]] double read_rate(std::size_t l) const {
    return std::max(model_.level[l].cycles_per_bit, model_.level[l].cycles_per_read_bit);
  }
  [[nodiscard]] double write_rate(std::size_t l) const {
    return std::max(model_.level[l].cycles_per_bit, model_.level[l].cycles_per_write_bit);
  }

  const CostModel& model_;
  const BasicCounts<S>& times_;
  const BasicCounts<S>& totals_;
  BasicEvaluation<S>& out_;
};

template <typename S>
void Pricer<S>::energies() {
  for (std::size_t l = 0; l < levels(); ++l) out_.level_pj[l] = R(0);
  for (int i = 0; i < totals_.count; ++i) {
    const BasicCount<S>& entry = totals_.entries[static_cast<std::size_t>(i)];
    const auto l = static_cast<std::size_t>(entry.level);
    const FlatLevel& level = model_.level[l];
    const Traffic<R> traffic = traffic_of(model_, totals_, entry);
    out_.level_pj[l] += as_real(totals_.instances[l]) *
                        (traffic.reads * R(level.read_pj) + traffic.writes * R(level.write_pj) +
                         traffic.read_bits * R(level.read_pj_per_bit) + traffic.write_bits * R(level.write_pj_per_bit));
  }
  out_.compute_pj = as_real(totals_.steps) * as_real(totals_.instances[levels()]) * R(model_.operation_pj);
  out_.hop_pj = R(0);
  out_.energy_pj = out_.compute_pj;
  for (std::size_t l = 0; l < levels(); ++l) {
    if (model_.hops) out_.hop_pj += as_real(totals_.hop_bits[l]) * R(model_.level[l].hop_pj_per_bit);
    out_.energy_pj += out_.level_pj[l];
  }
  out_.energy_pj += out_.hop_pj;
}

template <typename S>
void Pricer<S>::level_times() {
  std::array<Traffic<R>, max_levels> sums;
  for (std::size_t l = 0; l < levels(); ++l) sums[l] = {};
  out_.serial_cycles = R(0);
  for (int i = 0; i < times_.count; ++i) {
    const auto l = static_cast<std::size_t>(times_.entries[static_cast<std::size_t>(i)].level);
    // the one instance of a level sees all passes, also the shorter ones
    const BasicCounts<S>& counts = largest(times_.instances[l]) > 1 ? times_ : totals_;
    const BasicCount<S>& entry = counts.entries[static_cast<std::size_t>(i)];
    const Traffic<R> traffic = traffic_of(model_, counts, entry);
    sums[l].read_bits += traffic.read_bits;
    sums[l].write_bits += traffic.write_bits;
    if (!model_.level[l].single || entry.outermost) continue;
    const FlatOperand& operand = model_.operand[static_cast<std::size_t>(entry.operand)];
    const R moved = as_real(entry.fills) * R(operand.partial_bits) + as_real(entry.distinct) * R(operand.bits);
    out_.serial_cycles += whole(moved * R(write_rate(l)));
  }
  for (std::size_t l = 0; l < levels(); ++l) {
    const FlatLevel& level = model_.level[l];
    out_.level_cycles[l] = whole(larger(R((sums[l].read_bits + sums[l].write_bits) * R(level.cycles_per_bit)),
                                        larger(R(sums[l].read_bits * R(level.cycles_per_read_bit)),
                                               R(sums[l].write_bits * R(level.cycles_per_write_bit)))));
  }
}

template <typename S>
void Pricer<S>::latencies() {
  out_.compute_cycles = as_real(times_.steps) * R(model_.cycles_per_step);
  for (std::size_t l = 0; l < levels(); ++l)
    if (model_.level[l].systolic != Systolic::none)
      out_.compute_cycles += as_real(times_.changes[l]) * R(model_.level[l].skew);
  out_.compute_cycles = whole(out_.compute_cycles);
  level_times();
  out_.cycles = out_.compute_cycles;
  for (std::size_t l = 0; l < levels(); ++l) out_.cycles = larger(out_.cycles, out_.level_cycles[l]);
  out_.fill_cycles = out_.drain_cycles = R(0);
  if (model_.options.fill_and_drain) fill_and_drain();
  out_.cycles += out_.serial_cycles + out_.fill_cycles + out_.drain_cycles;
}

/// The first tiles come down level by level, each as fast as the slower of the two ports; the last results go up.
template <typename S>
void Pricer<S>::fill_and_drain() {
  for (int i = 0; i < times_.count; ++i) {
    const BasicCount<S>& above = times_.entries[static_cast<std::size_t>(i)];
    if (above.below < 0) continue;
    const BasicCount<S>& below = times_.entries[static_cast<std::size_t>(above.below)];
    const auto outer = static_cast<std::size_t>(above.level);
    const auto inner = static_cast<std::size_t>(below.level);
    const FlatOperand& operand = model_.operand[static_cast<std::size_t>(above.operand)];
    const R sent = as_real(above.first) * R(operand.bits);
    const R tile = as_real(below.footprint) * R(operand.bits);
    if (operand.role != OperandRole::output)
      out_.fill_cycles += whole(larger(R(sent * R(read_rate(outer))), R(tile * R(write_rate(inner)))));
    else
      out_.drain_cycles += whole(larger(R(sent * R(write_rate(outer))), R(tile * R(read_rate(inner)))));
  }
}

/// Longer times until energy / time keeps the limit.
template <typename S>
void Pricer<S>::pause() {
  out_.pause_cycles = R(0);
  if (model_.cycles_per_pj <= 0) return;
  const R least = whole(R(out_.energy_pj * R(model_.cycles_per_pj)));
  out_.pause_cycles = larger(R(0), R(least - out_.cycles));
  out_.cycles = larger(out_.cycles, least);
}

/// Times and energies of counts that are there. `times` holds the counts of the busiest instance, `totals` those of an
/// average one: the same, unless the bounds of a dimension multiply to more than its size.
template <typename S>
void price(const CostModel& model, const BasicCounts<S>& times, const BasicCounts<S>& totals, BasicEvaluation<S>& out) {
  Pricer<S>(model, times, totals, out).run();
}

}  // namespace kasimir
