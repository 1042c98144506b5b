// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/synth/evaluated.h"

#include <map>

/// Whether a kernel can compute given values with some weights.
namespace kasimir::testing {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Takes away what lies along unit vectors that are orthogonal to each other; twice, for accuracy.
inline void take_away(std::vector<double>& v, const std::vector<std::vector<double>>& basis) {
  for (int twice = 0; twice < 2; ++twice) {
    for (const auto& unit : basis) {
      const double part = dot(v, unit);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= part * unit[i];
    }
  }
}

/// Numbers of weights by step.
inline std::map<int, std::int64_t> weight_counts(const Evaluated& evaluated) {
  std::map<int, std::int64_t> count;
  for (std::size_t t = 0; t < evaluated.graph().tensors.size(); ++t)
    if (evaluated.step_of(t) >= 0) count[evaluated.step_of(t)] += elements(evaluated.graph().tensors[t]);
  return count;
}

/// How far the values `wanted` are from what the kernel computes with the best values of one step's weights, on which
/// its result depends linearly, and the given ones elsewhere. 0: reached, 1: nothing of it.
inline double distance_by(int step, const Evaluated& evaluated, TensorValues<double> values,
                          std::vector<double> wanted) {
  std::vector<std::size_t> chosen;
  for (std::size_t t = 0; t < values.size(); ++t)
    if (evaluated.step_of(t) == step) chosen.push_back(t);
  for (std::size_t t : chosen) std::ranges::fill(values[t], 0.0);
  const double size = dot(wanted, wanted);
  std::vector<std::vector<double>> basis;
  for (std::size_t t : chosen) {
    for (double& weight : values[t]) {
      weight = 1.0;
      auto column = evaluated.by_kind(evaluated.run(values));
      weight = 0.0;
      const double before = dot(column, column);
      take_away(column, basis);
      const double length = dot(column, column);
      if (length <= 1e-18 * before) continue;
      KASIMIR_CHECK(basis.size() + 1 < column.size(), "{} results: any of them could be reached", column.size());
      for (double& v : column) v /= std::sqrt(length);
      basis.push_back(std::move(column));
    }
  }
  take_away(wanted, basis);
  return std::sqrt(dot(wanted, wanted) / size);
}

/// The same with that step whose weights come nearest. @pre more results than weights of a step.
inline double distance(const Evaluated& evaluated, std::uint64_t seed, const std::vector<int>& streams,
                       const std::vector<double>& wanted) {
  double nearest = 1.0;
  for (const auto& [step, count] : weight_counts(evaluated))
    nearest = std::min(nearest, distance_by(step, evaluated, evaluated.draw(seed, streams), wanted));
  return nearest;
}

}  // namespace kasimir::testing
