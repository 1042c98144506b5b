// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace kasimir {

/// exp of the mean logarithm; 0 for an empty list. All values are positive: a failed check otherwise.
double geometric_mean(const std::vector<double>& values);

/// 0 for an empty list.
double mean(const std::vector<double>& values);
/// Of a sample, over n - 1; 0 for fewer than two values.
double standard_deviation(const std::vector<double>& values);

/// The middle value, or the mean of the two middle ones; 0 for an empty list.
double median(std::vector<double> values);

/// Spearman's rank correlation, equal values sharing their mean rank; 0 where one list is constant or shorter than 2.
/// Lists of different lengths are a failed check.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// Kendall's rank correlation tau-b, which corrects for equal values (Kendall, Biometrika 33, 1945), in n log n steps
/// (Knight, Journal of the American Statistical Association 61, 1966). 0 where one list is constant or shorter than 2.
/// Infinite values are welcome, not-a-numbers a failed check, as are lists of different lengths.
double kendall_tau(const std::vector<double>& a, const std::vector<double>& b);

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

/// Where Kendall's tau lies with probability `confidence`, by the percentile bootstrap: pairs are drawn anew with
/// replacement `repeats` times (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13).
ConfidenceInterval kendall_interval(const std::vector<double>& a, const std::vector<double>& b, double confidence,
                                    int repeats, std::uint64_t seed);

}  // namespace kasimir
