// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/application.h"

#include <optional>

namespace kasimir::testing {

/// A random legal use of a primitive: proposed by its own record for random operands at random sites.
struct RandomApplication {
  Application application;
  std::vector<Site> sites;
  Shape shape;

  [[nodiscard]] SiteSet site_set() const { return {sites, test_choices()}; }
};

/// Draw `index` of a stream, or why the primitive had no use for the operands.
Outcome<RandomApplication> draw_application(const Primitive& primitive, std::uint64_t seed, std::uint64_t index);

/// The stages at one site, free symbols at the least values that make every size whole; nothing if there are none up to
/// 48.
std::optional<BoundGraph> bind_somehow(const Graph& graph, const Site& site, std::int64_t batch,
                                       Binding* used = nullptr);

}  // namespace kasimir::testing
