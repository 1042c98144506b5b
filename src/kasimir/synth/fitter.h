// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/synth/fit_block.h"

/// The budget solver on plain numbers: what a kernel costs at each site as sums of factor * x0^p0 * .. * x5^p5, which
/// values the free symbols x0 .. x5 may take, and the values that a budget allows.
namespace kasimir {

struct SolverOptions {
  std::int64_t lane = 8;                               ///< free sizes are multiples of it where the site allows
  std::int64_t most_elements = std::int64_t{1} << 21;  ///< of one tensor for one image (Canvas's limit)
  /// Where a site uses less of its binding limit than this with values on the lane, it takes values between them:
  /// multiples of half the lane, of a quarter of it, .., as far as needed. 0: never.
  double enough_use = 0.99;
  /// A width / Co is at most so many times the smallest one of its symbol over the sites, where that keeps the lower
  /// limits. Infinite: any. Of budgets for each site.
  double most_imbalance = 2.0;
};

/// Why there are no values, as numbers; explain() puts it into words.
struct FitFailure {
  enum class Why : std::uint8_t {
    none,
    no_value,  ///< no value of some free symbol makes every size whole
    memory,    ///< a tensor is too large at the least widths
    above,     ///< a cost is above its upper limit at the least widths
    below      ///< a cost stays below its lower limit
  };
  Why why = Why::none;
  CostKind cost = CostKind::macs;
  int site = -1;         ///< -1: the sum over the network
  double reached = 0.0;  ///< the nearest value; a fraction of what is replaced where the limit is one

  [[nodiscard]] bool ok() const { return why == Why::none; }
};

/// "budget: macs at most 0.5" with "0.53 at Ci=64 Co=64 H=56 W=56 s=1". @pre !failure.ok()
Rejection explain(const FitFailure& failure, const Budget& budget, std::span<const SiteLoad> sites,
                  const SolverOptions& options);

/// What a solution that keeps the budget is judged by, in this order.
struct FitObjective {
  /// The least width / Co over sites and symbols at the largest common ratio; larger is better. 0 without symbols.
  double narrowest = 0.0;
  /// The fraction of the binding limit that is used; larger is better. The largest over limits on the sum over the
  /// network, or the mean over sites of the largest over limits at the site, whichever is more. 0 without upper limits.
  double use = 0.0;
  double modelled = 0.0;  ///< MACs and parameters over the network, by count; smaller is better

  [[nodiscard]] bool better_than(const FitObjective& other) const;
};

/// Values for the free symbols at every site, and what they cost there for one use.
struct FitSolution {
  std::vector<FreeValues> values;  ///< by site; 1 where a symbol is not in use
  std::vector<FreeValues> common;  ///< the values at the largest common ratio, before they were raised
  std::vector<double> use;         ///< by site: the largest fraction of a limit at the site that is used; 0 without one
  std::array<std::vector<double>, cost_kinds> cost;  ///< by CostKind, then by site
  std::array<double, cost_kinds> total{};            ///< by CostKind, over all sites by count
  FitObjective objective;

  [[nodiscard]] double at(CostKind kind, std::size_t site) const { return cost[static_cast<std::size_t>(kind)][site]; }
};

/// A kernel's costs and constraints at given sites as numbers: filled once per kernel, then solved. It keeps its memory
/// from kernel to kernel. One thread at a time.
class FitProblem {
 public:
  /// The sites of all kernels to come; forgets the kernel.
  void set_sites(std::span<const SiteLoad> loads);
  /// Forgets the kernel. Each free symbol xi whose bit i is set in `symbols` is to get a value.
  void reset(std::uint8_t symbols);

  // Each takes one number per site. Powers of symbols that are not in use are 0: a failed check otherwise.
  void add_cost(CostKind kind, const Powers& powers, std::span<const double> factors);
  void add_macs(const Powers& powers, std::span<const double> factors) { add_cost(CostKind::macs, powers, factors); }
  void add_params(const Powers& powers, std::span<const double> factors) {
    add_cost(CostKind::params, powers, factors);
  }
  void add_bytes(const Powers& powers, std::span<const double> factors) { add_cost(CostKind::bytes, powers, factors); }
  /// A tensor's elements for one image, to be at most SolverOptions::most_elements.
  void limit_volume(const Powers& powers, std::span<const double> factors);
  /// num / den * prod x^p is to be a whole number >= 1 at each site. @pre den >= 1
  void require_whole(const Powers& powers, std::span<const std::int64_t> num, std::span<const std::int64_t> den);

  /// Finds the largest ratio of the widths to Co that keeps the budget, at each site or, where an upper limit is on the
  /// sum over the network, in common for those sites whose own limits do not bind before; then raises each value as far
  /// as the budget allows. A symbol by which costs are only divided (a number of groups) is lowered instead. If a lower
  /// limit is missed, one symbol after the other is raised first. Without symbols it only checks.
  FitFailure solve(const Budget& budget, const SolverOptions& options, FitSolution& into);
  /// Values near ratio * Co, without any budget or limit on memory.
  FitFailure place(double ratio, std::int64_t lane, FitSolution& into);
  /// Fills in costs, use and objective from `values` and `common`, and says which limit of the last solve's budget is
  /// broken first.
  FitFailure judge(FitSolution& solution) const;

