// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/product_costs.h"
#include "kasimir/hardware/search/referee.h"

namespace kasimir {

/// A space with the costs of each choice of keeps.
struct TabulatedSpace {
  TabulatedSpace(const CostModel& model, const SpaceRules& rules);
  TabulatedSpace(const TabulatedSpace&) = delete;
  TabulatedSpace& operator=(const TabulatedSpace&) = delete;
  void set_goal(const Goal& goal);

  MappingSpace space;
  std::vector<std::unique_ptr<ProductCosts>> costs;
  bool usable = true;  ///< all costs are; otherwise some are missing
};

/// Block-coordinate descent: one group of dimensions at a time takes the best of all its choices, with the best class
/// of orders, until no group gains; the best mapping so far also with two groups at a time, in the class at hand. Where
/// there are too many of both, bounds and orders take turns; where groups are too large to tabulate, single dimensions
/// are changed by `evaluate`.
class Descent {
 public:
  explicit Descent(Referee& referee);
  /// With tables that others use, too; the goal becomes the referee's.
  Descent(Referee& referee, std::shared_ptr<TabulatedSpace> tables);

  [[nodiscard]] const MappingSpace& space() const { return tables_->space; }
  /// Improves a mapping of the space and judges the result; ends early if the referee says so. Bounds of a group that
  /// alone fit nowhere are first replaced by the nearest that do.
  void run(const Mapping& start);

 private:
  struct Variant {  // a class of orders with one choice of keeps
    std::size_t costs = 0;
    OrderClass orders;
  };
  struct Place {
    std::vector<std::uint32_t> choices;  // of each group
    Variant variant;
    double rank = Goal::unlimited;  // as Referee::rank
  };
  static Variant opened(OrderClass orders, std::size_t costs);
  [[nodiscard]] std::uint32_t nearest_fitting(std::size_t group, const Mapping& start);
  bool improve(std::size_t group, Place& place);
  bool improve_pair(std::size_t first, std::size_t second, Place& place);
  void scan(std::size_t group, const Variant& variant, Place& best);
  void scan_rows(std::size_t group, const Variant& variant, const std::vector<double>& product, Place& best);
  [[nodiscard]] bool others(const Place& place, std::size_t except, std::size_t and_except, const Variant& variant,
                            std::vector<double>& product);
  void settle(Place& place);
  bool pairs(Place& place);
  bool reorder(Place& place);
  void by_tables(const Mapping& start);
  void by_evaluation(Mapping at);
  bool change_dim(int dim, Mapping& at, double& rank);
  bool change_order(Mapping& at, double& rank);
  /// Goes there if it is better.
  bool step(const Mapping& to, Mapping& at, double& rank);

  Referee& referee_;
  std::shared_ptr<TabulatedSpace> tables_;
  std::vector<std::unique_ptr<ProductCosts>>& costs_;
  std::vector<Variant> variants_;
  double best_ = Goal::unlimited;  ///< of all runs, after pairs
  bool jointly_ = true;
};

/// Where nothing was found yet: looks for the mapping that overshoots least, so that the answer can say why.
void look_for_nearest(Referee& referee, Descent& descent);

}  // namespace kasimir
