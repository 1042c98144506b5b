// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/network_c.h"

#include "kasimir/codegen/c_variants.h"
#include "kasimir/codegen/native.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/schedule.h"
#include "kasimir/nest/sub_batches.h"

namespace kasimir {
namespace {

// Half of the second-level cache of the processors at hand: the other half is for weights.
constexpr std::int64_t cache_bytes = 512 << 10;

}  // namespace

NestProgram graph_as_nests(const BoundGraph& graph, int threads, const CodeTensors& codes) {
  NestProgram whole = schedule(simplify(graph));
  mark_codes(whole, codes);
  // Threads that share every nest take all images together.
  const std::int64_t most = whole.batch < threads ? whole.batch : whole.batch / threads;
  return with_sub_batches(whole, cache_bytes, most);
}

GraphC graph_as_c(const BoundGraph& graph, const COptions& options, const CodeTensors& codes) {
  GraphC made{graph_as_nests(graph, options.threads, codes), {}};
  made.c = generate_c(made.program, options);
  return made;
}

GraphC graph_as_portable_c(const BoundGraph& graph, const COptions& options, const CodeTensors& codes) {
  GraphC made{graph_as_nests(graph, options.threads, codes), {}};
  std::vector<CProgram> variants;
  for (const CTarget& target : portable_targets(!made.program.codes.empty())) {
    COptions of = options;
    of.target = target;
    variants.push_back(generate_c(made.program, of));
  }
  made.c = one_for_all(made.program, variants, options);
  return made;
}

Outcome<NetworkC> network_as_c(const NetworkPlan& plan, std::int64_t batch, const std::vector<NamedTensor>& weights,
                               const COptions& options, bool portable, const Quantization& quantization) {
  auto lowered = lower_network(plan, batch);
  if (!lowered.ok()) return lowered.rejection();
  NetworkC result;
  result.network = *std::move(lowered);
  QuantizedGraph whole = quantized(std::move(result.network), quantization);
  result.network = std::move(whole.network);
  result.made = portable ? graph_as_portable_c(result.network.graph, options, whole.codes)
                         : graph_as_c(result.network.graph, options, whole.codes);
  result.weights = pack_weights(
      result.made.c,
      values_of(result.network, quantization.empty() ? weights : quantized_tensors(weights, quantization)));
  return result;
}

}  // namespace kasimir
