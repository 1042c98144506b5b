// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kasimir {

/// Prints how the joint search does where the optimum is known: tables of costs and errors, and planted bit widths.
/// @returns the exit code.
int bench_cosearch(std::uint64_t seed);

}  // namespace kasimir
