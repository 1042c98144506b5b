// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/product_costs.h"

#include <functional>
#include <vector>

/// Bounds of all mappings that take one row from each of several tables.
///
/// A price is a sum of products of rows' factors. By the inequality of weighted means, sum t_k >= prod (t_k / s_k)^s_k
/// for shares s_k that add up to 1, with equality where the shares are those of the terms; the right side is a product
/// of one factor for each table, so its least value is found table by table. A limit `used <= 1` joins as used^price
/// (Lagrange). Shares and prices come from a point between mappings, where the value and a penalty for limits are least
/// among all means of rows that were least so far (Frank and Wolfe, 1956; fully corrective: Holloway, 1974). Each step
/// gives a bound, and each row one of its own, so that rows which no good mapping takes are dropped.
namespace kasimir {

class LogBound {
 public:
  /// `form` must outlive it.
  LogBound(const PriceForm& form, const CostModel& model, std::size_t components, const Goal& goal);

  struct Tightened {
    double bound = 0;     ///< no choice of the rows that are left or were dropped has a lower value
    double dropped = 0;   ///< the least bound among rows that were dropped
    bool beaten = false;  ///< nothing is left that could be below `cut`
  };

  /// Steps until nothing below `cut` is left or `steps` are done. Drops rows whose bound reaches `cut()`, which may
  /// become lower meanwhile. `point` holds logarithms of all components, where shares come from first, and becomes the
  /// best such place; empty: the middle. `try_rows` gets the rows that look best in each step.
  Tightened tighten(std::vector<FactorTable>& tables, std::vector<double>& point, int steps,
                    const std::function<double()>& cut,
                    const std::function<void(const std::vector<std::size_t>&)>& try_rows);

  /// Of each row of each table: the logarithm of a bound of all that take it, with shares from a point.
  [[nodiscard]] std::vector<std::vector<double>> row_bounds(const std::vector<FactorTable>& tables,
                                                            const std::vector<double>& at);
  /// From the last bound of the products to one of the value.
  [[nodiscard]] double value_of_log(double log_bound) const;

  /// How the logarithm of the value and its penalties changes with those of the components.
  [[nodiscard]] std::vector<double> slope_at(const std::vector<FactorTable>& tables, const std::vector<double>& at);

 private:
  /// A bound of a product: exp(offset + sum of slope * log component) is no more than the sum of products.
  struct Line {
    double offset = 0;
    std::vector<double> slope;  // of each component
  };
  /// Products that are added, less a number.
  struct Bounded {
    std::vector<Monomial> terms;
    double away = 0;
  };
  /// Rows that were least, with weights that add up to 1.
  struct Hull {
    std::vector<std::vector<double>> corners;
    std::vector<double> weights;
    std::vector<double> mean;
    void join(const std::vector<double>& corner, const std::vector<double>& slope);
  };
  [[nodiscard]] std::vector<double> middle_of(const std::vector<FactorTable>& tables) const;
  [[nodiscard]] Line line_at(const std::vector<double>& at);
  void descend(Hull& hull);
  void find_ranges(const std::vector<FactorTable>& tables);
  [[nodiscard]] double log_of(const Monomial& monomial, const std::vector<double>& at) const;
  [[nodiscard]] double sum_of(const std::vector<Monomial>& terms, const std::vector<double>& at) const;
  [[nodiscard]] double value_at(const PriceSum& sum, const std::vector<double>& at) const;
  void add_mean(const std::vector<Monomial>& terms, const std::vector<double>& at, double weight, Line& line) const;
  void add(const PriceSum& from, double by, const std::vector<double>& at, Bounded& to) const;
  void add_output(const OutputTerm& from, double by, const std::vector<double>& at, Bounded& to) const;
  [[nodiscard]] std::vector<Monomial> chords(const OutputTerm& term) const;
  void combine(const std::vector<double>& at);
  void add_limits(const std::vector<double>& at, Line& line) const;
  [[nodiscard]] std::vector<Monomial> held_terms(const HeldShare& held) const;
  /// The other way round.
  [[nodiscard]] double log_of_value(double value) const;
  void find_least(const std::vector<FactorTable>& tables, const Line& line);
  void drop(std::vector<FactorTable>& tables, double offset, double cut, Tightened& result);

  const PriceForm& form_;
  const CostModel& model_;
  std::size_t components_;
  Goal goal_;
  Bounded first_;                   // the value, or energy
  Bounded second_;                  // cycles, only for energy * delay
  double left_ = 1;                 // of energy * delay after what is taken away, as a share
  std::vector<double> low_, high_;  // logarithms of what components can be
  std::vector<std::vector<double>> row_values_;
  std::vector<double> least_;
  std::vector<std::size_t> least_row_;
};

}  // namespace kasimir
