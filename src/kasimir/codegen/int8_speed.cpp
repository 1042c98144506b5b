// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/int8_speed.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/codegen/tune.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kasimir {
namespace {

/// What a layer gives is never negative.
bool never_negative(const Network& network, int index) {
  const Layer& layer = network.layer(index);
  if (const auto* activation = std::get_if<layer::Activation>(&layer.op))
    return activation->kind != layer::ActivationKind::hardswish;
  const bool keeps =
      std::holds_alternative<layer::Add>(layer.op) || std::holds_alternative<layer::Concat>(layer.op) ||
      std::holds_alternative<layer::MaxPool>(layer.op) || std::holds_alternative<layer::AvgPool>(layer.op) ||
      std::holds_alternative<layer::GlobalAvgPool>(layer.op) || std::holds_alternative<layer::Dropout>(layer.op);
  return keeps && std::ranges::all_of(layer.inputs, [&](int from) { return never_negative(network, from); });
}

std::vector<Method> direct_methods(const NestProgram& program, const CTarget& target) {
  std::vector<Method> methods;
  for (const auto& possible : possible_methods(program, target)) {
    const auto direct =
        std::ranges::find_if(possible, [](const Method& m) { return std::holds_alternative<RegisterBlock>(m); });
    methods.push_back(direct == possible.end() ? possible.front() : *direct);
  }
  return methods;
}

/// Of the largest expected value; infinite where a value is no number.
double relative_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  double most = 0;
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double here = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    most = std::isfinite(here) ? std::max(most, here) : INFINITY;
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return largest > 0 ? most / largest : most;
}

TimeRatio ratio_of(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  const auto at = [&](double share) {
    return ratios[static_cast<std::size_t>(share * static_cast<double>(ratios.size() - 1))];
  };
  return {median(ratios), at(0.25), at(0.75)};
}

class Measurement {
 public:
  Measurement(const Int8SpeedOptions& options, COptions names) : options_(options), names_(std::move(names)) {}

  /// Compiles; the answer is why not.
  std::optional<Rejection> add(const CProgram& program, const std::vector<float>& weights) {
    auto built = NativeNetwork::build(program, names_, weights, options_.native);
    if (!built.ok()) return built.rejection();
    networks_.push_back(*std::move(built));
    return std::nullopt;
  }
  [[nodiscard]] NativeNetwork& last() { return networks_.back(); }
  void drop_last() { networks_.pop_back(); }

  /// Samples in turns, each a run that is not counted (the others have used the caches) and a median of some.
  Outcome<std::vector<std::vector<double>>> sample() {
    std::vector<std::vector<double>> times(networks_.size());
    const Stopwatch watch;
    while (times.front().size() < 3 || watch.seconds() < options_.seconds)
      for (std::size_t i = 0; i < networks_.size(); ++i) {
        const auto runs = networks_[i].time(runs_ + 1);
        if (!runs.ok()) return runs.rejection();
        std::vector<double> each;
        for (std::size_t r = 1; r < runs->size(); ++r) each.push_back((*runs)[r].cpu_ms);
        times[i].push_back(median(each));
        // About a tenth of a second.
        if (i == 0) runs_ = std::clamp(static_cast<int>(100 / std::max(0.01, times[0].back())), 1, 200);
      }
    return times;
  }

 private:
  const Int8SpeedOptions& options_;
  COptions names_;
  std::vector<NativeNetwork> networks_;
  int runs_ = 1;
};

/// Between the products of bytes, whose program was added last, and loops.
Outcome<double> difference_from_loops(Measurement& measurement, const NetworkC& quantised, const COptions& names) {
  Rng rng(1);
  std::vector<float> images(static_cast<std::size_t>(quantised.made.c.input_size));
  for (float& value : images) value = static_cast<float>(rng.normal());
  const auto found = measurement.last().run(images);
  if (!found.ok()) return found.rejection();
  const std::vector<Method> loops(quantised.made.program.run.size(), UseLoops{});
  if (const auto failed = measurement.add(generate_c(quantised.made.program, loops, names), quantised.weights))
    return *failed;
  const auto expected = measurement.last().run(images);
  measurement.drop_last();
  if (!expected.ok()) return expected.rejection();
  return relative_difference(*found, *expected);
}

}  // namespace

