// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/int8_speed.h"

#include "kasimir/base/rng.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/codegen/export.h"
#include "kasimir/codegen/tune.h"
#include "kasimir/number/catalog.h"
#include "kasimir/number/fit.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

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

/// Samples in turns, each a run that is not counted (the others have used the caches) and a median of some.
Outcome<std::vector<std::vector<double>>> sample(std::vector<NativeNetwork>& networks, double seconds) {
  std::vector<std::vector<double>> times(networks.size());
  int counted = 1;
  const Stopwatch watch;
  while (times.front().size() < 3 || watch.seconds() < seconds)
    for (std::size_t i = 0; i < networks.size(); ++i) {
      const auto runs = networks[i].time(counted + 1);
      if (!runs.ok()) return runs.rejection();
      std::vector<double> each;
      for (std::size_t r = 1; r < runs->size(); ++r) each.push_back((*runs)[r].cpu_ms);
      times[i].push_back(median(each));
      // About a tenth of a second.
      if (i == 0) counted = std::clamp(static_cast<int>(100 / std::max(0.01, times[0].back())), 1, 200);
    }
  return times;
}

/// Between the network's products of bytes, which `products` computes, and loops.
Outcome<double> difference_from_loops(NativeNetwork& products, const NetworkC& network, const COptions& names,
                                      const NativeOptions& native) {
  Rng rng(1);
  std::vector<float> images(static_cast<std::size_t>(network.made.c.input_size));
  for (float& value : images) value = static_cast<float>(rng.normal());
  const auto found = products.run(images);
  if (!found.ok()) return found.rejection();
  const std::vector<Method> methods(network.made.program.run.size(), UseLoops{});
  auto loops = NativeNetwork::build(generate_c(network.made.program, methods, names), names, network.weights, native);
  if (!loops.ok()) return loops.rejection();
  const auto expected = loops->run(images);
  if (!expected.ok()) return expected.rejection();
  return relative_difference(*found, *expected);
}

}  // namespace

Quantization quantization_for_speed(const NetworkPlan& plan, const std::vector<NamedTensor>& weights, int weight_bits,
                                    int activation_bits, float activation_step) {
  const auto tensors = tensors_by_name(plan, weights);
  const std::vector<bool> positive = never_negative(*plan.network);
  Quantization quantization;
  for (const WeightedPlace& of : weighted_places(plan)) {
    const Layer& layer = plan.network->layer(of.layer);
    QuantizedPlace place;
    place.weight = {weight_bits, true, true};
    const bool negative = plan.replaced.contains(of.layer) || !positive[static_cast<std::size_t>(layer.inputs.front())];
    place.activation = {activation_bits, negative, false};
    place.activation_step = activation_step;
    place.channel_axes = of.channel_axes;
    for (const QuantizerScale& scale :
         fit_scales(of.weight, tensors.at(of.weight)->values, slice_count(of.shape, of.channel_axes),
                    quantizer("symmetric"), range_estimator("min_max"), place.weight))
      place.weight_steps.push_back(scale.step);
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
  const NestProgram& floats = best->made.program;
  const CProgram direct = generate_c(floats, direct_methods(floats, names.target), names);
  std::vector<NativeNetwork> networks;
  using Candidate = std::pair<const CProgram*, const NetworkC*>;
  for (const auto& [program, of] :
       {Candidate(&direct, &*best), Candidate(&best->made.c, &*best), Candidate(&quantised->made.c, &*quantised)}) {
    auto built = NativeNetwork::build(*program, names, of->weights, options.native);
    if (!built.ok()) return built.rejection();
    networks.push_back(*std::move(built));
  }
  Int8Speed speed;
  const auto difference = difference_from_loops(networks.back(), *quantised, names, options.native);
  if (!difference.ok()) return difference.rejection();
  speed.difference = *difference;
  if (!(speed.difference <= 0.01))
    return Rejection{"int8: products of bytes equal float loops",
                     fmt::format("they differ by {:.2g} of the largest score", speed.difference)};
  const auto times = sample(networks, options.seconds);
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
