// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace kasimir {
namespace {

FlatOperand flatten(const Problem& problem, const Operand& operand) {
  FlatOperand flat;
  flat.bits = static_cast<std::int8_t>(operand.bits);
  flat.partial_bits = static_cast<std::int8_t>(operand.partial_bits);
  flat.role = operand.role;
  std::size_t used = 0;
  for (const OperandRank& rank : operand.ranks) {
    for (const IndexTerm& term : rank.terms) {
      flat.relevant |= 1U << term.dim;
      if (rank.terms.size() > 1) flat.sliding |= 1U << term.dim;
    }
    const bool plain = rank.terms.size() == 1 && std::abs(rank.terms[0].coefficient) == 1 &&
                       rank.extent >= problem.dims[static_cast<std::size_t>(rank.terms[0].dim)].size;
    if (plain) {
      flat.plain[static_cast<std::size_t>(flat.plain_count++)] = static_cast<std::int8_t>(rank.terms[0].dim);
    } else if (!rank.terms.empty()) {
      std::int64_t common = 0;
      const std::size_t first = used;
      for (const IndexTerm& term : rank.terms) {
        common = std::gcd(common, term.coefficient);
        flat.terms[used++] = {static_cast<std::int8_t>(term.dim), static_cast<double>(std::abs(term.coefficient))};
      }
      flat.ranks[static_cast<std::size_t>(flat.rank_count++)] = {
          static_cast<std::int8_t>(first), static_cast<std::int8_t>(rank.terms.size()),
          static_cast<double>(rank.extent), static_cast<double>(common)};
    }
  }
  return flat;
}

/// Dimensions that leave all operands of one of these roles alone.
std::uint32_t dims_that_share(const CostModel& model, RoleSet shares) {
  if (shares == 0) return ~0U;
  std::uint32_t allowed = 0;
  for (unsigned role = 0; role < 3; ++role) {
    if ((shares >> role & 1U) == 0) continue;
    std::uint32_t relevant = 0;
    for (std::size_t t = 0; t < static_cast<std::size_t>(model.operands); ++t)
      if (model.operand[t].role == static_cast<OperandRole>(role)) relevant |= model.operand[t].relevant;
    allowed |= ~relevant;
  }
  return allowed;
}

double inverse(double bandwidth) { return std::isinf(bandwidth) ? 0 : 1 / bandwidth; }

double skew_of(const MemoryLevel& level) {
  if (level.systolic == Systolic::none) return 0;
  const auto rows = static_cast<double>(level.y.size);
  const auto columns = static_cast<double>(level.x.size);
  return rows + columns - 2 + (level.systolic == Systolic::output ? 0 : rows);
}

FlatLevel flatten(const CostModel& model, const MemoryLevel& level) {
  FlatLevel flat;
  flat.capacity = level.capacity_bits;
  flat.partition = level.partition_bits;
  flat.partitioned = !std::all_of(level.partition_bits.begin(), level.partition_bits.end(),
                                  [](double bits) { return std::isinf(bits); });
  const FanOut* fans[] = {&level.x, &level.y};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    flat.fan[axis] = static_cast<double>(fans[axis]->size);
    flat.multicast[axis] = fans[axis]->multicast;
    flat.reduction[axis] = fans[axis]->reduction;
    flat.allowed[axis] = dims_that_share(model, fans[axis]->shares);
  }
  flat.share_overlaps = level.share_overlaps;
  flat.copies = level.buffering == Buffering::doubled ? 2 : 1;
  flat.single = level.buffering == Buffering::single;
  flat.systolic = level.systolic;
  flat.skew = skew_of(level);
  flat.cycles_per_bit = inverse(level.bandwidth);
  flat.cycles_per_read_bit = inverse(level.read_bandwidth);
  flat.cycles_per_write_bit = inverse(level.write_bandwidth);
  flat.read_pj = access_pj(level, level.read_pj);
  flat.write_pj = access_pj(level, level.write_pj);
  flat.read_pj_per_bit = level.read_pj_per_bit;
  flat.write_pj_per_bit = level.write_pj_per_bit;
  flat.hop_pj_per_bit = level.hop_pj_per_bit;
  return flat;
}

}  // namespace

int bits_of(const Problem& problem, OperandRole role) {
  int widest = 0;
  int any = 0;
  for (std::size_t t = 1; t < problem.operands.size(); ++t) {
    any = std::max(any, problem.operands[t].bits);
    if (problem.operands[t].role == role) widest = std::max(widest, problem.operands[t].bits);
  }
  if (widest > 0) return widest;
  return any > 0 ? any : problem.operands.front().bits;
}

CostModel::CostModel(Problem asked, Architecture on, const EvaluationOptions& with)
    : problem(std::move(asked)), architecture(std::move(on)), options(with) {
  check_problem(problem);
  check_architecture(architecture);
  dims = static_cast<int>(problem.dims.size());
  operands = static_cast<int>(problem.operands.size());
  levels = static_cast<int>(architecture.levels.size());
  for (std::size_t d = 0; d < problem.dims.size(); ++d) size[d] = static_cast<double>(problem.dims[d].size);
  for (std::size_t t = 0; t < problem.operands.size(); ++t) {
    operand[t] = flatten(problem, problem.operands[t]);
    for (std::size_t l = 0; l < architecture.levels.size(); ++l)
      if ((architecture.levels[l].keeps & role_bit(operand[t].role)) != 0)
        keepable[t] = static_cast<std::uint16_t>(keepable[t] | 1U << l);
  }
  for (std::size_t l = 0; l < architecture.levels.size(); ++l) {
    level[l] = flatten(*this, architecture.levels[l]);
    hops = hops || level[l].hop_pj_per_bit > 0;
    overlaps = overlaps || level[l].share_overlaps;
  }
  mac = mac_cost(architecture.compute, bits_of(problem, OperandRole::input), bits_of(problem, OperandRole::weight));
  cycles_per_step = problem.operations / mac.operations_per_cycle;
  operation_pj = problem.operations * mac.energy_pj;
  const double leakage_mw = architecture.leakage_mw();
  leakage_pj_per_cycle = leakage_mw / architecture.clock_mhz * 1000;  // mW / MHz = nJ per cycle
  if (!std::isinf(options.max_power_mw)) {
    if (!(options.max_power_mw > leakage_mw))
      throw input_error("{} leaks {:.6g} mW, the limit of power is {:.6g} mW", architecture.name, leakage_mw,
                        options.max_power_mw);
    cycles_per_pj = architecture.clock_mhz / (options.max_power_mw - leakage_mw) / 1000;  // MHz / mW = cycles per nJ
  }
  area_um2 = architecture.area_um2();
  units = architecture.units();
}

}  // namespace kasimir
