// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/log_bound.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

/// What rounding may do to a bound: sums of some 100 logarithms below 100 have errors of 1e-12.
constexpr double safety = 1e-11;
/// By how much an evaluation may pass a limit that it still calls kept.
constexpr double tolerance = 1e-9;
/// Of one mean: room on the stack.
constexpr std::size_t most_terms = 256;
// Any of the following gives bounds that hold; they say how close these come and how long it takes.
/// Of a limit: price / logarithm of what is used, and the price at most.
constexpr double stiffness = 30;
constexpr double most_price = 20;
/// Of the mean that stands for the longest of several times.
constexpr double sharpness = 30;
/// Ways from corner to corner after each step, and places that are looked at on each.
constexpr int turns = 5;
constexpr int looks = 10;

}  // namespace

LogBound::LogBound(const PriceForm& form, const CostModel& model, std::size_t components, const Goal& goal)
    : form_(form), model_(model), components_(components), goal_(goal) {}

double LogBound::log_of(const Monomial& monomial, const std::vector<double>& at) const {
  double value = monomial.log_coefficient;
  if (monomial.first >= 0) value += at[static_cast<std::size_t>(monomial.first)];
  if (monomial.second >= 0) value += monomial.power * at[static_cast<std::size_t>(monomial.second)];
  return value;
}

double LogBound::sum_of(const std::vector<Monomial>& terms, const std::vector<double>& at) const {
  double sum = 0;
  for (const Monomial& term : terms) sum += std::exp(log_of(term, at));
  return sum;
}

double LogBound::value_at(const PriceSum& sum, const std::vector<double>& at) const {
  double value = sum_of(sum.terms, at);
  for (const OutputTerm& term : sum.outputs) {
    double each = term.by_update * std::exp(at[static_cast<std::size_t>(term.updates)]) - term.saved;
    if (term.refills >= 0) each += term.by_refill * std::exp(at[static_cast<std::size_t>(term.refills)]);
    value += std::exp(at[static_cast<std::size_t>(term.result)]) * std::max(0.0, each);
  }
  return value;
}

/// Weight times the logarithm of the mean that bounds the sum, with the shares that the terms have at the point.
void LogBound::add_mean(const std::vector<Monomial>& terms, const std::vector<double>& at, double weight,
                        Line& line) const {
  std::array<double, most_terms> logs;
  KASIMIR_CHECK(terms.size() <= most_terms, "{} terms", terms.size());
  double most = -Goal::unlimited;
  for (std::size_t k = 0; k < terms.size(); ++k) most = std::max(most, logs[k] = log_of(terms[k], at));
  std::array<double, most_terms> shares;
  double sum = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) sum += shares[k] = std::exp(logs[k] - most);
  const double log_sum = std::log(sum) + most;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const double share = weight * shares[k] / sum;
    if (share < 1e-12) continue;
    line.offset += share * (terms[k].log_coefficient + log_sum - logs[k]);
    if (terms[k].first >= 0) line.slope[static_cast<std::size_t>(terms[k].first)] += share;
    if (terms[k].second >= 0) line.slope[static_cast<std::size_t>(terms[k].second)] += share * terms[k].power;
  }
}

/// The output's cost as products alone. Its logarithm is concave in those of updates and refills, each from 1 to the
/// most that the rows can make, so that it lies above the chord. Nothing if rows can make less than 1.
std::vector<Monomial> LogBound::chords(const OutputTerm& term) const {
  const auto high = [&](std::int16_t component) {
    return component < 0 ? 0.0 : high_[static_cast<std::size_t>(component)];
  };
  const auto below_one = [&](std::int16_t component) {
    return component >= 0 && low_[static_cast<std::size_t>(component)] < -tolerance;
  };
  const double once = term.by_update + term.by_refill - term.saved;
  if (once <= 0 || below_one(term.updates) || below_one(term.refills)) return {};
  std::vector<Monomial> terms;
  const auto chord = [&](std::int16_t component, double by) {
    if (by <= 0) return;
    const double base = once * by / (term.by_update + term.by_refill);
    const double far = high(component);
    const double power = far < tolerance ? 1 : std::log((by * (std::exp(far) - 1) + base) / base) / far;
    terms.push_back({std::log(base), term.result, component, power});
  };
  chord(term.updates, term.by_update);
  chord(term.refills, term.by_refill);
  return terms;
}

