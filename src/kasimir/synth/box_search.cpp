// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/box_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tolerance = limit_tolerance;

std::size_t index(CostKind kind) { return static_cast<std::size_t>(kind); }
/// A limit of which a fraction can be used.
bool is_upper(const Limit& limit) { return limit.high < infinity && limit.high > 0.0; }

double power(double x, int p) {
  if (p == 1) return x;
  double value = 1.0;
  for (int i = 0; i < std::abs(p); ++i) value *= x;
  return p < 0 ? 1.0 / value : value;
}

}  // namespace

BoxSearch::BoxSearch(const FitProblem& problem, const Budget& budget, double most_volume, SiteGroup group,
                     const FitSolution& start, const ExactOptions& options)
    : problem_(&problem),
      budget_(&budget),
      options_(options),
      most_volume_(most_volume),
      group_(std::move(group)),
      at_site_(group_.sites.size()) {
  for (std::size_t i = 0; i < problem.symbols().size(); ++i) place_of_[problem.symbols()[i]] = i;
  for (const std::size_t site : group_.sites)
    for (const std::uint8_t symbol : problem.symbols()) {
      Variable variable{site, symbol, {}};
      problem.lattices().list(symbol, site, variable.values);
      auto& values = variable.values;
      if (group_.has_start && options.balanced && problem.only_rises(symbol))
        values.erase(values.begin(), std::ranges::lower_bound(values, start.common[site][symbol]));
      box_.push_back({0, static_cast<std::int32_t>(values.size()) - 1});
      variables_.push_back(std::move(variable));
    }
  const std::vector<Range> all = box_;
  if (group_.has_start) {
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      const auto& values = variables_[v].values;
      const auto at = std::ranges::lower_bound(values, start.values[variables_[v].site][variables_[v].symbol]);
      const auto place = static_cast<std::int32_t>(at - values.begin());
      box_[v] = {place, place};
    }
    if (bound_box()) accept_point();
  }
  stack_ = all;
  stack_bound_ = {infinity};
}

double BoxSearch::high(CostKind kind, std::size_t site) const {
  const Limit& limit = (*budget_)[kind];
  return limit.high == infinity ? infinity : limit.high * problem_->replaced(limit, kind, site) * (1 + tolerance);
}

double BoxSearch::low(CostKind kind, std::size_t site) const {
  const Limit& limit = (*budget_)[kind];
  return limit.low <= 0.0 ? 0.0 : limit.low * problem_->replaced(limit, kind, site) * (1 - tolerance);
}

double BoxSearch::count(std::size_t local) const {
  return static_cast<double>(problem_->loads()[group_.sites[local]].count);
}

/// A term at the corner of the box where it is least or most, without the power of one symbol.
double BoxSearch::corner(const SumPerSite& sum, std::size_t term, std::size_t local, bool upper,
                         std::size_t without) const {
  const std::size_t site = group_.sites[local];
  double product = sum.factor(term, site / Lanes::width).at[site % Lanes::width];
  const FitTerm& t = sum.terms()[term];
  for (std::size_t i = 0; i < t.count; ++i) {
    const std::size_t symbol = t.used[i];
    if (symbol == without) continue;
    const std::size_t variable = variable_of(local, symbol);
    const int p = t.powers[symbol];
    product *= power(value(variable, (p > 0) == upper ? box_[variable].last : box_[variable].first), p);
  }
  return product;
}

void BoxSearch::bound_site(std::size_t local) {
  const std::size_t site = group_.sites[local];
  for (const CostKind kind : all_cost_kinds) {
    const SumPerSite& sum = problem_->costs(kind);
    const double fixed = sum.fixed(site / Lanes::width).at[site % Lanes::width];
    Interval of{fixed, fixed};
    for (std::size_t t = 0; t < sum.terms().size(); ++t) {
      of.low += corner(sum, t, local, false, free_symbol_count);
      of.high += corner(sum, t, local, true, free_symbol_count);
    }
    at_site_[local][index(kind)] = of;
  }
}

bool BoxSearch::volumes_fit(std::size_t local) const {
  const SumPerSite& volumes = problem_->volumes();
  for (std::size_t t = 0; t < volumes.terms().size(); ++t)
    if (corner(volumes, t, local, false, free_symbol_count) > most_volume_) return false;
  return true;
}

