// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Numbers with units, as architecture files and options have them: "64 KiB", "16 B/cycle", "0.5 mm2".
namespace kasimir {

enum class Quantity : std::uint8_t {
  size,            ///< bit
  bandwidth,       ///< bit per cycle
  energy,          ///< pJ
  energy_per_bit,  ///< pJ
  energy_per_kib,  ///< pJ
  power,           ///< mW
  area,            ///< um2
  area_per_kib     ///< um2
};

/// The number in the unit that is named above; nothing if it is not a number, a space and a unit of the quantity.
/// GB/s are turned into bits per cycle of the clock.
std::optional<double> parse_quantity(std::string_view text, Quantity quantity, double clock_mhz);

/// "bit", the unit of the numbers.
std::string_view unit_of(Quantity quantity);

/// "`bit`, `B`, `KiB`": the units that are known, for messages.
std::string unit_list(Quantity quantity);

}  // namespace kasimir
