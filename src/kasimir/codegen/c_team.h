// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_text.h"

#include <cstdint>

/// Threads that compute one nest together. The body of a nest that is shared sees its number `thread` and the number of
/// all, `threads`: each does a contiguous range of the steps of one loop, of nearly equal length.
namespace kasimir {

/// The text of `ksm_share` (where a thread's range begins) and of `ksm_wait`, at which all threads of a run meet. They
/// spin, and let others run when it takes long.
std::string c_team_prelude();

/// How much longer `units` equal steps take on so many threads than if they could be cut anywhere: 1 or more.
double unevenness(std::int64_t units, int threads);

/// `for (NAME = ..)` over the thread's range of the `whole / step` blocks that begin at `low`. Where `partial`, a block
/// of another size follows them that belongs to the last thread: see open_last().
void open_shared(CText& text, const std::string& name, std::int64_t low, std::int64_t whole, std::int64_t step,
                 bool partial);
/// A block that runs on the last thread, or on every one where it is not `shared`.
void open_last(CText& text, bool shared);

}  // namespace kasimir