Quantization quantization_for_speed(const NetworkPlan& plan, const std::vector<NamedTensor>& weights, int weight_bits,
                                    int activation_bits, float activation_step) {
  Quantization quantization;
  for (const WeightedPlace& of : weighted_places(plan)) {
    const Layer& layer = plan.network->layer(of.layer);
    QuantizedPlace place;
    place.weight = {weight_bits, true, true};
    const bool negative = plan.replaced.contains(of.layer) || !never_negative(*plan.network, layer.inputs.front());
    place.activation = {activation_bits, negative, false};
    place.activation_step = activation_step;
    place.channel_axes = of.channel_axes;
    const auto tensor = std::ranges::find(weights, of.weight, &NamedTensor::name);
    if (tensor == weights.end()) throw input_error("the weights lack tensor `{}`", of.weight);
    std::int64_t slices = 1;
    for (int axis = 0; axis < of.channel_axes; ++axis) slices *= of.shape[static_cast<std::size_t>(axis)];
    const std::size_t size = tensor->values.size() / static_cast<std::size_t>(slices);
    for (std::size_t at = 0; at < tensor->values.size(); at += size) {
      float most = 0;
      for (std::size_t i = at; i < at + size; ++i) most = std::max(most, std::abs(tensor->values[i]));
      place.weight_steps.push_back(most > 0 ? most / static_cast<float>(place.weight.highest()) : 1.0F);
    }
    quantization.emplace(of.weight, std::move(place));
  }
  return quantization;
}

Outcome<Int8Speed> measure_int8(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                const Quantization& quantization, const Int8SpeedOptions& options) {
  COptions names;
  names.target = host_target();
  auto best = network_as_c(plan, options.batch, weights, names);
  if (!best.ok()) return best.rejection();
  auto quantised = network_as_c(plan, options.batch, weights, names, false, quantization);
  if (!quantised.ok()) return quantised.rejection();
  if (options.tune_seconds > 0) {
    TuningCache cache;
    for (NetworkC* network : {&*best, &*quantised})
      if (const auto tuned = tune_network(*network, names, cache, {.seconds = options.tune_seconds}); !tuned.ok())
        return tuned.rejection();
  }
  Measurement measurement(options, names);
  const NestProgram& floats = best->made.program;
  const CProgram direct = generate_c(floats, direct_methods(floats, names.target), names);
  if (const auto failed = measurement.add(direct, best->weights)) return *failed;
  for (const NetworkC* network : {&*best, &*quantised})
    if (const auto failed = measurement.add(network->made.c, network->weights)) return *failed;
  Int8Speed speed;
  const auto difference = difference_from_loops(measurement, *quantised, names);
  if (!difference.ok()) return difference.rejection();
  speed.difference = *difference;
  if (!(speed.difference <= 0.01))
    return Rejection{"int8: products of bytes equal float loops",
                     fmt::format("they differ by {:.2g} of the largest score", speed.difference)};
  const auto times = measurement.sample();
  if (!times.ok()) return times.rejection();
  const auto over = [&](std::size_t which) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < (*times)[2].size(); ++round)
      ratios.push_back((*times)[which][round] / (*times)[2][round]);
    return ratio_of(ratios);
  };
  speed.direct_ms = median((*times)[0]);
  speed.best_ms = median((*times)[1]);
  speed.int8_ms = median((*times)[2]);
  speed.over_direct = over(0);
  speed.over_best = over(1);
  speed.rounds = static_cast<int>((*times)[2].size());
  return speed;
}

}  // namespace kasimir
