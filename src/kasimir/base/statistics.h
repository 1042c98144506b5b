// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace kasimir
