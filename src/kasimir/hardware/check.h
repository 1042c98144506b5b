// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace kasimir {

/// One comparison of a model of hardware with numbers from outside: a row of the table of `accel check`.
struct CheckRow {
  std::string set;     ///< what the numbers are: "Timeloop counts"
  std::size_t points;  ///< how many numbers were compared
  std::string asked;   ///< the agreement that is needed: "all equal", "1 % for 98 %"
  std::string found;   ///< the agreement that was found, in the words of `asked`
  bool holds;          ///< whether `found` satisfies `asked`
  std::string source;  ///< where the numbers come from
};

}  // namespace kasimir
