// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/network/weights.h"
#include "kasimir/train/network_module.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace kasimir {

/// What a score is computed from. It may change the model: nobody reads it afterwards.
struct ScoreInput {
  Model::Impl& model;
  std::vector<LayerPart> kinds;  ///< of `model.parts()`, in their order
  at::Tensor images;             ///< [n, c, h, w], normalised
  at::Tensor targets;
  std::uint64_t seed = 1;
};

/// True for what a score takes for weights: products are taken with them, other than with scales and offsets.
inline bool is_weight(const LayerPart& part) {
  return part.kind == PartKind::weight || (part.kind == PartKind::kernel_weight && part.role == WeightRole::linear);
}

/// Gives each part that is no weight the value with which it does nothing: scales and variances 1, offsets, biases and
/// means 0.
void neutralise(const ScoreInput& input);

/// Layers are skipped that would make a score differ from run to run: dropout.
at::Tensor without_chance(const Model::Impl& model, int layer, const std::vector<at::Tensor>& results,
                          const std::function<at::Tensor()>& compute);

/// Why a network with these class scores, one row for each image, is not worth a score.
std::optional<Rejection> ignores_images(const at::Tensor& scores);

inline Outcome<double> finite_score(double value) {
  if (std::isfinite(value)) return value;
  return Rejection{"score: the value is finite", fmt::format("it is {}", value)};
}

}  // namespace kasimir
