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

/// The same kernels in the same network built for images of another size: free sizes keep their values, so that weights
/// are as many. Rejected where a kernel breaks a rule at the other sizes.
/// @throws Error (input) if the other network has other layers.
Outcome<NetworkPlan> plan_at_size(const NetworkPlan& plan, const Network& other);

}  // namespace kasimir
