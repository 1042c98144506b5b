// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/product_costs.h"
#include "kasimir/hardware/search/referee.h"

namespace kasimir {

/// Goes through all mappings that take one row of each table, group by group: the rows of one group at a time, the most
/// promising first, with the least that the groups to come can add.
class RowEnumeration {
 public:
  /// What is given must outlive it. Values from `keep` times the best so far upwards are of no interest.
  RowEnumeration(Referee& referee, const ProductCosts& costs, const OrderClass& orders,
                 const std::vector<FactorTable>& tables, double keep);

  /// False if the referee stopped it.
  bool run();
  /// The lowest bound among what was judged or left out.
  [[nodiscard]] double lost() const { return lost_; }

 private:
  struct Child {
    double bound;
    std::size_t row;
  };
  [[nodiscard]] double cut() const { return referee_.best() * keep_; }
  bool descend(std::size_t depth, const std::vector<double>& so_far);
  bool visit(std::size_t depth, const std::vector<double>& so_far, const std::vector<Child>& children);

  Referee& referee_;
  const ProductCosts& costs_;
  const OrderClass& orders_;
  const std::vector<FactorTable>& tables_;
  const double keep_;
  std::vector<std::size_t> order_;         // of groups, those with few rows first
  std::vector<std::vector<double>> rest_;  // the least of each component over the groups from a place on
  std::vector<std::uint32_t> chosen_;
  double lost_ = Goal::unlimited;
};

}  // namespace kasimir
