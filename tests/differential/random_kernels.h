// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"

#include <cstdint>
#include <functional>
#include <string>

namespace kasimir {

/// A kernel that the sampler drew, and where to run it.
struct RandomKernel {
  Kernel kernel;
  Site site;
  std::int64_t batch = 1;
  std::size_t number = 0;  ///< counts the kernels that were drawn
  std::string origin;      ///< for messages: the seed and the attempt
};

/// Number of kernels: KASIMIR_RANDOM_KERNELS, for long runs; else `few`.
std::size_t wanted_kernels(std::size_t few);

/// Draws kernels of 2 to 9 primitives at small sites of all kinds: plain, Ci below and above Co, strided, a map of one
/// position, windows larger than the map. Every primitive of the catalog gets its turn to be required. Prints the seed.
/// Returns how many primitives occurred.
std::size_t for_random_kernels(std::uint64_t seed, std::size_t count,
                               const std::function<void(const RandomKernel&)>& visit);

}  // namespace kasimir
