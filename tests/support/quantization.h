// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/network/quantization.h"
#include "kasimir/number/catalog.h"
#include "kasimir/number/fit.h"

#include <string>
#include <vector>

namespace kasimir::testing {

/// A quantization of every weighted sum of a plan: `widths` mixed, per tensor and per channel, activations signed and
/// not, steps that clip some values. Without widths: 8, 6 and 4 bits, now and then 2 and 16.
inline Quantization random_quantization(const NetworkPlan& plan, const std::vector<NamedTensor>& weights, Rng& rng,
                                        const std::vector<int>& widths = {}) {
  Quantization made;
  for (const WeightedPlace& place : weighted_places(plan)) {
    const auto bits = [&] {
      if (!widths.empty()) return widths[rng.below(widths.size())];
      constexpr int usual[] = {8, 6, 4};
      return rng.chance(0.1) ? (rng.chance(0.5) ? 2 : 16) : usual[rng.below(3)];
    };
    QuantizedPlace of;
    of.weight = {bits(), true, rng.chance(0.7)};
    of.activation = {bits(), rng.chance(0.5), false};
    of.channel_axes = rng.chance(0.7) ? place.channel_axes : 0;
    for (const NamedTensor& tensor : weights) {
      if (tensor.name != place.weight) continue;
      for (const QuantizerScale& scale :
           fit_scales(tensor.name, tensor.values, slice_count(place.shape, of.channel_axes), quantizer("symmetric"),
                      range_estimator("min_max"), of.weight))
        of.weight_steps.push_back(scale.step * static_cast<float>(0.7 + 0.3 * rng.unit()));
    }
    of.activation_step = static_cast<float>((1 + 4 * rng.unit()) / of.activation.highest());
    made.emplace(place.weight, std::move(of));
  }
  return made;
}

/// Pixels as normalised images have them.
inline std::vector<float> random_image(const Network& network, Rng& rng) {
  const Shape3 shape = network.input();
  std::vector<float> image(static_cast<std::size_t>(shape.c * shape.h * shape.w));
  for (float& pixel : image) pixel = static_cast<float>(rng.normal());
  return image;
}

}  // namespace kasimir::testing
