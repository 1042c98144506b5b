// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <cstdint>

namespace kasimir {

/// Views are no work: a stage that only copies (one read, no reduction, factor 1) is substituted into the stages that
/// read it wherever that is exact, so that `unfold` followed by `linear` becomes the one stage of a convolution.
///
/// A read of the copy is replaced if each of its coordinates is proven inside the copy's axis, and if each digit of the
/// copy's left side can be cut out of its coordinate without a carry; wrapped copies only where the digit stands alone.
/// Copies that nobody reads any more are dropped. The output stays defined by its own stage.
///
/// What sums products reads each element several times. Where that wraps around at each read, a copy can be cheaper.
enum class WrappedReads : std::uint8_t { of_products_too, not_of_products };
BoundGraph inline_copies(const BoundGraph& graph, WrappedReads wrapped = WrappedReads::of_products_too);

}  // namespace kasimir
