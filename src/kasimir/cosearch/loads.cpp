// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/loads.h"

#include <algorithm>

namespace kasimir {

LoadTable load_table(const ChoiceSpace& space, Aggregate aggregate, std::vector<std::string> parts) {
  LoadTable table;
  table.aggregate = aggregate;
  table.base.assign(parts.size(), 0);
  table.parts = std::move(parts);
  for (const BlockSpace& block : space.blocks)
    table.loads.emplace_back(block.ops.size(), std::vector<std::vector<PartLoad>>(space.bits.size()));
  return table;
}

double total_load(const std::vector<PartLoad>& loads) {
  double sum = 0;
  for (const PartLoad& one : loads) sum += one.load;
  return sum;
}

double joined(Aggregate aggregate, const std::vector<double>& loads) {
  double result = aggregate == Aggregate::product ? 1 : 0;
  for (const double load : loads) {
    if (aggregate == Aggregate::max) result = std::max(result, load);
    if (aggregate == Aggregate::sum) result += load;
    if (aggregate == Aggregate::product) result *= load;
  }
  return result;
}

std::vector<double> loads_of(const LoadTable& table, const ChoiceDesign& design) {
  std::vector<double> sums = table.base;
  for (std::size_t l = 0; l < design.size(); ++l)
    for (const PartLoad& one : table.loads[l][design[l].op][design[l].bits]) sums[one.part] += one.load;
  return sums;
}

double cost_of(const LoadTable& table, const ChoiceDesign& design) {
  return joined(table.aggregate, loads_of(table, design));
}

std::vector<double> mean_loads(const LoadTable& table, const ChoiceNumbers& p) {
  std::vector<double> sums = table.base;
  for (std::size_t l = 0; l < table.loads.size(); ++l)
    for (std::size_t o = 0; o < table.loads[l].size(); ++o)
      for (std::size_t j = 0; j < table.loads[l][o].size(); ++j)
        for (const PartLoad& one : table.loads[l][o][j]) sums[one.part] += p.op[l][o] * p.bits[l][o][j] * one.load;
  return sums;
}

}  // namespace kasimir
