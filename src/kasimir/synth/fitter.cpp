// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/fitter.h"

#include "kasimir/base/text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tolerance = limit_tolerance;

std::size_t index(CostKind kind) { return static_cast<std::size_t>(kind); }

bool is_high(const Limit& limit, double cost, double replaced) {
  return limit.high < infinity && cost > limit.high * replaced * (1 + tolerance);
}

bool is_low(const Limit& limit, double cost, double replaced) {
  return limit.low > 0.0 && cost < limit.low * replaced * (1 - tolerance);
}

Lanes filled(double value) {
  Lanes lanes;
  lanes.at.fill(value);
  return lanes;
}

Widths to_widths(std::span<const FreeValues> values, std::size_t block) {
  Widths widths;
  for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol)
    for (std::size_t lane = 0; lane < Lanes::width; ++lane) {
      const std::size_t site = block * Lanes::width + lane;
      widths.of[symbol].at[lane] = site < values.size() ? static_cast<double>(values[site][symbol]) : 1.0;
    }
  return widths;
}

}  // namespace

Rejection explain(const FitFailure& failure, const Budget& budget, std::span<const SiteLoad> sites,
                  const SolverOptions& options) {
  using Why = FitFailure::Why;
  KASIMIR_CHECK(!failure.ok(), "nothing failed");
  const std::string where = failure.site < 0 ? "" : sites[static_cast<std::size_t>(failure.site)].site.str();
  if (failure.why == Why::no_value) return {"every free symbol has a legal value", where};
  if (failure.why == Why::memory)
    return {"memory: no tensor is too large", fmt::format("above {} elements at {}", options.most_elements, where)};
  const Limit& limit = budget[failure.cost];
  const bool low = failure.why == Why::below;
  const double bound = low ? limit.low : limit.high;
  return {fmt::format("budget: {} {} {}", cost_name(failure.cost), low ? "at least" : "at most",
                      limit.relative ? fmt::format("{:g}", bound) : si(bound)),
          failure.site < 0 ? si(failure.reached) : fmt::format("{:.3g} at {}", failure.reached, where)};
}

bool FitObjective::better_than(const FitObjective& other) const {
  if (narrowest != other.narrowest) return narrowest > other.narrowest;
  if (use != other.use) return use > other.use;
  return modelled < other.modelled;
}

// --- filling ------------------------------------------------------------------------------------------------------

void FitProblem::set_sites(std::span<const SiteLoad> loads) {
  loads_.assign(loads.begin(), loads.end());
  blocks_ = (loads.size() + Lanes::width - 1) / Lanes::width;
  co_.assign(blocks_, filled(1.0));
  count_.assign(blocks_, {});
  for (auto& row : replaced_) row.clear();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const SiteLoad& load = loads[i];
    co_[i / Lanes::width].at[i % Lanes::width] = static_cast<double>(load.site.co);
    count_[i / Lanes::width].at[i % Lanes::width] = static_cast<double>(load.count);
    replaced_[index(CostKind::macs)].push_back(load.macs);
    replaced_[index(CostKind::params)].push_back(load.params);
    replaced_[index(CostKind::bytes)].push_back(bytes_per_element *
                                                static_cast<double>(load.site.co * load.site.h * load.site.w));
  }
  const std::size_t cells = free_symbol_count * blocks_;
  volume_per_unit_.assign(cells, {});
  memory_.assign(cells, filled(infinity));
  for (LimitRows& rows : limits_) {
    rows.high.assign(blocks_, filled(infinity));
    rows.low.assign(blocks_, {});
    rows.per_high.assign(blocks_, {});
  }
  limits_set_ = false;
  for (Line& line : lines_) line.spent.assign(blocks_, {});
  Widths ones;
  ones.of.fill(filled(1.0));
  widths_.assign(blocks_, ones);
  common_.assign(blocks_, ones);
  own_ratio_.assign(blocks_, {});
  lattices_.set_sites(loads);
  mask_ = 0;
  reset(0);
}

