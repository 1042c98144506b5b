// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/latency_model.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {

double LatencyModel::predict(const WorkCounts& counts) const {
  double sum = 0;
  for (std::size_t k = 0; k < work_kinds; ++k) sum += seconds_per[k] * counts[k];
  return sum;
}

LatencyModel reference_latency_model() {
  return {{0.269e-9, 0.0132e-9, 0.0933e-9, 0.366e-9, 0.264e-9, 0.205e-9, 2.39e-9, 0, 0, 0.243e-9, 0.479e-9, 0.0523e-9,
           70.5e-9}};
}

LatencyModel fit_latency_model(std::span<const TimedWork> samples) {
  KASIMIR_CHECK(samples.size() >= work_kinds, "{} samples for {} constants", samples.size(), work_kinds);
  // Each row is divided by its time, so that errors are relative; each column by its largest value, so that one step
  // of the descent means the same for all.
  std::array<double, work_kinds> scale{};
  for (const TimedWork& sample : samples) {
    KASIMIR_CHECK(sample.seconds > 0, "a program cannot take {} s", sample.seconds);
    for (std::size_t k = 0; k < work_kinds; ++k) scale[k] = std::max(scale[k], sample.counts[k] / sample.seconds);
  }
  std::array<WorkCounts, work_kinds> gram{};
  WorkCounts target{};
  for (const TimedWork& sample : samples) {
    WorkCounts row{};
    for (std::size_t k = 0; k < work_kinds; ++k)
      row[k] = scale[k] > 0 ? sample.counts[k] / sample.seconds / scale[k] : 0;
    for (std::size_t i = 0; i < work_kinds; ++i) {
      target[i] += row[i];
      for (std::size_t k = 0; k < work_kinds; ++k) gram[i][k] += row[i] * row[k];
    }
  }
  // Coordinate descent reaches the least of a convex function of non-negative variables.
  constexpr int most_rounds = 20'000;
  WorkCounts x{};
  double change = 1;
  for (int round = 0; round < most_rounds && change > 1e-12; ++round) {
    change = 0;
    for (std::size_t i = 0; i < work_kinds; ++i) {
      if (gram[i][i] == 0) continue;
      double gradient = -target[i];
      for (std::size_t k = 0; k < work_kinds; ++k) gradient += gram[i][k] * x[k];
      const double next = std::max(0.0, x[i] - gradient / gram[i][i]);
      change = std::max(change, std::abs(next - x[i]));
      x[i] = next;
    }
  }
  LatencyModel model;
  for (std::size_t k = 0; k < work_kinds; ++k) model.seconds_per[k] = scale[k] > 0 ? x[k] / scale[k] : 0;
  return model;
}

}  // namespace kasimir
