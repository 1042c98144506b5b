// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/native.h"
#include "kasimir/codegen/work.h"
#include "kasimir/train/latency.h"

namespace kasimir {

/// One kernel at one site, as generated C and as eager PyTorch.
struct KernelTiming {
  Site site;
  Quartiles native;
  Quartiles eager;
  double error = 0;        ///< of the C against ATen, relative to the largest value
  double verified = 0;     ///< of ATen against the interpreter, where it could afford the site or a smaller one
  Multiplications counts;  ///< of the whole batch
  WorkCounts work{};       ///< likewise
  double compile_seconds = 0;
};

/// Compares the C with ATen, and ATen with the interpreter, then times both in turn, feature maps in the order that
/// each prefers (channels last). Rejected with rules "latency: the kernel computes what it means" and those of
/// NativeNetwork.
Outcome<KernelTiming> time_kernel(const Kernel& kernel, const Site& site, const LatencyOptions& options,
                                  const NativeOptions& native = {});

}  // namespace kasimir
