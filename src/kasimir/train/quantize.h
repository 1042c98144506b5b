// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/quantization.h"
#include "kasimir/number/range.h"
#include "kasimir/train/model.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kasimir {

/// Bits of a place's two operands.
struct PlaceBits {
  int weight = 8;
  int activation = 8;
  bool operator==(const PlaceBits&) const = default;
};
/// By the name of the weight tensor. Places that are missing stay in floating point.
using BitPlan = std::map<std::string, PlaceBits>;

/// Images that are spoilt before a network calibrates on them, to see what its ranges make of that: some pixels of
/// some images are `value`, where white is 1.
struct Outliers {
  double images = 0;  ///< share
  double pixels = 0.01;
  double value = 8;
};

/// Formats and steps for every place of `bits`, from the weights (per output channel) and from what flows through the
/// model on the images at `indices`. Weights are symmetric; activations unsigned where none of them is negative, else
/// symmetric about zero with one more code below. The model computes in floating point afterwards.
/// @throws Error (input) for bits out of range, a name that the plan has no place of, no images, or activations that
/// are no numbers.
Quantization calibrate(Model& model, const NetworkPlan& plan, const ImageSet& images,
                       std::span<const std::int32_t> indices, const BitPlan& bits, const RangeEstimator& estimator,
                       const Outliers& outliers = {});

/// A rule that rounds operands, lawful or not.
struct RoundingRule {
  const Quantizer* quantizer = nullptr;
  const RangeEstimator* estimator = nullptr;
  bool per_channel = true;  ///< weights have a scale for each output channel
};

/// The score on `test` of a network whose operands are rounded by the rule, ranges from the calibration images. Formats
/// are those of `calibrate` where the quantizer has zero at code 0, unsigned ones otherwise. The model computes in
/// floating point afterwards. @throws Error (input) as calibrate.
Score score_rounded(Model& model, const NetworkPlan& plan, const ImageSet& images,
                    std::span<const std::int32_t> calibration, const BitPlan& bits, const RoundingRule& rule,
                    const Outliers& outliers, const ImageSet& test);

/// Stored batch norm statistics of layers and kernels become the mean over batches of these images, as the network is
/// now: those of another precision do not fit. Nothing else changes.
void reestimate_statistics(Model& model, const ImageSet& images, std::span<const std::int32_t> indices);

/// What one place costs in accuracy.
struct Sensitivity {
  std::string weight;
  Score score;  ///< with this place quantised and all others in floating point
};

/// Quantises each place alone. The model computes in floating point afterwards. `progress` hears how many places are
/// done.
std::vector<Sensitivity> sensitivities(Model& model, const Quantization& quantization, const ImageSet& images,
                                       std::span<const std::int32_t> indices,
                                       const std::function<void(std::size_t)>& progress = {});

}  // namespace kasimir
