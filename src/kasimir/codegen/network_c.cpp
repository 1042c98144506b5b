// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/network_c.h"

#include "kasimir/codegen/native.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/schedule.h"
#include "kasimir/nest/sub_batches.h"

namespace kasimir {
namespace {

// Half of the second-level cache of the processors at hand: the other half is for weights.
constexpr std::int64_t cache_bytes = 512 << 10;

}  // namespace

Outcome<NetworkC> network_as_c(const NetworkPlan& plan, std::int64_t batch, const std::vector<NamedTensor>& weights,
                               const COptions& options) {
  auto lowered = lower_network(plan, batch);
  if (!lowered.ok()) return lowered.rejection();
  NetworkC made;
  made.network = *std::move(lowered);
  made.program = with_sub_batches(schedule(simplify(made.network.graph)), cache_bytes, batch);
  made.c = generate_c(made.program, options);
  made.weights = pack_weights(made.c, values_of(made.network, weights));
  return made;
}

}  // namespace kasimir
