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

/// Formats and steps for every place of `bits`, from the weights (per output channel) and from what flows through the
/// model on the images at `indices`. Weights are symmetric; activations unsigned where none of them is negative, else
/// symmetric about zero with one more code below. The model computes in floating point afterwards.
/// @throws Error (input) for bits out of range, a name that the plan has no place of, no images, or activations that
/// are no numbers.
Quantization calibrate(Model& model, const NetworkPlan& plan, const ImageSet& images,
                       std::span<const std::int32_t> indices, const BitPlan& bits, const RangeEstimator& estimator);

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
