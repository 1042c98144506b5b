// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/statistics.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace kasimir {
namespace {

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> rank(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) rank[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return rank;
}

using Pair = std::pair<double, double>;

/// Pairs of neighbours that are equal, over all runs of equal ones, in a sorted range.
template <typename Same>
double tied_pairs(const std::vector<Pair>& sorted, Same same) {
  double tied = 0;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin;
    while (end < sorted.size() && same(sorted[begin], sorted[end])) ++end;
    tied += static_cast<double>(end - begin) * static_cast<double>(end - begin - 1) / 2;
    begin = end;
  }
  return tied;
}

/// Pairs whose second values stand in falling order; sorts them by it.
double falling_pairs(std::vector<Pair>& pairs) {
  std::vector<Pair> merged(pairs.size());
  double falling = 0;
  for (std::size_t width = 1; width < pairs.size(); width *= 2) {
    for (std::size_t begin = 0; begin < pairs.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, pairs.size());
      const std::size_t end = std::min(begin + 2 * width, pairs.size());
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t at = begin; at < end; ++at) {
        const bool from_right = left == middle || (right < end && pairs[right].second < pairs[left].second);
        if (from_right) falling += static_cast<double>(middle - left);
        merged[at] = from_right ? pairs[right++] : pairs[left++];
      }
    }
    pairs.swap(merged);
  }
  return falling;
}

double kendall_tau(std::vector<Pair> pairs) {
  const auto n = static_cast<double>(pairs.size());
  std::ranges::sort(pairs);
  const double in_both = tied_pairs(pairs, [](const Pair& a, const Pair& b) { return a == b; });
  const double in_first = tied_pairs(pairs, [](const Pair& a, const Pair& b) { return a.first == b.first; });
  const double falling = falling_pairs(pairs);
  const double in_second = tied_pairs(pairs, [](const Pair& a, const Pair& b) { return a.second == b.second; });
  const double all = n * (n - 1) / 2;
  const double spread = (all - in_first) * (all - in_second);
  return spread > 0 ? (all - in_first - in_second + in_both - 2 * falling) / std::sqrt(spread) : 0;
}

std::vector<Pair> paired(const std::vector<double>& a, const std::vector<double>& b) {
  KASIMIR_CHECK(a.size() == b.size(), "{} and {} values", a.size(), b.size());
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < a.size(); ++i) {
    KASIMIR_CHECK(!std::isnan(a[i]) && !std::isnan(b[i]), "value {} of {} is no number", i, a.size());
    pairs.emplace_back(a[i], b[i]);
  }
  return pairs;
}

}  // namespace

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (double value : values) {
    KASIMIR_CHECK(value > 0, "a geometric mean of {}", value);
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  KASIMIR_CHECK(a.size() == b.size(), "{} and {} values", a.size(), b.size());
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

double kendall_tau(const std::vector<double>& a, const std::vector<double>& b) { return kendall_tau(paired(a, b)); }

ConfidenceInterval kendall_interval(const std::vector<double>& a, const std::vector<double>& b, double confidence,
                                    int repeats, std::uint64_t seed) {
  const std::vector<Pair> pairs = paired(a, b);
  if (pairs.empty() || repeats < 1) return {};
  std::vector<double> taus;
  for (int i = 0; i < repeats; ++i) {
    Rng rng(seed, static_cast<std::uint64_t>(i));
    std::vector<Pair> drawn;
    for (std::size_t k = 0; k < pairs.size(); ++k) drawn.push_back(pairs[rng.below(pairs.size())]);
    taus.push_back(kendall_tau(std::move(drawn)));
  }
  std::ranges::sort(taus);
  const auto at = [&](double share) {
    return taus[static_cast<std::size_t>(std::lround(share * static_cast<double>(taus.size() - 1)))];
  };
  return {at((1 - confidence) / 2), at((1 + confidence) / 2)};
}

}  // namespace kasimir
