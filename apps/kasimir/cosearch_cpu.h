// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/target.h"
#include "kasimir/network/search_space.h"

#include <filesystem>
#include <functional>
#include <memory>

namespace kasimir {

/// This machine as a target: one image, one thread, generated C with its default methods. Blocks of up to 8 bits
/// multiply bytes, whatever their width; wider ones compute in floats. Microseconds of processor time add up.
class CpuBench {
 public:
  /// `edge_bits`: of what is outside all blocks; 0: floating point.
  CpuBench(NetworkSpace space, ChoiceSpace choices, int edge_bits);

  /// What every choice takes, measured nest by nest within networks of one operator throughout, since a nest's time
  /// depends on what the others leave in the caches; what the clocks take is found from the same network without them.
  /// Each network's times are kept in `file` at once: where they are there and of this machine, nothing is measured.
  /// `progress` hears networks done and in all.
  /// @throws Error (input) for a file of another space or machine; Error (unsolved) where C cannot be built or run.
  LoadTable table(const std::filesystem::path& file,
                  const std::function<void(std::size_t done, std::size_t of)>& progress = {}) const;

  /// Microseconds of a whole network: the fastest of several runs.
  [[nodiscard]] double measure(const ChoiceDesign& design) const;

 private:
  struct Times;
  struct Network;
  [[nodiscard]] Network network_of(const std::vector<std::size_t>& operators,
                                   const std::function<bool(int block)>& has_codes) const;
  /// The fastest of several runs.
  static double whole_us(const Network& network);
  [[nodiscard]] Times measure_operator(std::size_t op, bool codes) const;

  NetworkSpace space_;
  ChoiceSpace choices_;
  int edge_bits_;
};

}  // namespace kasimir
