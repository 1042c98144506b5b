// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/plan.h"
#include "kasimir/study/record.h"

#include <functional>
#include <string>
#include <vector>

namespace kasimir {

/// The text of the kernel of another trial of the study.
using KernelOf = std::function<std::string(int trial)>;

/// The network with a trial's kernel at all these sites, or with the kernels of an assignment, each at its site.
/// @throws Error (input) for a kernel that cannot be read, and for an assignment with a site that the network lacks.
NetworkPlan trial_plan(const study::Trial& trial, const Network& network, const std::vector<SiteRef>& sites,
                       const KernelOf& kernel_of);

/// What the plan has at these sites, for one image: kernels where it replaces, the original elsewhere.
study::Counts counts_at(const NetworkPlan& plan, const std::vector<SiteRef>& sites);

}  // namespace kasimir