void FitProblem::set_symbols(std::uint8_t symbols) {
  // Widths of symbols that are no longer in use go back to 1.
  for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol)
    if ((mask_ & ~symbols) >> symbol & 1U)
      for (auto* widths : {&widths_, &common_})
        for (Widths& block : *widths) block.of[symbol] = filled(1.0);
  mask_ = symbols;
  symbol_count_ = 0;
  for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol)
    if ((symbols >> symbol & 1U) != 0) symbols_[symbol_count_++] = static_cast<std::uint8_t>(symbol);
}

void FitProblem::reset(std::uint8_t symbols) {
  KASIMIR_CHECK(symbols >> free_symbol_count == 0, "symbols {:#x}, there are {}", symbols, free_symbol_count);
  set_symbols(symbols);
  for (SumPerSite& sum : costs_) sum.reset(blocks_);
  volumes_.reset(blocks_);
  for (const std::uint8_t symbol : this->symbols())
    std::fill_n(volume_per_unit_.begin() + static_cast<std::ptrdiff_t>(symbol * blocks_), blocks_, Lanes{});
  fixed_volume_.assign(loads_.size(), 0.0);
  lattices_.reset(symbols);
}

void FitProblem::check_powers(const Powers& powers) const {
  for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol)
    KASIMIR_CHECK(powers[symbol] == 0 || (mask_ >> symbol & 1U) != 0, "x{} has power {} and is not in use", symbol,
                  powers[symbol]);
}

void FitProblem::add_cost(CostKind kind, const Powers& powers, std::span<const double> factors) {
  check_powers(powers);
  KASIMIR_CHECK(factors.size() == loads_.size(), "{} factors, {} sites", factors.size(), loads_.size());
  costs_[index(kind)].add(powers, factors);
}

void FitProblem::limit_volume(const Powers& powers, std::span<const double> factors) {
  check_powers(powers);
  KASIMIR_CHECK(factors.size() == loads_.size(), "{} factors, {} sites", factors.size(), loads_.size());
  int degree = 0;
  std::size_t last = 0;
  for (std::size_t symbol = 0; symbol < free_symbol_count; ++symbol) {
    degree += std::abs(powers[symbol]);
    if (powers[symbol] != 0) last = symbol;
  }
  if (degree == 0) {
    for (std::size_t i = 0; i < factors.size(); ++i) fixed_volume_[i] = std::max(fixed_volume_[i], factors[i]);
  } else if (degree == 1 && powers[last] == 1) {
    for (std::size_t i = 0; i < factors.size(); ++i) {
      double& most = volume_per_unit_[lattices_.cell(last, i / Lanes::width)].at[i % Lanes::width];
      most = std::max(most, factors[i]);
    }
  } else {
    volumes_.add(powers, factors, true);
  }
}

void FitProblem::require_whole(const Powers& powers, std::span<const std::int64_t> num,
                               std::span<const std::int64_t> den) {
  check_powers(powers);
  KASIMIR_CHECK(num.size() == loads_.size() && den.size() == loads_.size(), "{} and {} numbers, {} sites", num.size(),
                den.size(), loads_.size());
  lattices_.require_whole(powers, num, den);
}

double FitProblem::replaced(const Limit& limit, CostKind kind, std::size_t site) const {
  return limit.relative ? replaced_[index(kind)][site] : 1.0;
}

// --- before solving -----------------------------------------------------------------------------------------------

void FitProblem::note_signs(const SumPerSite& sum) {
  for (const FitTerm& term : sum.terms())
    for (std::size_t i = 0; i < term.count; ++i) {
      const auto bit = static_cast<std::uint8_t>(1U << term.used[i]);
      const int power = term.powers[term.used[i]];
      (power > 0 ? positive_ : negative_) |= bit;
      if (power != 1) curved_ |= bit;
    }
}

