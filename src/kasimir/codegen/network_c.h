// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_program.h"
#include "kasimir/network/lower.h"

namespace kasimir {

/// A whole network as C, at one batch size.
struct NetworkC {
  NetworkGraph network;
  NestProgram program;
  CProgram c;
  std::vector<float> weights;  ///< as `prepare` takes them
};

/// Lowers, simplifies, schedules and writes the network with the default methods. Rejected as lower_network.
/// @throws Error (input) as values_of.
Outcome<NetworkC> network_as_c(const NetworkPlan& plan, std::int64_t batch, const std::vector<NamedTensor>& weights,
                               const COptions& options);

}  // namespace kasimir
