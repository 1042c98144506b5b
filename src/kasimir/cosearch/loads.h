// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/space.h"

#include <string>
#include <vector>

namespace kasimir {

/// How the loads of the parts of an accelerator make the cost of a network.
enum class Aggregate : std::uint8_t {
  max,     ///< parts work at the same time: the slowest decides (chunks of a pipeline: cycles per frame)
  sum,     ///< one after another, or amounts that add up (latency on one array, energy)
  product  ///< amounts that are multiplied (cycles and energy: energy-delay product)
};

/// What a choice adds to one part.
struct PartLoad {
  std::size_t part = 0;
  double load = 0;
  bool operator==(const PartLoad&) const = default;
};

/// The full table of costs: what every choice of every block puts on the parts of an accelerator that stays as it is.
struct LoadTable {
  Aggregate aggregate = Aggregate::sum;
  std::vector<std::string> parts;
  std::vector<double> base;  ///< of each part, from what is not chosen (stem, head)
  std::vector<std::vector<std::vector<std::vector<PartLoad>>>> loads;  ///< [block][operator][bits]
};
/// A table of a space without loads.
LoadTable load_table(const ChoiceSpace& space, Aggregate aggregate, std::vector<std::string> parts);

/// Whether a cost meets a target; sums of the same loads in another order may differ by their rounding.
inline bool within_target(double cost, double target) { return cost <= target * (1 + 1e-9); }

/// Of all parts.
double total_load(const std::vector<PartLoad>& loads);
/// The loads of the parts joined.
double joined(Aggregate aggregate, const std::vector<double>& loads);
/// Loads of the parts for a design, base included.
std::vector<double> loads_of(const LoadTable& table, const ChoiceDesign& design);
double cost_of(const LoadTable& table, const ChoiceDesign& design);
/// Mean loads when blocks are drawn with these probabilities.
std::vector<double> mean_loads(const LoadTable& table, const ChoiceNumbers& probabilities);

}  // namespace kasimir