/// The budget as rows. Kept from kernel to kernel: the budget is the same for most.
void FitProblem::set_limits(const Budget& budget) {
  if (limits_set_ && budget == budget_) return;
  budget_ = budget;
  limits_set_ = true;
  at_sites_count_ = on_sum_count_ = 0;
  for (const CostKind kind : all_cost_kinds) {
    const Limit& limit = budget[kind];
    const std::size_t k = index(kind);
    const bool at_sites = limit.relative && limit.high < infinity;
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      const std::size_t b = i / Lanes::width;
      const std::size_t lane = i % Lanes::width;
      const double high = limit.high * replaced_[k][i];
      limits_[k].high[b].at[lane] = at_sites ? high * (1 + tolerance) : infinity;
      limits_[k].per_high[b].at[lane] = at_sites && high > 0.0 ? 1 / high : 0.0;
      limits_[k].low[b].at[lane] = limit.relative ? limit.low * replaced_[k][i] * (1 - tolerance) : 0.0;
    }
    if (at_sites) at_sites_[at_sites_count_++] = static_cast<std::uint8_t>(k);
    if (limit.relative || limit.high == infinity) continue;
    lines_[on_sum_count_].kind = k;
    // Half the tolerance: what a site may add is rounded with the sum, not with the site's own cost.
    lines_[on_sum_count_++].high = limit.high * (1 + tolerance / 2);
  }
}

FitFailure FitProblem::prepare(const Budget& budget, const SolverOptions& options) {
  set_limits(budget);
  most_elements_ = static_cast<double>(options.most_elements);
  negative_ = positive_ = curved_ = 0;
  for (const CostKind kind : all_cost_kinds)
    if (budget[kind].given()) note_signs(costs(kind));
  note_signs(volumes_);
  for (const std::uint8_t symbol : symbols())
    for (std::size_t b = 0; b < blocks_; ++b) {
      const std::size_t cell = lattices_.cell(symbol, b);
      for (std::size_t i = 0; i < Lanes::width; ++i)
        memory_[cell].at[i] = most_elements_ / volume_per_unit_[cell].at[i];
    }
  if (const auto empty = lattices_.prepare(options.lane, memory_))
    return {empty->memory ? FitFailure::Why::memory : FitFailure::Why::no_value, {}, empty->site};
  for (std::size_t i = 0; i < fixed_volume_.size(); ++i)
    if (fixed_volume_[i] > most_elements_) return {FitFailure::Why::memory, {}, static_cast<int>(i)};
  return {};
}

FitBlock FitProblem::block(std::size_t number) const {
  FitBlock block;
  block.block = number;
  block.sites = std::min(Lanes::width, loads_.size() - number * Lanes::width);
  block.symbols = symbols();
  block.lattices = &lattices_;
  block.co = &co_[number];
  block.volumes = &volumes_;
  block.most_volume = most_elements_;
  for (std::size_t i = 0; i < at_sites_count_; ++i)
    block.lines[block.line_count++] = {&costs_[at_sites_[i]], limits_[at_sites_[i]].high[number]};
  block.negative = negative_;
  block.falling = static_cast<std::uint8_t>(negative_ & ~positive_);
  block.curved = curved_;
  return block;
}

// --- after solving ------------------------------------------------------------------------------------------------

void FitProblem::collect(const std::vector<Widths>& widths, std::vector<FreeValues>& values) const {
  values.resize(loads_.size());
  for (std::size_t site = 0; site < loads_.size(); ++site) {
    const Widths& block = widths[site / Lanes::width];
    values[site].fill(1);
    for (const std::uint8_t symbol : symbols())
      values[site][symbol] = static_cast<std::int64_t>(block.of[symbol].at[site % Lanes::width]);
  }
}

/// A size or a volume that is not as it must be.
FitFailure FitProblem::misfit(const FitSolution& solution) const {
  if (lattices_.has_joint_sizes())
    for (std::size_t site = 0; site < loads_.size(); ++site)
      if (!lattices_.joint_sizes_whole(site, solution.values[site], mask_))
        return {FitFailure::Why::no_value, {}, static_cast<int>(site)};
  if (volumes_.terms().empty()) return {};
  for (std::size_t b = 0; b < blocks_; ++b) {
    FitBlock of = block(b);
    of.line_count = 0;
    SiteMask fits;
    fits.fill(-1);
    check_limits(of, to_widths(solution.values, b), fits);
    for (std::size_t lane = 0; lane < of.sites; ++lane)
      if (fits[lane] == 0) return {FitFailure::Why::memory, {}, static_cast<int>(b * Lanes::width + lane)};
  }
  return {};
}

