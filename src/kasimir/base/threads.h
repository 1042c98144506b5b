// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace kasimir {

/// Calls work(0) .. work(count - 1), each on a thread of its own; the calling thread takes the first. Returns when all
/// have ended. @throws what the work throws; of several failures that of the lowest number.
void on_threads(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace kasimir