/// Costs over the box; false if some limit cannot be kept in it.
bool BoxSearch::bound_box() {
  total_ = {};
  for (std::size_t local = 0; local < group_.sites.size(); ++local) {
    bound_site(local);
    if (!volumes_fit(local)) return false;
    for (const CostKind kind : all_cost_kinds) {
      const Interval& here = at_site_[local][index(kind)];
      Interval& total = total_[index(kind)];
      total.low += count(local) * here.low;
      total.high += count(local) * here.high;
      const std::size_t site = group_.sites[local];
      if ((*budget_)[kind].relative && (here.low > high(kind, site) || here.high < low(kind, site))) return false;
    }
  }
  return std::ranges::none_of(all_cost_kinds, [&](CostKind kind) {
    const Interval& total = total_[index(kind)];
    return !(*budget_)[kind].relative && (total.low > high(kind, 0) || total.high < low(kind, 0));
  });
}

/// The most that values in the box can use: of limits on the sum, and in the mean of the sites.
BoxSearch::Use BoxSearch::use_above() const {
  Use use;
  const auto share = [](double cost, double limit) { return std::min(cost / limit, 1 + tolerance); };
  for (const CostKind kind : all_cost_kinds)
    if (const Limit& limit = (*budget_)[kind]; !limit.relative && is_upper(limit))
      use.on_sum = std::max(use.on_sum, share(total_[index(kind)].high, limit.high));
  for (std::size_t local = 0; local < group_.sites.size(); ++local) {
    double here = 0.0;
    for (const CostKind kind : all_cost_kinds)
      if (const Limit& limit = (*budget_)[kind]; limit.relative && is_upper(limit))
        here = std::max(here, share(at_site_[local][index(kind)].high,
                                    limit.high * problem_->replaced(limit, kind, group_.sites[local])));
    use.mean += here / static_cast<double>(group_.sites.size());
  }
  return use;
}

/// Finds whether one cost alone can still bring an improvement: it must then reach a certain value.
void BoxSearch::note_only_line() {
  only_line_ = -1;
  int lines = 0;
  const double goal = best_use_ + options_.gap - tolerance;
  const bool one_site = group_.sites.size() == 1;
  if (!one_site && use_above().mean >= goal) return;  // a mean over sites: no single cost to reach
  for (const CostKind kind : all_cost_kinds) {
    const Limit& limit = (*budget_)[kind];
    if (!is_upper(limit) || (limit.relative && !one_site)) continue;
    const double most = limit.relative ? at_site_[0][index(kind)].high : total_[index(kind)].high;
    if (most / (limit.high * problem_->replaced(limit, kind, group_.sites[0])) < goal) continue;
    only_line_ = static_cast<int>(kind);
    ++lines;
  }
  if (lines != 1) only_line_ = -1;
}

/// The least that a cost must be: its lower limit, or what an improvement needs.
double BoxSearch::needed(CostKind kind, std::size_t local) const {
  const Limit& limit = (*budget_)[kind];
  const std::size_t site = group_.sites[local];
  const double least = low(kind, site);
  if (!found_ || only_line_ != static_cast<int>(kind)) return least;
  const double goal = (best_use_ + options_.gap - tolerance) * limit.high * problem_->replaced(limit, kind, site);
  return std::max(least, goal);
}

template <typename Test>
void BoxSearch::keep_last(Range& range, Test test) {
  // The test holds up to some value: binary search for the last.
  std::int32_t good = range.first - 1;
  std::int32_t bad = range.last + 1;
  while (bad - good > 1) {
    const std::int32_t middle = good + (bad - good) / 2;
    (test(middle) ? good : bad) = middle;
  }
  range.last = good;
}

template <typename Test>
void BoxSearch::keep_first(Range& range, Test test) {
  std::int32_t bad = range.first - 1;
  std::int32_t good = range.last + 1;
  while (good - bad > 1) {
    const std::int32_t middle = bad + (good - bad) / 2;
    (test(middle) ? good : bad) = middle;
  }
  range.first = good;
}

