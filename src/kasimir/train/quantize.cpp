// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/quantize.h"

#include "kasimir/base/rng.h"
#include "kasimir/base/text.h"
#include "kasimir/number/catalog.h"
#include "kasimir/number/fit.h"
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/index_stream.h"
#include "kasimir/train/network_module.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::size_t calibration_batch = 64;
/// Of each place and batch: enough for a percentile of one in a thousand, little beside the activations themselves.
constexpr std::size_t values_per_batch = 1 << 14;

/// Images in a random order, in batches.
class CalibrationBatches {
 public:
  CalibrationBatches(Model& model, const ImageSet& images, std::span<const std::int32_t> indices,
                     const Outliers& outliers = {})
      : outliers_(outliers),
        statistics_(model.impl().normalisation),
        order_(shuffled({indices.begin(), indices.end()}, 1, 0)),
        batcher_(images, model.impl().normalisation),
        device_(model.impl().device()) {}

  [[nodiscard]] std::size_t count() const { return (order_.size() + calibration_batch - 1) / calibration_batch; }
  [[nodiscard]] at::Tensor images(std::size_t batch) const {
    const std::size_t from = batch * calibration_batch;
    const auto part = std::span(order_).subspan(from, std::min(calibration_batch, order_.size() - from));
    at::Tensor made = image_tensor(batcher_, part);
    for (std::size_t i = 0; i < part.size(); ++i)
      if (spoilt(from + i)) spoil(made, i, Rng(1, from + i));
    return made.to(device_);
  }

 private:
  /// Spread evenly.
  [[nodiscard]] bool spoilt(std::size_t place) const {
    const auto before = static_cast<double>(place) * outliers_.images;
    return std::floor(before + outliers_.images) > std::floor(before);
  }
  void spoil(at::Tensor& images, std::size_t place, Rng rng) const {
    const std::int64_t rows = images.size(2);
    const std::int64_t columns = images.size(3);
    auto values = images.accessor<float, 4>();
    const auto count = std::llround(outliers_.pixels * static_cast<double>(rows * columns));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(rows)));
      const auto column = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(columns)));
      for (std::int64_t c = 0; c < images.size(1); ++c) {
        const auto channel = static_cast<std::size_t>(c);
        values[static_cast<std::int64_t>(place)][c][row][column] =
            static_cast<float>((outliers_.value - statistics_.mean[channel]) /
                               std::max(smallest_deviation, statistics_.deviation[channel]));
      }
    }
  }

  Outliers outliers_;
  ChannelStatistics statistics_;
  std::vector<std::int32_t> order_;
  Batcher batcher_;
  at::Device device_;
};

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
                                  const BitPlan& bits, const Outliers& outliers) {
  std::map<std::string, Seen> seen;
  Rng rng(1);
  model.set_quantization({});
  model.impl().operands = [&](const std::string& weight, at::Tensor& activation, at::Tensor&) {
    if (bits.contains(weight)) seen[weight].add(activation, rng);
  };
  const at::NoGradGuard fixed;
  const CalibrationBatches batches(model, images, indices, outliers);
  for (std::size_t b = 0; b < batches.count(); ++b) (void)model.impl().forward(batches.images(b), false);
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

void require_sane(const std::vector<WeightedPlace>& places, std::span<const std::int32_t> indices,
                  const BitPlan& bits) {
  if (indices.empty()) throw input_error("no images to calibrate on");
  for (const auto& [weight, widths] : bits) {
    place_of(places, weight);
    require_legal(IntegerFormat{widths.weight}, weight + ", weights");
    require_legal(IntegerFormat{widths.activation}, weight + ", activations");
  }
}

/// A tensor's values rounded, with one scale for each of equal slices.
struct Rounding {
  const Quantizer* quantizer;
  IntegerFormat format;
  std::vector<QuantizerScale> scales;

  [[nodiscard]] at::Tensor apply(const at::Tensor& tensor) const {
    at::Tensor made = tensor.contiguous().clone();
    float* values = made.data_ptr<float>();
    const auto size = static_cast<std::size_t>(made.numel());
    const std::size_t slice = size / scales.size();
    for (std::size_t i = 0; i < size; ++i) values[i] = quantizer->quantize(values[i], scales[i / slice], format);
    return made;
  }
};

}  // namespace

Quantization calibrate(Model& model, const NetworkPlan& plan, const ImageSet& images,
                       std::span<const std::int32_t> indices, const BitPlan& bits, const RangeEstimator& estimator,
                       const Outliers& outliers) {
  const std::vector<WeightedPlace> places = weighted_places(plan);
  require_sane(places, indices, bits);
  const std::map<std::string, Seen> seen = watch(model, images, indices, bits, outliers);
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

Score score_rounded(Model& model, const NetworkPlan& plan, const ImageSet& images,
                    std::span<const std::int32_t> calibration, const BitPlan& bits, const RoundingRule& rule,
                    const Outliers& outliers, const ImageSet& test) {
  const std::vector<WeightedPlace> places = weighted_places(plan);
  require_sane(places, calibration, bits);
  const std::map<std::string, Seen> seen = watch(model, images, calibration, bits, outliers);
  const bool about_zero = rule.quantizer->name == "symmetric";
  std::map<std::string, std::pair<Rounding, Rounding>> roundings;  // of activation and weight
  for (Part* part : model.impl().parts()) {
    const auto entry = bits.find(part->name);
    if (entry == bits.end()) continue;
    const WeightedPlace& place = place_of(places, part->name);
    const Seen& values = seen.at(part->name);
    const IntegerFormat of_weight{entry->second.weight, about_zero, about_zero};
    const IntegerFormat of_activation{entry->second.activation, about_zero && values.lowest < 0, false};
    const std::int64_t slices = rule.per_channel ? slice_count(place.shape, place.channel_axes) : 1;
    roundings.emplace(part->name, std::pair{Rounding{rule.quantizer, of_activation,
                                                     fit_scales(part->name + ", activations", values.sample, 1,
                                                                *rule.quantizer, *rule.estimator, of_activation)},
                                            Rounding{rule.quantizer, of_weight,
                                                     fit_scales(part->name, floats_of(part->tensor), slices,
                                                                *rule.quantizer, *rule.estimator, of_weight)}});
  }
  model.impl().operands = [&](const std::string& weight, at::Tensor& activation, at::Tensor& weights) {
    const auto of = roundings.find(weight);
    if (of == roundings.end()) return;
    activation = of->second.first.apply(activation);
    weights = of->second.second.apply(weights);
  };
  const Score score = model.evaluate(test, every_index(test));
  model.impl().operands = {};
  return score;
}

void reestimate_statistics(Model& model, const ImageSet& images, std::span<const std::int32_t> indices) {
  std::vector<Part*> statistics;
  for (Part* part : model.impl().parts())
    if (!part->learned) statistics.push_back(part);
  const CalibrationBatches batches(model, images, indices);
  // A last batch of one image may have no variance at all.
  const std::size_t count = indices.size() / calibration_batch + (indices.size() % calibration_batch > 1 ? 1 : 0);
  KASIMIR_CHECK(count > 0, "statistics of {} images", indices.size());
  average_statistics(statistics, count,
                     [&](std::size_t batch) { (void)model.impl().forward(batches.images(batch), true); });
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
