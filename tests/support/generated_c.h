// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/native.h"
#include "kasimir/interp/real.h"
#include "kasimir/kernel/kernel.h"
#include "support/array.h"

#include <algorithm>
#include <string>
#include <vector>

namespace kasimir::testing {

/// A frozen kernel with values: input, weights and statistics, rounded to float.
struct FrozenKernel {
  BoundGraph graph;
  TensorValues<double> given;
};

inline FrozenKernel frozen_kernel(const Kernel& kernel, const Site& site, std::int64_t batch, std::uint64_t seed) {
  const auto bound = lower_at(kernel, site, batch);
  KASIMIR_CHECK(bound.ok(), "{}", bound.rejection().str());
  Rng rng(seed);
  FrozenKernel made{freeze(*bound), random_values(*bound, rng)};
  for (const BoundStage& stage : bound->stages) {
    if (!stage.stat) continue;
    auto& stored = made.given[static_cast<std::size_t>(stage.out)];
    stored.resize(static_cast<std::size_t>(elements(bound->tensors[static_cast<std::size_t>(stage.out)])));
    for (double& value : stored) value = stage.stat->start + 0.3 * rng.unit();
  }
  for (auto& tensor : made.given)
    for (double& value : tensor) value = static_cast<double>(static_cast<float>(value));
  return made;
}

/// Compiles, runs twice (the second run sees the workspace that the first one left): the largest difference.
inline Outcome<double> difference_of_c(const CProgram& c, const COptions& options, const std::vector<float>& weights,
                                       const std::vector<float>& input, const std::vector<double>& expected,
                                       const std::vector<std::string>& flags) {
  NativeOptions native;
  native.flags = flags;
  native.memory_bytes = 0;
  auto built = NativeNetwork::build(c, options, weights, native);
  if (!built.ok()) return built.rejection();
  double worst = 0;
  for (int run = 0; run < 2; ++run) {
    const auto output = built->run(input);
    if (!output.ok()) return output.rejection();
    worst = std::max(worst, largest_difference(*output, expected));
  }
  return worst;
}

}  // namespace kasimir::testing