/// The terms with the variable, each without it, at their least or most.
void BoxSearch::collect(std::size_t variable, const SumPerSite& sum, std::size_t first_term, std::size_t last_term,
                        bool upper) {
  pieces_.clear();
  const std::size_t symbol = variables_[variable].symbol;
  const std::size_t local = variable / problem_->symbols().size();
  for (std::size_t t = first_term; t < last_term; ++t)
    if (const int p = sum.terms()[t].powers[symbol]; p != 0)
      pieces_.push_back({corner(sum, t, local, upper, symbol), p});
}

/// What the pieces come to with the variable at one value where its power is positive, at another where it is negative.
double BoxSearch::pieces_at(double rising, double falling) const {
  double total = 0.0;
  for (const Piece& piece : pieces_) total += piece.factor * power(piece.power > 0 ? rising : falling, piece.power);
  return total;
}

bool BoxSearch::falls() const {
  return std::ranges::any_of(pieces_, [](const Piece& piece) { return piece.power < 0; });
}

/// Cuts values with which the sum is above `at_most` wherever the rest of the box is.
bool BoxSearch::cut_high(std::size_t variable, double fixed, double at_most) {
  Range& range = box_[variable];
  const auto sum = [&](double rising, double falling) { return fixed + pieces_at(rising, falling); };
  const double first = value(variable, range.first);
  const double last = value(variable, range.last);
  if (sum(last, last) > at_most)
    keep_last(range, [&](std::int32_t i) { return sum(value(variable, i), last) <= at_most; });
  if (range.first > range.last) return false;
  if (falls()) keep_first(range, [&](std::int32_t i) { return sum(first, value(variable, i)) <= at_most; });
  return range.first <= range.last;
}

/// Cuts values with which the sum is below `at_least` wherever the rest of the box is.
bool BoxSearch::cut_low(std::size_t variable, double fixed, double at_least) {
  Range& range = box_[variable];
  const auto sum = [&](double rising, double falling) { return fixed + pieces_at(rising, falling); };
  const double first = value(variable, range.first);
  const double last = value(variable, range.last);
  if (sum(first, first) < at_least)
    keep_first(range, [&](std::int32_t i) { return sum(value(variable, i), first) >= at_least; });
  if (range.first > range.last) return false;
  if (falls()) keep_last(range, [&](std::int32_t i) { return sum(last, value(variable, i)) >= at_least; });
  return range.first <= range.last;
}

/// Narrows a variable by one sum at its site, of which `at_most` and `at_least` are what the site may have.
bool BoxSearch::narrow_by(std::size_t variable, const SumPerSite& sum, std::size_t first_term, std::size_t last_term,
                          double fixed, double at_most, double at_least) {
  const std::size_t symbol = variables_[variable].symbol;
  const std::size_t local = variable / problem_->symbols().size();
  for (const bool upper : {false, true}) {
    if (upper ? at_least <= 0.0 : at_most == infinity) continue;
    collect(variable, sum, first_term, last_term, upper);
    if (pieces_.empty()) return true;
    double rest = fixed;
    for (std::size_t t = first_term; t < last_term; ++t)
      if (sum.terms()[t].powers[symbol] == 0) rest += corner(sum, t, local, upper, free_symbol_count);
    if (!(upper ? cut_low(variable, rest, at_least) : cut_high(variable, rest, at_most))) return false;
  }
  return true;
}

/// Cuts the box by every limit; false if nothing is left.
bool BoxSearch::narrow() {
  const SumPerSite& volumes = problem_->volumes();
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    const std::size_t local = v / problem_->symbols().size();
    const std::size_t site = group_.sites[local];
    if (box_[v].first == box_[v].last) continue;
    for (const CostKind kind : all_cost_kinds) {
      const Limit& limit = (*budget_)[kind];
      double at_most = high(kind, site);
      double at_least = needed(kind, local);
      if (at_most == infinity && at_least <= 0.0) continue;
      if (!limit.relative) {
        const Interval& here = at_site_[local][index(kind)];
        const Interval& total = total_[index(kind)];
        at_most = (at_most - (total.low - count(local) * here.low)) / count(local);
        at_least = (at_least - (total.high - count(local) * here.high)) / count(local);
        // What was subtracted is rounded: a little less is cut than could be.
        at_most += std::abs(total.low) * tolerance;
        at_least -= std::abs(total.high) * tolerance;
      }
      const SumPerSite& sum = problem_->costs(kind);
      const double fixed = sum.fixed(site / Lanes::width).at[site % Lanes::width];
      if (!narrow_by(v, sum, 0, sum.terms().size(), fixed, at_most, at_least)) return false;
    }
    for (std::size_t t = 0; t < volumes.terms().size(); ++t)
      if (!narrow_by(v, volumes, t, t + 1, 0.0, most_volume_, 0.0)) return false;
  }
  return true;
}

