// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/verify.h"
#include "kasimir/synth/budget.h"
#include "kasimir/synth/solver.h"
#include "support/counts.h"

#include <gtest/gtest.h>

#include <span>

namespace kasimir::testing {

/// Expects that the kernel is legal and within the budget, by its bound stages at each site, in no way by the solver or
/// by what grew it. Returns its costs over the network.
inline Counts expect_within(const Kernel& kernel, std::span<const SiteLoad> loads, const Budget& budget) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 21;
  Counts total;
  for (const SiteLoad& load : loads) {
    const auto graph = lower_at(kernel, load.site, 1);
    EXPECT_TRUE(graph.ok()) << graph.rejection().str();
    if (!graph.ok()) continue;
    const auto broken = verify(*graph);
    EXPECT_FALSE(broken.has_value()) << broken->str();
    const Counts here = count(*graph);
    total.macs += here.macs * static_cast<double>(load.count);
    total.params += here.params * static_cast<double>(load.count);
    const auto check = [](const Limit& limit, double found, double replaced) {
      if (!limit.relative) return;
      EXPECT_LE(found, limit.high * replaced * (1 + 1e-9));
      EXPECT_GE(found, limit.low * replaced * (1 - 1e-9));
    };
    check(budget.macs, here.macs, load.macs);
    check(budget.params, here.params, load.params);
    for (const BoundTensor& tensor : graph->tensors)
      if (tensor.role == Role::between) {
        EXPECT_LE(elements(tensor), most_elements);
      }
  }
  const auto check_total = [](const Limit& limit, double found) {
    if (limit.relative) return;
    EXPECT_LE(found, limit.high);
    EXPECT_GE(found, limit.low);
  };
  check_total(budget.macs, total.macs);
  check_total(budget.params, total.params);
  return total;
}

}  // namespace kasimir::testing
