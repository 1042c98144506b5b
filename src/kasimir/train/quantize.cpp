// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/quantize.h"

#include "kasimir/base/rng.h"
#include "kasimir/base/text.h"
#include "kasimir/number/catalog.h"
#include "kasimir/number/fit.h"
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/index_stream.h"
#include "kasimir/train/network_module.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

namespace kasimir {
namespace {

constexpr std::size_t calibration_batch = 64;
/// Of each place and batch: enough for a percentile of one in a thousand, little beside the activations themselves.
constexpr std::size_t values_per_batch = 1 << 14;

/// Calls `use` with batches of images in a random order, gradients off.
template <typename Use>
void for_batches(Model& model, const ImageSet& images, std::span<const std::int32_t> given, Use use) {
  const at::NoGradGuard fixed;
  const std::vector<std::int32_t> order = shuffled({given.begin(), given.end()}, 1, 0);
  const std::span indices(order);
  const Batcher batcher(images, model.impl().normalisation);
  for (std::size_t i = 0; i < indices.size(); i += calibration_batch) {
    const auto part = indices.subspan(i, std::min(calibration_batch, indices.size() - i));
    use(image_tensor(batcher, part).to(model.impl().device()));
  }
}

/// Values of one place's activation, and their extremes.
struct Seen {
  std::vector<float> sample;
  float lowest = 0;
  float highest = 0;

  void add(const at::Tensor& activation, Rng& rng) {
    const std::vector<float> values = floats_of(activation);
    for (float v : values) {
      lowest = std::min(lowest, v);
      highest = std::max(highest, v);
    }
    if (values.size() <= values_per_batch) {
      sample.insert(sample.end(), values.begin(), values.end());
    } else {
      for (std::size_t i = 0; i < values_per_batch; ++i) sample.push_back(values[rng.below(values.size())]);
    }
  }
};

std::map<std::string, Seen> watch(Model& model, const ImageSet& images, std::span<const std::int32_t> indices,
                                  const BitPlan& bits) {
  std::map<std::string, Seen> seen;
  Rng rng(1);
  model.set_quantization({});
  model.impl().operands = [&](const std::string& weight, at::Tensor& activation, at::Tensor&) {
    if (bits.contains(weight)) seen[weight].add(activation, rng);
  };
  for_batches(model, images, indices, [&](const at::Tensor& batch) { (void)model.impl().forward(batch, false); });
  model.impl().operands = {};
  return seen;
}

std::vector<float> steps_of(const std::vector<QuantizerScale>& scales) {
  std::vector<float> steps;
  for (const QuantizerScale& scale : scales) steps.push_back(scale.step);
  return steps;
}

const WeightedPlace& place_of(const std::vector<WeightedPlace>& places, const std::string& weight) {
  const auto found = std::ranges::find(places, weight, &WeightedPlace::weight);
  if (found != places.end()) return *found;
  std::vector<std::string> known;
  for (const WeightedPlace& place : places) known.push_back(place.weight);
  throw input_error("no weighted place `{}`, {}", weight, suggestion(weight, known));
}

}  // namespace

Quantization calibrate(Model& model, const NetworkPlan& plan, const ImageSet& images,
                       std::span<const std::int32_t> indices, const BitPlan& bits, const RangeEstimator& estimator) {
  if (indices.empty()) throw input_error("no images to calibrate on");
  const std::vector<WeightedPlace> places = weighted_places(plan);
  for (const auto& [weight, widths] : bits) {
    place_of(places, weight);
    require_legal(IntegerFormat{widths.weight}, weight + ", weights");
    require_legal(IntegerFormat{widths.activation}, weight + ", activations");
  }
  const std::map<std::string, Seen> seen = watch(model, images, indices, bits);
  const Quantizer& symmetric = quantizer("symmetric");
  Quantization result;
  for (Part* part : model.impl().parts()) {
    const auto entry = bits.find(part->name);
    if (entry == bits.end()) continue;
    const WeightedPlace& place = place_of(places, part->name);
    const Seen& values = seen.at(part->name);
    QuantizedPlace made;
    made.weight = {entry->second.weight, true, true};
    made.activation = {entry->second.activation, values.lowest < 0, false};
    made.channel_axes = place.channel_axes;
    const std::int64_t slices = slice_count(place.shape, place.channel_axes);
    made.weight_steps =
        steps_of(fit_scales(part->name, floats_of(part->tensor), slices, symmetric, estimator, made.weight));
    made.activation_step =
        fit_scales(part->name + ", activations", values.sample, 1, symmetric, estimator, made.activation)[0].step;
    result[part->name] = std::move(made);
  }
  return result;
}

void reestimate_statistics(Model& model, const ImageSet& images, std::span<const std::int32_t> indices) {
  std::vector<Part*> statistics;
  std::vector<at::Tensor> sums;
  for (Part* part : model.impl().parts()) {
    if (part->learned) continue;
    statistics.push_back(part);
    sums.push_back(at::zeros_like(part->tensor, at::kDouble));
  }
  const auto moved_from = [&](double start, const at::Tensor& batch) {
    for (Part* part : statistics) part->tensor.fill_(start);
    (void)model.impl().forward(batch, true);
    std::vector<at::Tensor> after;
    for (const Part* part : statistics) after.push_back(part->tensor.to(at::kDouble));
    return after;
  };
  // A batch moves a statistic by momentum * (batch - start), with a momentum that each layer or kernel sets itself: two
  // starts tell it, from 0 the batch's own value follows.
  std::vector<at::Tensor> momenta;
  double batches = 0;
  for_batches(model, images, indices, [&](const at::Tensor& batch) {
    if (batch.size(0) < 2) return;
    const std::vector<at::Tensor> from_zero = moved_from(0.0, batch);
    if (momenta.empty()) {
      momenta = moved_from(1.0, batch);
      for (std::size_t i = 0; i < sums.size(); ++i) momenta[i] = 1.0 - (momenta[i] - from_zero[i]);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_(from_zero[i] / momenta[i]);
    ++batches;
  });
  KASIMIR_CHECK(batches > 0, "statistics of {} images", indices.size());
  const at::NoGradGuard fixed;
  for (std::size_t i = 0; i < sums.size(); ++i) statistics[i]->tensor.copy_(sums[i] / batches);
}

std::vector<Sensitivity> sensitivities(Model& model, const Quantization& quantization, const ImageSet& images,
                                       std::span<const std::int32_t> indices,
                                       const std::function<void(std::size_t)>& progress) {
  std::vector<Sensitivity> all;
  for (const auto& [weight, place] : quantization) {
    model.set_quantization({{weight, place}});
    all.push_back({weight, model.evaluate(images, indices)});
    if (progress) progress(all.size());
  }
  model.set_quantization({});
  return all;
}

}  // namespace kasimir