FitFailure FitProblem::broken(const FitSolution& solution, bool low) const {
  const auto why = low ? FitFailure::Why::below : FitFailure::Why::above;
  const auto breaks = low ? is_low : is_high;
  for (const CostKind kind : all_cost_kinds) {
    const Limit& limit = budget_[kind];
    if (!(low ? limit.low > 0.0 : limit.high < infinity)) continue;
    if (!limit.relative) {
      const double sum = solution.total[index(kind)];
      if (breaks(limit, sum, 1.0)) return {why, kind, -1, sum};
      continue;
    }
    const auto& replaced = replaced_[index(kind)];
    for (std::size_t site = 0; site < loads_.size(); ++site)
      if (const double cost = solution.at(kind, site); breaks(limit, cost, replaced[site]))
        return {why, kind, static_cast<int>(site), cost / replaced[site]};
  }
  return {};
}

void FitProblem::begin(FitSolution& solution) const {
  solution.use.resize(loads_.size());
  for (auto& cost : solution.cost) cost.resize(loads_.size());
  solution.total.fill(0.0);
}

/// Costs and use of the sites of one block.
void FitProblem::measure(std::size_t number, const Widths& widths, const Widths& common, FitSolution& solution,
                         Tally& tally) const {
  const std::size_t first = number * Lanes::width;
  const std::size_t sites = std::min(Lanes::width, loads_.size() - first);
  Lanes use{};
  std::int64_t breaks = 0;
  for (std::size_t k = 0; k < cost_kinds; ++k) {
    Lanes cost;
    sums_at(costs_[k], number, widths, cost);
    const LimitRows& limits = limits_[k];
    Lanes counted;
    for (std::size_t i = 0; i < Lanes::width; ++i) {
      counted.at[i] = cost.at[i] * count_[number].at[i];
      const double share = cost.at[i] * limits.per_high[number].at[i];
      use.at[i] = share > use.at[i] ? share : use.at[i];
      breaks |= cost.at[i] > limits.high[number].at[i] || cost.at[i] < limits.low[number].at[i] ? 1 : 0;
    }
    for (std::size_t i = 0; i < sites; ++i) {
      solution.cost[k][first + i] = cost.at[i];
      solution.total[k] += counted.at[i];
    }
  }
  Lanes narrowest = filled(infinity);
  for (const std::uint8_t symbol : symbols())
    for (std::size_t i = 0; i < Lanes::width; ++i) {
      const double ratio = common.of[symbol].at[i] / co_[number].at[i];
      narrowest.at[i] = ratio < narrowest.at[i] ? ratio : narrowest.at[i];
    }
  for (std::size_t i = 0; i < sites; ++i) {
    solution.use[first + i] = use.at[i];
    tally.mean_use += use.at[i];
    tally.narrowest = std::min(tally.narrowest, narrowest.at[i]);
  }
  tally.breaks = tally.breaks || breaks != 0;
}

/// The objective, and the first limit that is broken.
FitFailure FitProblem::finish(const Tally& tally, FitSolution& solution) const {
  double use = tally.mean_use / static_cast<double>(loads_.size());
  bool breaks = tally.breaks;
  for (const CostKind kind : all_cost_kinds) {
    const Limit& limit = budget_[kind];
    if (limit.relative) continue;
    const double total = solution.total[index(kind)];
    if (limit.high < infinity && limit.high > 0.0) use = std::max(use, total / limit.high);
    breaks = breaks || is_high(limit, total, 1.0) || is_low(limit, total, 1.0);
  }
  const double narrowest = symbol_count_ == 0 ? 0.0 : tally.narrowest;
  solution.objective = {narrowest, use, solution.total[0] + solution.total[1]};
  if (const FitFailure failure = misfit(solution); !failure.ok()) return failure;
  if (!breaks) return {};
  if (const FitFailure failure = broken(solution, false); !failure.ok()) return failure;
  return broken(solution, true);
}

FitFailure FitProblem::judge_widths(FitSolution& into) const {
  begin(into);
  Tally tally{0.0, infinity, false};
  for (std::size_t b = 0; b < blocks_; ++b) measure(b, widths_[b], common_[b], into, tally);
  return finish(tally, into);
}

FitFailure FitProblem::judge(FitSolution& solution) const {
  begin(solution);
  Tally tally{0.0, infinity, false};
  for (std::size_t b = 0; b < blocks_; ++b)
    measure(b, to_widths(solution.values, b), to_widths(solution.common, b), solution, tally);
  return finish(tally, solution);
}

}  // namespace kasimir