/// As products less a number, or as products alone: what is more at the point.
void LogBound::add_output(const OutputTerm& from, double by, const std::vector<double>& at, Bounded& to) const {
  OutputTerm term = from;
  term.by_update *= by;
  term.by_refill *= by;
  term.saved *= by;
  const double away = term.saved * std::exp(high_[static_cast<std::size_t>(term.result)]);
  std::vector<Monomial> plain;
  if (term.by_update > 0) plain.push_back({std::log(term.by_update), term.result, term.updates, 1});
  if (term.by_refill > 0) plain.push_back({std::log(term.by_refill), term.result, term.refills, 1});
  const std::vector<Monomial> alone = chords(term);
  const double plainly = sum_of(plain, at) - away;
  if (plainly <= 0 && alone.empty()) return;
  const bool by_chords = !alone.empty() && sum_of(alone, at) >= plainly;
  to.terms.insert(to.terms.end(), by_chords ? alone.begin() : plain.begin(), by_chords ? alone.end() : plain.end());
  if (!by_chords) to.away += away;
}

void LogBound::add(const PriceSum& from, double by, const std::vector<double>& at, Bounded& to) const {
  if (by <= 0) return;
  const double log_by = std::log(by);
  for (Monomial term : from.terms) {
    term.log_coefficient += log_by;
    to.terms.push_back(term);
  }
  for (const OutputTerm& term : from.outputs) add_output(term, by, at, to);
}

/// The value as sums of products: the longest of several times is no less than any mean of them.
void LogBound::combine(const std::vector<double>& at) {
  first_ = {};
  second_ = {};
  const bool product = goal_.objective == Objective::energy_delay;
  double cycle = goal_.objective == Objective::latency ? 1 : model_.leakage_pj_per_cycle;
  if (goal_.objective == Objective::weighted) cycle += goal_.pj_per_cycle;
  if (goal_.objective != Objective::latency) add(form_.energy, 1, at, first_);
  std::vector<double> weight;
  double longest = 0;
  for (const PriceSum& time : form_.times) {
    weight.push_back(value_at(time, at));
    longest = std::max(longest, weight.back());
  }
  double sum = 0;
  for (double& w : weight) sum += w = std::pow(w / longest, sharpness);
  for (std::size_t k = 0; k < weight.size(); ++k) {
    const double share = weight[k] / sum;
    if (share < 1e-6) continue;
    add(form_.times[k], share * cycle, at, first_);
    if (product) add(form_.times[k], share, at, second_);
  }
  add(form_.serial, cycle, at, first_);
  if (product) add(form_.serial, 1, at, second_);
  if (product)
    left_ = std::max(0.0, 1 - first_.away / sum_of(first_.terms, low_)) *
            std::max(0.0, 1 - second_.away / sum_of(second_.terms, low_));
}

std::vector<Monomial> LogBound::held_terms(const HeldShare& held) const {
  const auto always_above_one = [&](std::int16_t component) {
    return component >= 0 && low_[static_cast<std::size_t>(component)] > 1e-6;
  };
  std::vector<Monomial> terms;
  for (const HeldShare::Part& part : held.parts) {
    terms.push_back(part.tile);
    if (always_above_one(part.updates) || always_above_one(part.split)) terms.back().log_coefficient = part.wide;
  }
  return terms;
}

/// A limit's price grows with how far the point is beyond it: what is least is then close to the best prices.
void LogBound::add_limits(const std::vector<double>& at, Line& line) const {
  const auto add_limit = [&](const std::vector<Monomial>& terms) {
    const double price = std::min(most_price, stiffness * std::log(sum_of(terms, at)));
    if (price <= 0) return;
    add_mean(terms, at, price, line);
    line.offset -= tolerance * price;
  };
  for (const HeldShare& held : form_.held) add_limit(held_terms(held));
  for (const Monomial& fan : form_.fans) add_limit({fan});
}

double LogBound::value_of_log(double log_bound) const {
  const double products = std::exp(log_bound) * (1 - safety);
  if (goal_.objective == Objective::energy_delay) return products * left_;
  return std::max(0.0, products - first_.away);
}

