// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/nest/expression.h"

namespace kasimir {

/// A tensor of ones beside a stage: it stands for the test that an iterator is inside its extent.
struct OnesRead {
  std::size_t node;     ///< a read with one coordinate, whose tensor is to be filled in
  std::int64_t extent;  ///< of the tensor
};

/// A stage that gathers what a stage's read passes back, but for the tensors that it defines and reads in addition.
struct Gathered {
  BoundStage stage;
  std::vector<OnesRead> ones;
};

/// One term of the gradient by a read: `nodes` is `dout * de/dread` over the iterators of `stage`, its last node the
/// value; `dout` (a tensor's number) is read at the place of the result. The term is summed where `read` reads the same
/// element of the tensor.
Gathered gather(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read, BoundNodes nodes, int dout);

}  // namespace kasimir
