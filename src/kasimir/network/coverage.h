// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/sites.h"

#include <string>
#include <vector>

namespace kasimir {

/// How much of a network's convolutions a selection replaces. For one image.
struct Coverage {
  std::string network;
  std::vector<DistinctSite> sites;  ///< what is replaced, equal sites together
  std::vector<KeptConv> kept;
  std::int64_t replaced_count = 0;  ///< convolutions replaced
  LayerCost replaced;               ///< their sum
  LayerCost convolutions;           ///< all convolutions, replaced and kept
  LayerCost total;                  ///< the whole network

  /// Shares of all convolutions' cost, 0 .. 1.
  [[nodiscard]] double macs_share() const;
  [[nodiscard]] double params_share() const;
  /// A line of shares, a table with a row per distinct site, and a table of the convolutions that stay, with reasons.
  [[nodiscard]] std::string str() const;
};

/// @throws Error (input) as select_sites.
Coverage coverage(const Network& network, const SiteFilter& filter = {});

}  // namespace kasimir