double LogBound::log_of_value(double value) const {
  if (goal_.objective == Objective::energy_delay) return left_ > 0 ? std::log(value / left_) + safety : Goal::unlimited;
  return std::log(value + first_.away) + 2 * safety;
}

std::vector<double> LogBound::middle_of(const std::vector<FactorTable>& tables) const {
  std::vector<double> middle(components_, 0);
  for (const FactorTable& table : tables)
    for (std::size_t c = 0; c < components_; ++c) {
      double sum = 0;
      for (std::size_t r = 0; r < table.rows; ++r) sum += table.log_column(c)[r];
      middle[c] += sum / static_cast<double>(table.rows);
    }
  return middle;
}

void LogBound::find_ranges(const std::vector<FactorTable>& tables) {
  low_.assign(components_, 0);
  high_.assign(components_, 0);
  for (const FactorTable& table : tables)
    for (std::size_t c = 0; c < components_; ++c) {
      low_[c] += table.log_low[c];
      high_[c] += table.log_high[c];
    }
}

void LogBound::find_least(const std::vector<FactorTable>& tables, const Line& line) {
  row_values_.resize(tables.size());
  least_.assign(tables.size(), 0);
  least_row_.assign(tables.size(), 0);
  for (std::size_t g = 0; g < tables.size(); ++g) {
    const FactorTable& table = tables[g];
    std::vector<double>& values = row_values_[g];
    values.assign(table.rows, 0);
    for (std::size_t c = 0; c < components_; ++c) {
      const double slope = line.slope[c];
      if (slope == 0) continue;
      const double* column = table.log_column(c);
      for (std::size_t r = 0; r < table.rows; ++r) values[r] += slope * column[r];
    }
    least_row_[g] = static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
    least_[g] = values[least_row_[g]];
  }
}

/// Rows whose bound reaches `cut`, taken with the best rows of all other tables.
void LogBound::drop(std::vector<FactorTable>& tables, double offset, double cut, Tightened& result) {
  double all = offset;
  for (const double least : least_) all += least;
  const double highest = log_of_value(cut);
  std::vector<std::size_t> kept;
  for (std::size_t g = 0; g < tables.size(); ++g) {
    const double others = all - least_[g];
    double lowest = Goal::unlimited;
    kept.clear();
    for (std::size_t r = 0; r < tables[g].rows; ++r)
      if (r == least_row_[g] || others + row_values_[g][r] < highest)
        kept.push_back(r);
      else
        lowest = std::min(lowest, others + row_values_[g][r]);
    if (kept.size() == tables[g].rows) continue;
    result.dropped = std::min(result.dropped, std::max(cut, value_of_log(lowest)));
    tables[g].keep(kept, components_);
  }
}

/// The value's products at a point, bounded by a product: its slope is that of their logarithm, with the limits.
LogBound::Line LogBound::line_at(const std::vector<double>& at) {
  combine(at);
  Line line{0, std::vector<double>(components_, 0)};
  add_mean(first_.terms, at, 1, line);
  if (goal_.objective == Objective::energy_delay) add_mean(second_.terms, at, 1, line);
  add_limits(at, line);
  return line;
}

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// Where a growing slope that begins at `slope` < 0 is about 0, at `end` at most (regula falsi with halved ends).
template <typename Slope>
double least_along(double end, double slope, const Slope& slope_at) {
  double low = 0;
  double high = end;
  double at_low = slope;
  double at_high = slope_at(high);
  if (at_high <= 0) return end;
  const double near = 0.05 * -slope;
  for (int look = 0; look < looks; ++look) {
    const double middle = look % 3 == 2 ? (low + high) / 2 : low + (high - low) * at_low / (at_low - at_high);
    const double here = slope_at(middle);
    if (here > 0) {
      high = middle;
      at_high = here;
      at_low /= 2;
    } else {
      low = middle;
      at_low = here;
      at_high /= 2;
      if (-here < near) break;
    }
  }
  return low;
}

}  // namespace

