// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/machine_peak.h"
#include "kasimir/codegen/network_c.h"

#include <string>
#include <vector>

namespace kasimir {

/// Sums shorter than this spend their time on loads and stores.
inline constexpr std::int64_t shortest_contraction = 64;

enum class NestKind : std::uint8_t {
  contraction,        ///< a sum of that many products and more
  short_contraction,  ///< of fewer, in register blocks or by Winograd's algorithm
  reduction,          ///< another reduction, in loops over vectors
  elements            ///< nothing is reduced
};
std::string_view nest_kind_name(NestKind kind);

/// One nest of a program in one run of it, beside what a core can do.
struct NestTime {
  NestKind kind = NestKind::elements;
  std::string name;
  std::string text;  ///< loops and expression
  std::string method;
  double seconds = 0;     ///< the fastest of some runs
  double operations = 0;  ///< whole vectors: multiply-adds, Winograd's transforms, and all else in loops
  double bytes = 0;       ///< of the tensors that it reads and writes
  double attainable = 0;  ///< seconds
  [[nodiscard]] double share() const { return attainable / seconds; }
};

/// Compiles the program with clocks around its nests and runs it so often.
/// @throws Error (unsolved) where it cannot be built or run.
std::vector<NestTime> time_nests(const GraphC& made, const std::vector<float>& weights, const COptions& options,
                                 const MachinePeak& peak, int samples);

/// One line: the core's peak and bandwidths.
std::string str(const MachinePeak& peak);

}  // namespace kasimir
