// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace kasimir::study {

/// A candidate as a point: accuracy is to be large, both counts, of the whole network and above 0, small.
struct Point {
  double accuracy = 0;
  double macs = 0;
  double params = 0;
};

/// Of the space of accuracy and the natural logarithms of MACs and parameters, the volume between the reference (the
/// worst of each that counts, fixed beforehand) and the points. A point that is worse than it in one of them adds
/// nothing.
double hypervolume(std::span<const Point> points, const Point& reference);

/// What an accuracy is expected to be: a normal distribution. A deviation of 0 is knowledge.
struct Belief {
  double mean = 0;
  double deviation = 0;
};

/// By how much the hypervolume of these points is expected to grow by a candidate whose counts are known. Exact: between
/// two accuracies of the points the area that the candidate adds is constant, so that the expectation is a sum over
/// them (as of Emmerich, Deutz and Klinkenberg, "Hypervolume-based expected improvement", CEC 2011, for one coordinate
/// that is not known).
double expected_gain(std::span<const Point> points, const Point& reference, double macs, double params,
                     const Belief& accuracy);

}  // namespace kasimir::study
