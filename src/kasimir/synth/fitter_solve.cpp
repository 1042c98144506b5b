// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/fitter.h"

#include <algorithm>
#include <limits>

namespace kasimir {
namespace {

/// The next value above, where the lattice is not a list; without bound where it is.
Lanes next_value(const FitBlock& block, std::size_t symbol, const Lanes& value) {
  const Lattices& lattices = *block.lattices;
  const std::size_t cell = lattices.cell(symbol, block.block);
  Lanes next = lattices.most(cell);
  if ((lattices.special() >> symbol & 1U) != 0) return next;
  for (std::size_t i = 0; i < Lanes::width; ++i) {
    const double coarse = lattices.coarse(cell).at[i];
    const double step = value.at[i] >= coarse ? coarse : lattices.fine(cell).at[i];
    next.at[i] = std::min(next.at[i], value.at[i] + step);
  }
  return next;
}

constexpr Budget unlimited{Limit{}, Limit{}, Limit{}};

}  // namespace

/// Where sizes have several symbols, raising one can let another rise that was raised before.
int FitProblem::raising_passes() const { return lattices_.has_joint_sizes() ? 4 : 1; }

// --- each site on its own -----------------------------------------------------------------------------------------

void FitProblem::fit_alone() {
  const bool one_line = symbol_count_ == 1 && curved_ == 0;
  for (std::size_t b = 0; b < blocks_; ++b) {
    const FitBlock of = block(b);
    Widths& widths = widths_[b];
    SiteMask fits;
    fits.fill(-1);
    Lanes ratio{};
    if (one_line) {
      // The largest ratio of one width is where raising it ends.
      place_widths(of, ratio, 0, widths, fits);
    } else {
      largest_ratio(of, 0, ratio, widths, fits);
      if (of.falling != 0 && std::ranges::find(fits, 0) != fits.end()) {
        Widths other = widths;
        SiteMask other_fits;
        largest_ratio(of, of.falling, ratio, other, other_fits);
        for (std::size_t lane = 0; lane < Lanes::width; ++lane)
          for (const std::uint8_t symbol : symbols())
            if (fits[lane] == 0) widths.of[symbol].at[lane] = other.of[symbol].at[lane];
      }
      common_[b] = widths;
    }
  }
  raise_alone();
}

/// Raises every symbol at every site as far as the limits of the site allow.
void FitProblem::raise_alone() {
  const bool one_line = symbol_count_ == 1 && curved_ == 0;
  for (std::size_t b = 0; b < blocks_; ++b) {
    const FitBlock of = block(b);
    for (int pass = 0; pass < raising_passes(); ++pass)
      for (const std::uint8_t symbol : symbols()) raise_width(of, symbol, of.most(symbol), widths_[b]);
    if (one_line) common_[b] = widths_[b];
  }
}

/// Where one step of the lane is a large part of the budget, finer values: lane by lane, at the sites that need them.
void FitProblem::fill_up(const SolverOptions& options, FitSolution& solution) {
  std::uint8_t priced = 0;
  for (std::size_t i = 0; i < at_sites_count_; ++i)
    for (const FitTerm& term : costs_[at_sites_[i]].terms())
      for (std::size_t k = 0; k < term.count; ++k) priced = static_cast<std::uint8_t>(priced | 1U << term.used[k]);
  for (std::int64_t lane = options.lane / 2; lane >= 1; lane /= 2) {
    bool finer = false;
    for (std::size_t site = 0; site < loads_.size(); ++site) {
      if (solution.use[site] >= options.enough_use) continue;
      for (const std::uint8_t symbol : symbols())
        finer = ((priced >> symbol & 1U) != 0 && lattices_.refine(symbol, site, lane)) || finer;
    }
    if (!finer) continue;
    raise_alone();
    judge_widths(solution);
  }
  collect(widths_, solution.values);
  collect(common_, solution.common);
}

/// Takes values from lattices whose site is much wider than the narrowest one; false if no site is.
bool FitProblem::cap_widths(double most_imbalance) {
  constexpr double rounding = 1 + 1e-9;
  caps_.clear();
  for (const std::uint8_t symbol : symbols()) {
    if ((negative_ >> symbol & 1U) != 0 || lattices_.is_list(symbol)) continue;
    const auto ratio = [&](std::size_t site) {
      return widths_[site / Lanes::width].of[symbol].at[site % Lanes::width] /
             co_[site / Lanes::width].at[site % Lanes::width];
    };
    double narrowest = ratio(0);
    for (std::size_t site = 1; site < loads_.size(); ++site) narrowest = std::min(narrowest, ratio(site));
    for (std::size_t site = 0; site < loads_.size(); ++site) {
      if (ratio(site) <= narrowest * most_imbalance * rounding) continue;
      const double most = narrowest * most_imbalance * co_[site / Lanes::width].at[site % Lanes::width];
      caps_.push_back({symbol, site, lattices_.cap(symbol, site, most * rounding)});
    }
  }
  return !caps_.empty();
}

/// Fits again with sites less wide that are much wider than others, unless some lower limit needs that.
void FitProblem::balance(double most_imbalance, FitSolution& solution) {
  if (!cap_widths(most_imbalance)) return;
  std::swap(solution, spare_);
  fit_alone();
  collect(widths_, solution.values);
  collect(common_, solution.common);
  if (judge_widths(solution).ok()) return;
  std::swap(solution, spare_);
  for (const Cap& cap : caps_) lattices_.uncap(cap.symbol, cap.site, cap.before);
}

// --- all sites together, under limits on the sum ------------------------------------------------------------------

/// What the lines on the sum count at the widths of a block.
void FitProblem::price(std::size_t number) {
  for (std::size_t i = 0; i < on_sum_count_; ++i)
    sums_at(costs_[lines_[i].kind], number, widths_[number], lines_[i].spent[number]);
}

double FitProblem::total(std::size_t line) const {
  double sum = 0.0;
  for (std::size_t b = 0; b < blocks_; ++b)
    for (std::size_t i = 0; i < Lanes::width; ++i) sum += count_[b].at[i] * lines_[line].spent[b].at[i];
  return sum;
}

void FitProblem::place_together(double ratio, std::uint8_t pinned) {
  for (std::size_t b = 0; b < blocks_; ++b) {
    Lanes own = own_ratio_[b];
    for (double& each : own.at) each = std::min(each, ratio);
    SiteMask legal{};
    place_widths(block(b), own, pinned, widths_[b], legal);
    price(b);
  }
}

bool FitProblem::totals_fit(double ratio, std::uint8_t pinned) {
  place_together(ratio, pinned);
  for (std::size_t i = 0; i < on_sum_count_; ++i)
    if (total(i) > lines_[i].high) return false;
  return true;
}

/// The largest ratio common to all sites but those whose own limits bind before. False if no ratio fits.
bool FitProblem::share_ratio(std::uint8_t pinned) {
  double high = 0.0;
  for (std::size_t b = 0; b < blocks_; ++b) {
    SiteMask fits;
    largest_ratio(block(b), pinned, own_ratio_[b], widths_[b], fits);
    for (std::size_t i = 0; i < loads_.size() - b * Lanes::width && i < Lanes::width; ++i)
      high = std::max(high, own_ratio_[b].at[i]);
  }
  double low = 0.0;
  if ((negative_ & ~pinned) != 0) {
    constexpr int steps = 40;
    constexpr double shrink = 0.70710678118654752;
    double ratio = high;
    int step = 0;
    for (; step < steps && !totals_fit(ratio, pinned); ++step) {
      high = ratio;
      ratio *= shrink;
    }
    if (step == steps) return false;
    low = ratio;
  } else if (!totals_fit(0.0, pinned)) {
    return false;
  }
  constexpr int halvings = 14;
  for (int step = 0; step < halvings; ++step) {
    const double middle = low < high / 2 ? high / 2 : (low + high) / 2;
    (totals_fit(middle, pinned) ? low : high) = middle;
  }
  place_together(low, pinned);
  return true;
}

/// Raises one symbol at the sites of a block, one site after the other with what the sum leaves.
void FitProblem::raise_block(std::size_t symbol, std::size_t number, const Lanes& most) {
  FitBlock of = block(number);
  const std::size_t first_line = of.line_count;
  for (std::size_t lane = 0; lane < of.sites;) {
    of.line_count = first_line;
    for (std::size_t i = 0; i < on_sum_count_; ++i) {
      FitBlock::Line& line = of.lines[of.line_count++];
      line.sum = &costs_[lines_[i].kind];
      const double left = lines_[i].high - total(i);
      for (std::size_t l = 0; l < Lanes::width; ++l)
        line.high.at[l] = lines_[i].spent[number].at[l] + left / std::max(count_[number].at[l], 1.0);
    }
    Widths raised = widths_[number];
    raise_width(of, symbol, most, raised);
    // Each site was raised as if it were the only one: the first that moved is taken, the others see what it leaves.
    const auto& now = widths_[number].of[symbol].at;
    const auto& then = raised.of[symbol].at;
    while (lane < of.sites && now[lane] == then[lane]) ++lane;
    if (lane == of.sites) return;
    widths_[number].of[symbol].at[lane] = then[lane];
    price(number);
    ++lane;
  }
}

void FitProblem::raise_together(std::size_t symbol, bool one_step) {
  for (std::size_t b = 0; b < blocks_; ++b) {
    const FitBlock of = block(b);
    raise_block(symbol, b, one_step ? next_value(of, symbol, widths_[b].of[symbol]) : of.most(symbol));
  }
}

void FitProblem::fit_together() {
  const auto falling = static_cast<std::uint8_t>(negative_ & ~positive_);
  const bool fits = share_ratio(0) || (falling != 0 && share_ratio(falling));
  if (!fits) place_together(0.0, falling);
  common_ = widths_;
  if (!fits) return;
  // First a step for everybody: what is left after that is too little to be shared.
  for (const std::uint8_t symbol : symbols()) raise_together(symbol, true);
  for (int pass = 0; pass < raising_passes(); ++pass)
    for (const std::uint8_t symbol : symbols()) raise_together(symbol, false);
}

// --- lower limits -------------------------------------------------------------------------------------------------

/// Raises from the least widths, one symbol before the others.
void FitProblem::fit_from_least(std::size_t first) {
  const auto falling = static_cast<std::uint8_t>(negative_ & ~positive_);
  for (std::size_t b = 0; b < blocks_; ++b) {
    SiteMask legal{};
    place_widths(block(b), {}, falling, widths_[b], legal);
    price(b);
  }
  common_ = widths_;
  const auto raise_one = [&](std::size_t symbol) {
    if (on_sum_count_ > 0) return raise_together(symbol, false);
    for (std::size_t b = 0; b < blocks_; ++b) {
      const FitBlock of = block(b);
      raise_width(of, symbol, of.most(symbol), widths_[b]);
    }
  };
  raise_one(first);
  for (const std::uint8_t symbol : symbols())
    if (symbol != first) raise_one(symbol);
}

/// The smallest fraction of a lower limit at a site that is reached, at most 1.
double FitProblem::nearness(const FitSolution& solution, std::size_t site) const {
  double nearest = 1.0;
  for (const CostKind kind : all_cost_kinds)
    if (const Limit& limit = budget_[kind]; limit.relative && limit.low > 0.0)
      nearest = std::min(nearest, solution.at(kind, site) / (limit.low * replaced(limit, kind, site)));
  return nearest;
}

FitFailure FitProblem::repair(FitSolution& solution) {
  for (const std::uint8_t first : symbols()) {
    fit_from_least(first);
    collect(widths_, spare_.values);
    collect(common_, spare_.common);
    if (judge_widths(spare_).ok()) {
      std::swap(solution, spare_);
      return {};
    }
    if (on_sum_count_ > 0) continue;
    for (std::size_t site = 0; site < loads_.size(); ++site) {
      if (nearness(spare_, site) <= nearness(solution, site)) continue;
      solution.values[site] = spare_.values[site];
      solution.common[site] = spare_.common[site];
      for (std::size_t kind = 0; kind < cost_kinds; ++kind) solution.cost[kind][site] = spare_.cost[kind][site];
    }
  }
  return judge(solution);
}

// --- entry --------------------------------------------------------------------------------------------------------

FitFailure FitProblem::solve(const Budget& budget, const SolverOptions& options, FitSolution& into) {
  if (const FitFailure failure = prepare(budget, options); !failure.ok()) return failure;
  if (symbol_count_ > 0) {
    if (on_sum_count_ > 0) {
      fit_together();
    } else {
      fit_alone();
    }
  }
  collect(widths_, into.values);
  collect(common_, into.common);
  const FitFailure failure = judge_widths(into);
  if (failure.why == FitFailure::Why::below && symbol_count_ > 1) return repair(into);
  if (failure.ok() && symbol_count_ > 0 && on_sum_count_ == 0 && at_sites_count_ > 0) {
    fill_up(options, into);
    balance(options.most_imbalance, into);
  }
  return failure;
}

FitFailure FitProblem::place(double ratio, std::int64_t lane, FitSolution& into) {
  const SolverOptions options{lane, std::numeric_limits<std::int64_t>::max()};
  if (const FitFailure failure = prepare(unlimited, options); !failure.ok()) return failure;
  Lanes aim;
  aim.at.fill(ratio);
  for (std::size_t b = 0; b < blocks_ && symbol_count_ > 0; ++b) {
    SiteMask legal{};
    place_widths(block(b), aim, 0, widths_[b], legal);
  }
  collect(widths_, into.values);
  into.common = into.values;
  return judge(into);
}

}  // namespace kasimir
