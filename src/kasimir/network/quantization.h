// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/weights.h"
#include "kasimir/number/format.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// How one sum of products of an activation and a weight is computed in whole numbers: both operands become codes,
/// `code = clamp(round(value / step))` with ties to even, the codes are multiplied and summed exactly. Zero is code 0
/// on both sides, so that padding is exact.
struct QuantizedPlace {
  IntegerFormat weight{8, true, true};
  IntegerFormat activation{8, false, false};
  /// One for each slice of the weight along its leading `channel_axes` axes (row-major), or one for the whole tensor.
  std::vector<float> weight_steps;
  int channel_axes = 0;  ///< 0: per tensor
  float activation_step = 1;
  bool operator==(const QuantizedPlace&) const = default;
};

/// Quantised places by the name of the weight tensor (NamedTensor::name): "stage1.block1.conv1.weight" of a layer,
/// "stage1.block1.conv1.w0" of a kernel. A place that is missing computes in floating point.
using Quantization = std::map<std::string, QuantizedPlace>;

/// A weighted sum of a plan: where quantisation may act.
struct WeightedPlace {
  std::string weight;               ///< the tensor's name
  int layer = 0;                    ///< of the network
  std::vector<std::int64_t> shape;  ///< of the weight
  int channel_axes = 0;             ///< leading axes that are not summed over: output channels
  std::int64_t macs = 0;            ///< of one image
};

/// A stage that multiplies a read of an activation with a read of a weight that starts as WeightRole::linear, and adds
/// the products up or leaves them as they are.
struct WeightedProduct {
  const BoundRead* activation;  ///< into the stage
  const BoundRead* weight;      ///< into the stage
};

/// Nothing for a stage that does anything else.
std::optional<WeightedProduct> weighted_product(const BoundGraph& graph, const BoundStage& stage);

/// The weighted sums of a plan in the order in which they are computed: convolutions, fully connected layers, and the
/// stages of kernels that sum products of one activation and one weight that starts as WeightRole::linear.
std::vector<WeightedPlace> weighted_places(const NetworkPlan& plan);

/// By layer: whether what it gives is never negative, whatever the weights, so that its codes need no sign. Replaced
/// layers count as the layers they replace.
std::vector<bool> never_negative(const Network& network);

/// Number of slices of a weight along its leading axes.
std::int64_t slice_count(const std::vector<std::int64_t>& shape, int axes);

/// Batch norms that quantised inference computes as part of the weighted sum before them: of a convolution without bias
/// that is not replaced and whose only reader is the norm. By the name of the convolution's weight: the norm's layer.
std::map<std::string, int> folded_norms(const NetworkPlan& plan);

/// What a batch norm at inference multiplies with and adds, per channel.
struct NormFactors {
  std::vector<double> factor;  ///< gamma / sqrt(variance + epsilon)
  std::vector<double> offset;  ///< beta - mean * factor
};
/// Of the layer of that name; `tensors` has its four.
NormFactors norm_factors(const std::string& norm, const std::map<std::string_view, const NamedTensor*>& tensors);

/// The codes of a weight with the steps of its place. @throws Error (input) as encode_all, with the tensor's name.
std::vector<std::int32_t> weight_codes(const std::string& name, std::span<const float> values,
                                       const QuantizedPlace& place);

/// @throws Error (input) if an entry is no weighted sum of the plan, or has bits, steps or axes that cannot be.
void require_fits(const NetworkPlan& plan, const Quantization& quantization);
/// @throws Error (input) as require_fits, and if some weighted sum of the plan has no entry.
void require_covered(const NetworkPlan& plan, const Quantization& quantization);

}  // namespace kasimir
