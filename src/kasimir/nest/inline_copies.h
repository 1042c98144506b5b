// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

namespace kasimir {

/// Views are no work: a stage that only copies (one read, no reduction, factor 1) is substituted into the stages that
/// read it wherever that is exact, so that `unfold` followed by `linear` becomes the one stage of a convolution.
///
/// A read of the copy is replaced if each of its coordinates is proven inside the copy's axis, and if each digit of the
/// copy's left side can be cut out of its coordinate without a carry; wrapped copies only where the digit stands alone.
/// Copies that nobody reads any more are dropped. The output stays defined by its own stage.
BoundGraph inline_copies(const BoundGraph& graph);

}  // namespace kasimir