/// Nothing in the box is better than what was found.
bool BoxSearch::hopeless() const {
  if (!found_) return false;
  const double most = use_above().most();
  if (most < best_use_ - tolerance) return true;
  if (most > best_use_ + std::max(options_.gap, tolerance)) return false;
  return options_.gap > 0.0 || total_[0].low + total_[1].low >= best_modelled_ * (1 - tolerance);
}

/// A box of one point that keeps every limit.
void BoxSearch::accept_point() {
  const double use = use_above().most();
  const double modelled = total_[0].low + total_[1].low;
  const bool better = !found_ || use > best_use_ + tolerance ||
                      (use > best_use_ - tolerance && modelled < best_modelled_ * (1 - tolerance));
  if (!better) return;
  found_ = true;
  best_ = box_;
  best_use_ = use;
  best_modelled_ = modelled;
}

void BoxSearch::split() {
  std::size_t widest = 0;
  for (std::size_t v = 1; v < box_.size(); ++v)
    if (box_[v].last - box_[v].first > box_[widest].last - box_[widest].first) widest = v;
  const Range range = box_[widest];
  const std::int32_t middle = range.first + (range.last - range.first) / 2;
  const double most = use_above().most();
  // The upper half comes off the stack first.
  for (const Range half : {Range{range.first, middle}, Range{middle + 1, range.last}}) {
    box_[widest] = half;
    stack_.insert(stack_.end(), box_.begin(), box_.end());
    stack_bound_.push_back(most);
  }
}

/// False if a size of several symbols, all down to one value, is not whole.
bool BoxSearch::joint_sizes_possible() const {
  if (!problem_->lattices().has_joint_sizes()) return true;
  for (std::size_t local = 0; local < group_.sites.size(); ++local) {
    FreeValues values{};
    std::uint8_t chosen = 0;
    for (const std::uint8_t symbol : problem_->symbols()) {
      const std::size_t variable = variable_of(local, symbol);
      if (box_[variable].first != box_[variable].last) continue;
      values[symbol] = static_cast<std::int64_t>(value(variable, box_[variable].first));
      chosen = static_cast<std::uint8_t>(chosen | 1U << symbol);
    }
    if (!problem_->lattices().joint_sizes_whole(group_.sites[local], values, chosen)) return false;
  }
  return true;
}

/// Bounds, prunes and narrows the box, then halves it.
void BoxSearch::visit() {
  for (const bool narrowed : {false, true}) {
    if (narrowed && !narrow()) return;
    if (!bound_box()) return;
    if (hopeless()) {
      bound_ = std::max(bound_, use_above().most());
      return;
    }
    if (!narrowed) note_only_line();
    // What is cut because the one cost would be too low cannot use more than this.
    if (!narrowed && found_ && only_line_ >= 0)
      bound_ = std::max(bound_, std::min(use_above().most(), best_use_ + options_.gap));
  }
  if (!joint_sizes_possible()) return;
  if (std::ranges::all_of(box_, [](const Range& range) { return range.first == range.last; })) {
    accept_point();
  } else {
    split();
  }
}

void BoxSearch::run(std::int64_t most_nodes) {
  const std::size_t size = variables_.size();
  while (!stack_bound_.empty() && nodes_ < most_nodes) {
    ++nodes_;
    box_.assign(stack_.end() - static_cast<std::ptrdiff_t>(size), stack_.end());
    stack_.resize(stack_.size() - size);
    stack_bound_.pop_back();
    visit();
  }
  bound_ = std::max(bound_, best_use_);
  for (const double bound : stack_bound_) bound_ = std::max(bound_, std::min(bound, 1.0));
}

void BoxSearch::write(FitSolution& solution) const {
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    const Variable& variable = variables_[v];
    solution.values[variable.site][variable.symbol] = variable.values[static_cast<std::size_t>(best_[v].first)];
    if (!group_.has_start) solution.common[variable.site][variable.symbol] = variable.values.front();
  }
}

}  // namespace kasimir
