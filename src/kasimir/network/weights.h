// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

/// One learned or stored tensor of a network.
struct NamedTensor {
  std::string name;  ///< the layer's name and the part: "stage1.block1.conv1.weight", "stage1.block1.conv1.w0"
  std::vector<std::int64_t> shape;
  bool learned = true;        ///< false: a running statistic
  std::vector<float> values;  ///< row-major
};

/// What a part does in its layer.
enum class PartKind : std::uint8_t {
  weight,         ///< of a convolution [out, in / groups, kh, kw] or a fully connected layer [out, in]
  bias,           ///< of these, [out]; or a learned map that is added, [c, h, w]
  norm_scale,     ///< of a batch norm, "weight"
  norm_offset,    ///< of a batch norm, "bias"
  running_mean,   ///< of a batch norm
  running_var,    ///< of a batch norm, as a library stores it
  kernel_weight,  ///< of a kernel: the weight tensor `tensor` of its stages
  kernel_stat     ///< of a kernel: the batch statistic that its stages define as `tensor`
};

/// A tensor that a layer owns.
struct LayerPart {
  std::string name;  ///< as NamedTensor::name
  PartKind kind = PartKind::weight;
  std::vector<std::int64_t> shape;
  WeightRole role = WeightRole::linear;  ///< kernel weights
  std::int64_t fan_in = 1;               ///< weights: how many products are summed
  double start = 0;                      ///< kernel statistics: the value before any batch was seen
  double momentum = 0;                   ///< kernel statistics: how far a batch moves them
  int tensor = -1;                       ///< kernels: the tensor in `lower_at(kernel, site, batch)`, for any batch
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] bool learned() const;  ///< not a statistic
};

/// The values of one of a layer's own tensors among those that its network came with; null where there are none of that
/// name and shape.
const std::vector<float>* start_values(const Network& network, const LayerPart& part);

/// The tensors of a kernel in the place of layer `name`: its weights, then its statistics.
std::vector<LayerPart> kernel_parts(const std::string& name, const Kernel& kernel, const Site& site);

/// The tensors of one layer of the plan, in the order and by the names in which a trained model stores them.
std::vector<LayerPart> layer_parts(const NetworkPlan& plan, int layer);

/// Random values for every tensor of a plan, for comparisons and timings of networks that nobody trained: weights
/// normal by fan-in, statistics, scales and offsets away from 0 and 1, so that forgetting one shows. Layers that are
/// not replaced keep the weights that the network came with (Network::start).
std::vector<NamedTensor> random_weights(const NetworkPlan& plan, std::uint64_t seed);

}  // namespace kasimir
