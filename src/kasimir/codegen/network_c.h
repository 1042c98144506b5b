// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_program.h"
#include "kasimir/codegen/quantized_graph.h"
#include "kasimir/network/lower.h"

namespace kasimir {

/// Simplifies, schedules and cuts the batch of a frozen graph, for so many threads (COptions::threads).
NestProgram graph_as_nests(const BoundGraph& graph, int threads, const CodeTensors& codes = {});

/// A frozen graph as C, at the batch size that it is bound at.
struct GraphC {
  NestProgram program;
  CProgram c;
};

/// Writes the graph with the default methods. With several threads (`options.threads`), every thread gets its share of
/// the batch, or of every nest where there are fewer images.
GraphC graph_as_c(const BoundGraph& graph, const COptions& options, const CodeTensors& codes = {});

/// The same in one file for any processor (codegen/c_variants.h). `options.target` is not asked.
GraphC graph_as_portable_c(const BoundGraph& graph, const COptions& options, const CodeTensors& codes = {});

/// A whole network as C.
struct NetworkC {
  NetworkGraph network;
  GraphC made;
  std::vector<float> weights;  ///< as `prepare` takes them
};

/// With a quantisation, its places multiply whole numbers (docs/native.md). Rejected as lower_network. @throws Error
/// (input) as values_of, quantized and quantized_tensors.
Outcome<NetworkC> network_as_c(const NetworkPlan& plan, std::int64_t batch, const std::vector<NamedTensor>& weights,
                               const COptions& options, bool portable = false, const Quantization& quantization = {});

}  // namespace kasimir
