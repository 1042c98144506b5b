// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"
#include "kasimir/train/quantize.h"

#include <string>
#include <vector>

namespace kasimir {

/// Test accuracy after rounding by one rule, without any training.
struct RoundedScore {
  std::string quantizer, range;
  double clean = 0;   ///< calibrated on images as they are
  double spoilt = 0;  ///< calibrated on images some of which are spoilt
};

/// Every rule for ranges with the quantizer that the program takes, the affine one, and Auto-NBA's (per tensor, from
/// the least to the largest value), at the bits of the plan.
std::vector<RoundedScore> compare_roundings(Model& model, const NetworkPlan& plan, const Dataset& data,
                                            std::span<const std::int32_t> calibration, const BitPlan& bits,
                                            const Outliers& outliers);

/// As a table.
std::string str(const std::vector<RoundedScore>& scores, const Outliers& outliers);

}  // namespace kasimir
