// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/row_enumeration.h"

#include <algorithm>

namespace kasimir {

RowEnumeration::RowEnumeration(Referee& referee, const ProductCosts& costs, const OrderClass& orders,
                               const std::vector<FactorTable>& tables, double keep)
    : referee_(referee), costs_(costs), orders_(orders), tables_(tables), keep_(keep) {}

bool RowEnumeration::run() {
  const std::size_t width = costs_.components();
  order_.resize(tables_.size());
  for (std::size_t g = 0; g < order_.size(); ++g) order_[g] = g;
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return tables_[a].rows < tables_[b].rows; });
  rest_.assign(tables_.size() + 1, std::vector<double>(width, 1.0));
  for (std::size_t k = tables_.size(); k-- > 0;)
    for (std::size_t c = 0; c < width; ++c) rest_[k][c] = rest_[k + 1][c] * tables_[order_[k]].least[c];
  chosen_.assign(tables_.size(), 0);
  return descend(0, std::vector<double>(width, 1.0));
}

bool RowEnumeration::descend(std::size_t depth, const std::vector<double>& so_far) {
  if (depth > 0 && referee_.over()) return false;
  const FactorTable& table = tables_[order_[depth]];
  std::vector<double> others(so_far.size());
  for (std::size_t c = 0; c < so_far.size(); ++c) others[c] = so_far[c] * rest_[depth + 1][c];
  std::vector<Child> children;
  PricedBlock block;
  for (std::size_t from = 0; from < table.rows; from += PricedBlock::size) {
    const std::size_t count = std::min(PricedBlock::size, table.rows - from);
    costs_.price(others.data(), table, from, count, block);
    referee_.count(count);
    for (std::size_t i = 0; i < count; ++i)
      if (block.value[i] < cut())
        children.push_back({block.value[i], from + i});
      else
        lost_ = std::min(lost_, block.value[i]);
  }
  std::sort(children.begin(), children.end(),
            [](const Child& a, const Child& b) { return a.bound != b.bound ? a.bound < b.bound : a.row < b.row; });
  return visit(depth, so_far, children);
}

bool RowEnumeration::visit(std::size_t depth, const std::vector<double>& so_far, const std::vector<Child>& children) {
  const FactorTable& table = tables_[order_[depth]];
  std::vector<double> product(so_far.size());
  for (const Child& child : children) {
    if (child.bound >= cut()) {
      lost_ = std::min(lost_, child.bound);
      return true;
    }
    chosen_[order_[depth]] = table.choice[child.row];
    if (depth + 1 == order_.size()) {
      referee_.judge(costs_.mapping(chosen_, orders_));
      lost_ = std::min(lost_, child.bound);
      continue;
    }
    for (std::size_t c = 0; c < so_far.size(); ++c) product[c] = so_far[c] * table.column(c)[child.row];
    if (descend(depth + 1, product)) continue;
    lost_ = std::min(lost_, child.bound);  // the children are sorted
    return false;
  }
  return true;
}

}  // namespace kasimir