  [[nodiscard]] std::span<const SiteLoad> loads() const { return loads_; }
  [[nodiscard]] std::span<const std::uint8_t> symbols() const { return {symbols_.data(), symbol_count_}; }
  [[nodiscard]] const SumPerSite& costs(CostKind kind) const { return costs_[static_cast<std::size_t>(kind)]; }
  /// Volumes of several symbols or of powers other than 1: those that the lattices do not limit already.
  [[nodiscard]] const SumPerSite& volumes() const { return volumes_; }
  /// As of the last solve.
  [[nodiscard]] const Lattices& lattices() const { return lattices_; }
  /// Costs and volumes have no negative power of the symbol. As of the last solve.
  [[nodiscard]] bool only_rises(std::size_t symbol) const { return (negative_ >> symbol & 1U) == 0; }
  /// What a cost is divided by for a limit: what is replaced at the site, or 1 if the limit is absolute.
  [[nodiscard]] double replaced(const Limit& limit, CostKind kind, std::size_t site) const;

 private:
  /// The budget at each site: by block, so that costs are compared with it eight at once.
  struct LimitRows {
    std::vector<Lanes> high, low;  ///< with the tolerance; infinite, or 0, where there is none
    std::vector<Lanes> per_high;   ///< 1 / the upper limit; 0 where there is none
  };
  /// What measure() adds up over blocks.
  struct Tally {
    double mean_use = 0.0, narrowest = 0.0;
    bool breaks = false;  ///< some limit at a site
  };

  void set_symbols(std::uint8_t symbols);
  void check_powers(const Powers& powers) const;
  void set_limits(const Budget& budget);
  FitFailure prepare(const Budget& budget, const SolverOptions& options);
  void note_signs(const SumPerSite& sum);
  [[nodiscard]] FitBlock block(std::size_t number) const;
  [[nodiscard]] int raising_passes() const;
  void fit_alone();
  void raise_alone();
  void fill_up(const SolverOptions& options, FitSolution& solution);
  bool cap_widths(double most_imbalance);
  void balance(double most_imbalance, FitSolution& solution);
  void fit_together();
  void place_together(double ratio, std::uint8_t pinned);
  [[nodiscard]] bool totals_fit(double ratio, std::uint8_t pinned);
  [[nodiscard]] bool share_ratio(std::uint8_t pinned);
  void raise_together(std::size_t symbol, bool one_step);
  void raise_block(std::size_t symbol, std::size_t number, const Lanes& most);
  void price(std::size_t number);
  [[nodiscard]] double total(std::size_t line) const;
  void fit_from_least(std::size_t first);
  FitFailure repair(FitSolution& solution);
  [[nodiscard]] double nearness(const FitSolution& solution, std::size_t site) const;
  void collect(const std::vector<Widths>& widths, std::vector<FreeValues>& values) const;
  [[nodiscard]] FitFailure broken(const FitSolution& solution, bool low) const;
  [[nodiscard]] FitFailure misfit(const FitSolution& solution) const;
  void begin(FitSolution& solution) const;
  void measure(std::size_t number, const Widths& widths, const Widths& common, FitSolution& solution,
               Tally& tally) const;
  FitFailure finish(const Tally& tally, FitSolution& solution) const;
  FitFailure judge_widths(FitSolution& into) const;

  std::vector<SiteLoad> loads_;
  std::size_t blocks_ = 0;
  std::vector<Lanes> co_, count_;
  std::array<std::vector<double>, cost_kinds> replaced_;  ///< by site
  std::array<std::uint8_t, free_symbol_count> symbols_{};
  std::size_t symbol_count_ = 0;
  std::uint8_t mask_ = 0;

  std::array<SumPerSite, cost_kinds> costs_;
  SumPerSite volumes_;
  std::vector<Lanes> volume_per_unit_;  ///< by cell of the lattices: of volumes that are factor * x, the largest factor
  std::vector<double> fixed_volume_;    ///< by site
  Lattices lattices_;

  // Worked out by prepare().
  struct Line {
    std::size_t kind;
    double high;               ///< of an absolute limit
    std::vector<Lanes> spent;  ///< by block: the cost at the widths
  };
  std::vector<Lanes> memory_;  ///< by cell
  Budget budget_;
  bool limits_set_ = false;
  std::array<LimitRows, cost_kinds> limits_;
  std::array<std::uint8_t, cost_kinds> at_sites_{}, on_sum_{};  ///< kinds with an upper limit
  std::size_t at_sites_count_ = 0, on_sum_count_ = 0;
  std::array<Line, cost_kinds> lines_;  ///< of on_sum_
  std::uint8_t negative_ = 0, positive_ = 0, curved_ = 0;
  double most_elements_ = 0.0;

  std::vector<Widths> widths_, common_;  ///< by block
  std::vector<Lanes> own_ratio_;
  FitSolution spare_;
  struct Cap {
    std::size_t symbol, site;
    double before;
  };
  std::vector<Cap> caps_;
};

}  // namespace kasimir
