// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/quantity.h"

#include "kasimir/base/text.h"

#include <vector>

namespace kasimir {
namespace {

struct Unit {
  Quantity quantity;
  std::string_view name;
  double factor;  // into the unit of the numbers; of GB/s: bits per second, which the clock divides
};

// The first unit of a quantity is that of the numbers.
constexpr Unit units[] = {
    {Quantity::size, "bit", 1},
    {Quantity::size, "B", 8},
    {Quantity::size, "KiB", 8192},
    {Quantity::size, "MiB", 8388608},
    {Quantity::size, "GiB", 8589934592.0},
    {Quantity::bandwidth, "bit/cycle", 1},
    {Quantity::bandwidth, "B/cycle", 8},
    {Quantity::bandwidth, "GB/s", 8e9},
    {Quantity::energy, "pJ", 1},
    {Quantity::energy, "fJ", 1e-3},
    {Quantity::energy, "nJ", 1e3},
    {Quantity::energy, "uJ", 1e6},
    {Quantity::energy, "mJ", 1e9},
    {Quantity::energy_per_bit, "pJ/bit", 1},
    {Quantity::energy_per_bit, "fJ/bit", 1e-3},
    {Quantity::energy_per_bit, "pJ/B", 0.125},
    {Quantity::energy_per_kib, "pJ/KiB", 1},
    {Quantity::power, "mW", 1},
    {Quantity::power, "uW", 1e-3},
    {Quantity::power, "W", 1e3},
    {Quantity::area, "um2", 1},
    {Quantity::area, "mm2", 1e6},
    {Quantity::area_per_kib, "um2/KiB", 1},
};

}  // namespace

std::optional<double> parse_quantity(std::string_view text, Quantity quantity, double clock_mhz) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return {};
  const auto number = parse_number(text.substr(0, space));
  const std::string_view name = trim(text.substr(space));
  if (!number) return {};
  for (const Unit& unit : units)
    if (unit.quantity == quantity && unit.name == name)
      return *number * unit.factor / (name == "GB/s" ? clock_mhz * 1e6 : 1);
  return {};
}

std::string_view unit_of(Quantity quantity) {
  for (const Unit& unit : units)
    if (unit.quantity == quantity) return unit.name;
  return {};
}

std::string unit_list(Quantity quantity) {
  std::vector<std::string> names;
  for (const Unit& unit : units)
    if (unit.quantity == quantity) names.push_back("`" + std::string(unit.name) + "`");
  return join(names, ", ");
}

}  // namespace kasimir
