// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/exact_fit.h"

#include <limits>

namespace kasimir {

/// What there is to search for: some sites with everything that ties them.
struct SiteGroup {
  std::vector<std::size_t> sites;
  bool has_start = false;  ///< the fast solution keeps the budget at these sites
};

/// Branch and bound over the values of one group of sites. Boxes of values are bounded term by term; see exact_fit().
class BoxSearch {
 public:
  BoxSearch(const FitProblem& problem, const Budget& budget, double most_volume, SiteGroup group,
            const FitSolution& start, const ExactOptions& options);

  void run(std::int64_t most_nodes);

  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] bool complete() const { return stack_bound_.empty(); }
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }
  /// No allowed values use more.
  [[nodiscard]] double bound() const { return bound_; }
  void write(FitSolution& solution) const;

 private:
  /// One symbol at one site.
  struct Variable {
    std::size_t site;
    std::size_t symbol;
    std::vector<std::int64_t> values;  ///< ascending
  };
  struct Interval {
    double low = 0.0;
    double high = 0.0;
  };
  /// Indices in the variables' values: first and last.
  struct Range {
    std::int32_t first, last;
  };
  struct Use {
    double on_sum = 0.0, mean = 0.0;
    [[nodiscard]] double most() const { return std::max(on_sum, mean); }
  };
  /// A term of a sum in one variable, with everything else at a corner of the box.
  struct Piece {
    double factor;
    int power;
  };

  [[nodiscard]] double value(std::size_t variable, std::int32_t index) const {
    return static_cast<double>(variables_[variable].values[static_cast<std::size_t>(index)]);
  }
  [[nodiscard]] std::size_t variable_of(std::size_t local, std::size_t symbol) const {
    return local * problem_->symbols().size() + place_of_[symbol];
  }
  [[nodiscard]] double high(CostKind kind, std::size_t site) const;
  [[nodiscard]] double low(CostKind kind, std::size_t site) const;
  [[nodiscard]] double count(std::size_t local) const;

  double corner(const SumPerSite& sum, std::size_t term, std::size_t local, bool upper, std::size_t without) const;
  void bound_site(std::size_t local);
  bool bound_box();
  [[nodiscard]] bool volumes_fit(std::size_t local) const;
  [[nodiscard]] Use use_above() const;
  bool narrow();
  bool narrow_by(std::size_t variable, const SumPerSite& sum, std::size_t first_term, std::size_t last_term,
                 double fixed, double at_most, double at_least);
  void collect(std::size_t variable, const SumPerSite& sum, std::size_t first_term, std::size_t last_term, bool upper);
  [[nodiscard]] double pieces_at(double rising, double falling) const;
  [[nodiscard]] bool falls() const;
  bool cut_high(std::size_t variable, double fixed, double at_most);
  bool cut_low(std::size_t variable, double fixed, double at_least);
  template <typename Test>
  static void keep_first(Range& range, Test test);
  template <typename Test>
  static void keep_last(Range& range, Test test);
  [[nodiscard]] double needed(CostKind kind, std::size_t local) const;
  void note_only_line();
  [[nodiscard]] bool hopeless() const;
  void split();
  void accept_point();
  [[nodiscard]] bool joint_sizes_possible() const;
  void visit();

  const FitProblem* problem_;
  const Budget* budget_;
  ExactOptions options_;
  double most_volume_;
  SiteGroup group_;
  std::array<std::size_t, free_symbol_count> place_of_{};
  std::vector<Variable> variables_;

  std::vector<Range> box_;
  std::vector<std::array<Interval, cost_kinds>> at_site_;  ///< costs in the box
  std::array<Interval, cost_kinds> total_{};
  int only_line_ = -1;  ///< the one cost that can still improve the use, if there is just one

  std::vector<Range> stack_;         ///< boxes to come, one after the other
  std::vector<double> stack_bound_;  ///< what each can use at most
  std::vector<Range> best_;
  bool found_ = false;
  double best_use_ = -std::numeric_limits<double>::infinity();
  double best_modelled_ = std::numeric_limits<double>::infinity();
  double bound_ = -std::numeric_limits<double>::infinity();
  std::vector<Piece> pieces_;
  std::int64_t nodes_ = 0;
};

}  // namespace kasimir
