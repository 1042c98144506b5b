// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/decode.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// What one order of choosing comes to on a table of errors.
struct ChosenInTurn {
  std::string way;
  bool found = false;  ///< a network within the target
  double error = 0;
  double excess = 0;  ///< above the joint optimum, as a share
};

/// How far a joint search can beat others at all, on a table of errors that add up.
struct Headroom {
  bool found = false;              ///< a network within the target
  bool exact = false;              ///< `error` is proved to be the least
  double error = 0;                ///< of the joint optimum
  ChoiceDesign design;             ///< it
  std::vector<ChosenInTurn> ways;  ///< sequential with each first target, operators only, bits only
  /// Excess of the best of the swept sequential ways; infinity if none of them meets the target.
  double swept_excess = 0;
};

/// Errors of each choice [block][operator][bits]. Sequential: first operators at the widest bits, least error within
/// `multiple` x target; then bits for these operators within the target. Operators only: at the widest bits. Bits only:
/// with the operators of least error. The accelerator is the best one for each network in all of them.
Headroom headroom(HardwareTarget& hardware, const ChoiceTable& errors, double target,
                  const std::vector<double>& multiples = {1, 1.5, 2, 2.5, 3, 4});
/// As a table.
std::string str(const Headroom& headroom);

/// Errors that add up, estimated: the sum over blocks for a design is about 1 - its score. What the error of
/// `reference` grows by when one block is changed, and an equal share of the reference's own error for each block.
/// Takes one validation for each choice. `go_on` is asked after each; nothing where it says no.
std::optional<ChoiceTable> measured_errors(const ChoiceSpace& space, const ChoiceTrainer& trainer,
                                           const ChoiceDesign& reference,
                                           const std::function<bool(std::size_t done, std::size_t of)>& go_on = {});

}  // namespace kasimir
