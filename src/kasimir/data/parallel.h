// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace kasimir {

/// Calls body(0) .. body(count - 1), divided into contiguous chunks, one for each thread; the calling thread takes the
/// first. `progress` is called in the calling thread with the number done, now and then and at the end.
/// @throws what the body throws; of several failures that of the lowest index, whatever the number of threads.
void for_each_index(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body,
                    const std::function<void(std::int64_t)>& progress);

}  // namespace kasimir
