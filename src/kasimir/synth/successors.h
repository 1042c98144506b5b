// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Which primitive reads what another one made, and how often: known kernels as a hint for growth.
namespace kasimir {

/// `consumer` reads a result of `producer`, or the kernel's input, `weight` times as often as something of weight 1.
struct Successor {
  std::string producer;  ///< a primitive, or `input`
  std::string consumer;
  double weight = 1.0;
  bool operator==(const Successor&) const = default;
};
inline constexpr std::string_view successor_input = "input";

/// Lines of `PRODUCER CONSUMER WEIGHT`; what follows a `#` is not read.
/// @throws Error (input) with the line that is not one, names an unknown primitive or repeats a pair.
std::vector<Successor> parse_successors(std::string_view text, Catalog catalog);
/// What parse_successors() reads.
std::string str(std::span<const Successor> successors);
/// How often each primitive reads each other's result in these kernels, ordered by names.
std::vector<Successor> count_successors(std::span<const Kernel> kernels);
/// Of the kernels in examples/kernels (tools/successors.py).
std::vector<Successor> default_successors();

}  // namespace kasimir
