// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/kernel/site.h"
#include "kasimir/network/network.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

/// Which convolutions are replaced. Patterns are shell-like (`*` any run, dots included; `?` one character) and are
/// matched against the names of convolutions.
struct SiteFilter {
  /// Empty: the default selection, which is every convolution with a window larger than 1x1 and at least
  /// `default_channels` channels in. 1x1 convolutions only mix channels: a kernel searched for its view of the
  /// neighbourhood has nothing to win there, and they are mostly shortcuts and projections that are cheap already.
  /// Stems read 1 to 4 channels, which no grouping divides, and one odd site would forbid groups at all the others.
  /// Not empty: exactly the convolutions that match one of these, 1x1 and stems included.
  std::vector<std::string> replace = {};
  /// Convolutions that match one of these stay.
  std::vector<std::string> keep = {};

  static constexpr std::int64_t default_channels = 8;
};

/// A convolution that is replaced.
struct SiteRef {
  int layer = 0;     ///< its index in the network
  std::string name;  ///< its name there
  Site site;
  LayerCost cost;  ///< of the original convolution
  bool operator==(const SiteRef&) const = default;
};

/// A convolution that stays, and why.
struct KeptConv {
  int layer = 0;
  std::string name;
  std::string reason;  ///< "its window is 1x1"
  LayerCost cost;
  bool operator==(const KeptConv&) const = default;
};

/// Every convolution of a network, in the network's order, is in one of the two.
struct Selection {
  std::vector<SiteRef> replaced;  ///< never empty
  std::vector<KeptConv> kept;
};

/// The site of a convolution, for any stride, dilation, groups and window. Rejected with rule "the layer is a
/// convolution" or "the output is the input divided by the stride, rounded up", which is what a kernel gives.
Outcome<Site> site_of(const Network& network, int layer);

/// @throws Error (input) for a pattern that matches no convolution or only such that cannot be replaced, and if nothing
/// is replaced; the notes say what to try.
Selection select_sites(const Network& network, const SiteFilter& filter = {});

/// What select_sites replaces.
std::vector<SiteRef> find_sites(const Network& network, const SiteFilter& filter = {});

/// Equal sites together.
struct DistinctSite {
  Site site;
  std::int64_t count = 0;  ///< how many convolutions have it
  LayerCost cost;          ///< of these convolutions together
  bool operator==(const DistinctSite&) const = default;
};

/// In the order in which each first appears.
std::vector<DistinctSite> distinct_sites(const std::vector<SiteRef>& sites);

}  // namespace kasimir
