// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"
#include "kasimir/network/network.h"
#include "kasimir/network/sites.h"

#include <map>
#include <utility>
#include <vector>

namespace kasimir {

/// A network in which some convolutions are replaced by kernels. `network` is not owned and outlives the plan; nothing
/// replaced means the original.
struct NetworkPlan {
  const Network* network = nullptr;
  std::map<int, std::pair<Kernel, Site>> replaced;  ///< by index of the layer, which is a convolution
};

/// The same kernel at all these sites.
NetworkPlan replace_with(const Network& network, const std::vector<SiteRef>& sites, const Kernel& kernel);

}  // namespace kasimir