std::vector<std::vector<double>> LogBound::row_bounds(const std::vector<FactorTable>& tables,
                                                      const std::vector<double>& at) {
  find_ranges(tables);
  const Line line = line_at(at);
  find_least(tables, line);
  double all = line.offset;
  for (const double least : least_) all += least;
  std::vector<std::vector<double>> bounds = row_values_;
  for (std::size_t g = 0; g < bounds.size(); ++g)
    for (double& bound : bounds[g]) bound += all - least_[g];
  return bounds;
}

std::vector<double> LogBound::slope_at(const std::vector<FactorTable>& tables, const std::vector<double>& at) {
  find_ranges(tables);
  return line_at(at).slope;
}

/// Where the value is less than at the mean of `hull`: weight goes from the corner that is worst to the one that is
/// best, as far as that helps.
void LogBound::descend(Hull& hull) {
  for (int turn = 0; turn < turns; ++turn) {
    const std::vector<double> slope = line_at(hull.mean).slope;
    std::size_t best = 0;
    std::size_t worst = hull.corners.size();
    double least = Goal::unlimited;
    double most = -Goal::unlimited;
    for (std::size_t i = 0; i < hull.corners.size(); ++i) {
      const double here = dot(slope, hull.corners[i]);
      if (here < least) {
        least = here;
        best = i;
      }
      if (hull.weights[i] > 0 && here > most) {
        most = here;
        worst = i;
      }
    }
    if (most - least < 1e-4) return;
    std::vector<double> way(components_);
    for (std::size_t c = 0; c < components_; ++c) way[c] = hull.corners[best][c] - hull.corners[worst][c];
    const auto at = [&](double far) {
      std::vector<double> place = hull.mean;
      for (std::size_t c = 0; c < components_; ++c) place[c] += far * way[c];
      return place;
    };
    const double far =
        least_along(hull.weights[worst], least - most, [&](double here) { return dot(line_at(at(here)).slope, way); });
    hull.mean = at(far);
    hull.weights[best] += far;
    hull.weights[worst] -= far;
  }
}

/// The rows that are least join; corners that no rows can make any more, as they would be less, go.
void LogBound::Hull::join(const std::vector<double>& corner, const std::vector<double>& slope) {
  const double least = dot(slope, corner);
  std::size_t kept = 0;
  double weight = 0;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    if (weights[i] <= 0 || dot(slope, corners[i]) < least - 1e-9 * std::abs(least)) continue;
    weight += weights[i];
    if (kept != i) corners[kept] = std::move(corners[i]);
    weights[kept++] = weights[i];
  }
  corners.resize(kept);
  weights.resize(kept);
  corners.push_back(corner);
  weights.push_back(kept == 0 ? 1 : 0);
  mean.assign(corner.size(), 0);
  for (std::size_t i = 0; i < corners.size(); ++i) {
    if (kept > 0) weights[i] /= weight;
    for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += weights[i] * corners[i][c];
  }
}

LogBound::Tightened LogBound::tighten(std::vector<FactorTable>& tables, std::vector<double>& point, int steps,
                                      const std::function<double()>& cut,
                                      const std::function<void(const std::vector<std::size_t>&)>& try_rows) {
  Tightened result{.bound = 0, .dropped = Goal::unlimited};
  if (point.empty()) point = middle_of(tables);
  Hull hull{{point}, {1}, point};
  double best_log = -Goal::unlimited;
  for (int step = 0; step < steps; ++step) {
    find_ranges(tables);
    const Line line = line_at(hull.mean);
    find_least(tables, line);
    double log_bound = line.offset;
    for (const double least : least_) log_bound += least;
    result.bound = std::max(result.bound, value_of_log(log_bound));
    if (result.bound >= cut()) {
      result.beaten = true;
      return result;
    }
    std::vector<double> corner(components_, 0);
    for (std::size_t g = 0; g < tables.size(); ++g)
      for (std::size_t c = 0; c < components_; ++c) corner[c] += tables[g].log_column(c)[least_row_[g]];
    try_rows(least_row_);
    drop(tables, line.offset, cut(), result);
    if (log_bound > best_log) {
      best_log = log_bound;
      point = hull.mean;
    }
    hull.join(corner, line.slope);
    descend(hull);
  }
  return result;
}

}  // namespace kasimir
