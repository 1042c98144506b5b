// SPDX-License-Identifier: Apache-2.0
#include "random_kernels.h"
#include "support/generated_c.h"
#include "support/text.h"

#include "kasimir/codegen/c_variants.h"
#include "kasimir/codegen/native.h"
#include "kasimir/codegen/network_c.h"
#include "kasimir/interp/real.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

/// Generated C that multiplies codes, against the interpreter on operands that were quantised in floating point. Both
/// round the same real number in their own precision, so where a value is within rounding of a tie, codes may differ
/// by one. Such values are counted; where there are some, the reference rounds all of them to the other side too, and
/// the results may differ by ten times what that changes.
namespace kasimir {
namespace {

/// A frozen graph with values: input, weights and statistics, rounded to float.
struct Subject {
  NetworkGraph network;
  TensorValues<double> given;
  std::string about;
};

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

Subject kernel_subject(const RandomKernel& drawn, std::uint64_t seed) {
  auto [graph, given] = testing::frozen_kernel(drawn.kernel, drawn.site, drawn.batch, seed);
  Subject made{{std::move(graph), {}}, std::move(given), ""};
  for (const BoundTensor& tensor : made.network.graph.tensors) made.network.names.push_back(tensor.name);
  made.about = fmt::format("{}, site {}, batch {}\n{}", drawn.origin, drawn.site.str(), drawn.batch, str(drawn.kernel));
  return made;
}

Subject network_subject(const Network& network, std::int64_t batch, std::uint64_t seed) {
  const NetworkPlan plan{&network, {}};
  Subject made{lower_network(plan, batch).value(), {}, network.name()};
  const auto values = values_of(made.network, random_weights(plan, seed));
  for (const auto& tensor : values) made.given.emplace_back(tensor.begin(), tensor.end());
  Rng rng(seed, 7);
  auto& image = made.given[static_cast<std::size_t>(made.network.graph.input)];
  image.resize(static_cast<std::size_t>(
      elements(made.network.graph.tensors[static_cast<std::size_t>(made.network.graph.input)])));
  for (double& value : image) value = static_cast<double>(static_cast<float>(rng.normal()));
  return made;
}

/// The interpreter, stage by stage, on quantised operands.
class Reference {
 public:
  explicit Reference(const Subject& subject, const Quantization& quantization, bool other_side = false)
      : subject_(subject), quantization_(quantization), other_side_(other_side), values_(subject.given) {
    values_.resize(subject.network.graph.tensors.size());
    for (const BoundStage& stage : subject.network.graph.stages) step(stage);
  }
  [[nodiscard]] const TensorValues<double>& values() const { return values_; }
  [[nodiscard]] const std::vector<double>& output() const {
    return values_[static_cast<std::size_t>(subject_.network.graph.output)];
  }
  [[nodiscard]] std::size_t ties() const { return ties_; }

 private:
  void step(const BoundStage& stage) {
    BoundGraph alone = subject_.network.graph;
    alone.stages = {stage};
    TensorValues<double> values = values_;
    if (const auto product = weighted_product(alone, stage)) {
      const auto place = quantization_.find(subject_.network.names[static_cast<std::size_t>(product->weight->tensor)]);
      if (place != quantization_.end()) {
        auto& x = values[static_cast<std::size_t>(product->activation->tensor)];
        for (double& value : x) value = activation(value, place->second);
        weights(values[static_cast<std::size_t>(product->weight->tensor)], place->second);
      }
    }
    RealDomain numbers;
    evaluate(alone, numbers, values);
    values_[static_cast<std::size_t>(stage.out)] = values[static_cast<std::size_t>(stage.out)];
  }
  double activation(double value, const QuantizedPlace& place) {
    const double step = static_cast<double>(place.activation_step);
    const double steps = value / step;
    const double below = std::floor(steps);
    double code = std::nearbyint(steps);
    if (std::abs(steps - below - 0.5) < 1e-6 * (1 + std::abs(steps)) && below >= place.activation.lowest() &&
        below < place.activation.highest()) {
      ++ties_;
      if (other_side_) code = 2 * below + 1 - code;
    }
    return step * std::clamp<double>(code, place.activation.lowest(), place.activation.highest());
  }
  static void weights(std::vector<double>& values, const QuantizedPlace& place) {
    const std::size_t slice = values.size() / place.weight_steps.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto step = static_cast<double>(place.weight_steps[i / slice]);
      values[i] =
          step * std::clamp<double>(std::nearbyint(values[i] / step), place.weight.lowest(), place.weight.highest());
    }
  }

  const Subject& subject_;
  Quantization quantization_;
  bool other_side_;
  TensorValues<double> values_;
  std::size_t ties_ = 0;
};

/// Random formats; steps so that a part of the values is clamped. `skip`: the share of places that stay in floats.
Quantization random_quantization(const Subject& subject, Rng& rng, double skip) {
  const Reference plain(subject, {});
  Quantization quantization;
  static constexpr std::array widths{8, 8, 6, 4, 2};
  for (const BoundStage& stage : subject.network.graph.stages) {
    const auto product = weighted_product(subject.network.graph, stage);
    if (!product || rng.chance(skip)) continue;
    const auto w = static_cast<std::size_t>(product->weight->tensor);
    const auto& x = plain.values()[static_cast<std::size_t>(product->activation->tensor)];
    const bool negative = std::ranges::any_of(x, [](double value) { return value < 0; });
    QuantizedPlace place;
    place.weight = {rng.chance(0.05) ? 16 : rng.pick(widths), !rng.chance(0.05), rng.chance(0.5)};
    place.activation = {rng.chance(0.05) ? 16 : rng.pick(widths), negative ? !rng.chance(0.1) : rng.chance(0.2), false};
    if (!place.weight.is_signed) place.weight.symmetric = false;
    const double range = std::max(1e-3, testing::largest(x)) * (0.5 + 0.5 * rng.unit());
    place.activation_step = static_cast<float>(range / place.activation.highest());
    // Leading axes of the weight that are not summed over.
    const auto& axes = subject.network.graph.tensors[w].axes;
    std::size_t slices = 1;
    while (rng.chance(0.8) && static_cast<std::size_t>(place.channel_axes) < axes.size()) {
      const auto& coord = product->weight->at[static_cast<std::size_t>(place.channel_axes)];
      const bool summed = std::ranges::any_of(coord.terms, [&](const auto& term) {
        return std::ranges::find(stage.reduced, term.first) != stage.reduced.end();
      });
      if (summed) break;
      slices *= static_cast<std::size_t>(axes[static_cast<std::size_t>(place.channel_axes)].extent);
      ++place.channel_axes;
    }
    const auto& values = subject.given[w];
    for (std::size_t s = 0; s < slices; ++s) {
      const std::size_t size = values.size() / slices;
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(s * size);
      const double most = testing::largest({first, first + static_cast<std::ptrdiff_t>(size)});
      place.weight_steps.push_back(
          static_cast<float>(std::max(1e-3, most) * (0.6 + 0.4 * rng.unit()) / place.weight.highest()));
    }
    quantization.emplace(subject.network.names[w], place);
  }
  return quantization;
}

std::vector<NamedTensor> named(const Subject& subject) {
  std::vector<NamedTensor> tensors;
  for (std::size_t t = 0; t < subject.network.names.size(); ++t)
    if (!subject.network.names[t].empty())
      tensors.push_back({subject.network.names[t], {}, true, floats(subject.given[t])});
  return tensors;
}

struct Compared {
  double error = 0;    ///< of the output's largest value
  double allowed = 0;  ///< likewise
  std::size_t ties = 0;
  std::string failure;
};

Compared run_c(const Subject& subject, const Quantization& quantization, const QuantizedGraph& graph,
               const GraphC& made, const COptions& options, const std::vector<std::string>& flags) {
  const Reference reference(subject, quantization);
  const double scale = testing::largest(reference.output());
  Compared compared{0, 1e-4, reference.ties(), ""};
  if (reference.ties() > 0)
    compared.allowed +=
        10 / scale * testing::largest_difference(Reference(subject, quantization, true).output(), reference.output());
  const auto weights = pack_weights(made.c, values_of(graph.network, quantized_tensors(named(subject), quantization)));
  const auto difference = testing::difference_of_c(
      made.c, options, weights, floats(subject.given[static_cast<std::size_t>(subject.network.graph.input)]),
      reference.output(), flags);
  if (difference.ok()) {
    compared.error = *difference / scale;
  } else {
    compared.failure = difference.rejection().str();
  }
  return compared;
}

/// Values of the whole computation are tame enough for single precision.
bool tame(const Subject& subject, const Quantization& quantization) {
  const Reference reference(subject, quantization);
  double most = 0;
  for (const auto& tensor : reference.values())
    for (double value : tensor) most = std::isfinite(value) ? std::max(most, std::abs(value)) : INFINITY;
  return most < 1e4 && most < 50 * testing::largest(reference.output()) && most > 0;
}

/// Each target that this machine can run in turn.
CTarget target_of(std::size_t number) {
  const std::array<CTarget, 4> targets{host_target(), {16, 32, false}, {8, 16, false}, {4, 16, false}};
  const CTarget& target = targets[number % targets.size()];
  return target.lanes > host_target().lanes ? host_target() : target;
}

/// Every third program runs under the sanitisers.
std::vector<std::string> flags_of(std::size_t number) {
  std::vector<std::string> flags{"-std=gnu11", "-O1", "-march=native", "-ffp-contract=fast", "-w"};
  if (number % 3 == 2) flags.insert(flags.end(), {"-fsanitize=address,undefined", "-fno-sanitize-recover=all"});
  return flags;
}

TEST(Int8Kernels, RandomKernelsComputeWhatQuantisedOperandsGive) {
  constexpr std::uint64_t seed = 8128;
  std::size_t products = 0;
  std::size_t with_ties = 0;
  std::size_t run = 0;
  double worst = 0;
  for_random_kernels(seed, wanted_kernels(40), [&](const RandomKernel& drawn) {
    const Subject subject = kernel_subject(drawn, seed + drawn.number);
    Rng rng(seed, drawn.number);
    const Quantization quantization = random_quantization(subject, rng, 0.1);
    if (quantization.empty() || !tame(subject, quantization)) return;
    COptions options;
    options.target = target_of(drawn.number);
    const QuantizedGraph graph = quantized(subject.network, quantization);
    const GraphC made = graph_as_c(graph.network.graph, options, graph.codes);
    const Compared compared = run_c(subject, quantization, graph, made, options, flags_of(drawn.number));
    products += testing::count_of(made.c.source, "LDI(w + 0)") > 0 ? 1 : 0;
    ++run;
    with_ties += compared.ties > 0 ? 1 : 0;
    EXPECT_EQ(compared.failure, "") << subject.about << made.c.source;
    if (compared.ties == 0) worst = std::max(worst, compared.error);
    EXPECT_LE(compared.error, compared.allowed) << compared.ties << " near ties, " << subject.about
                                                << str(graph.network.graph) << str(made.program) << made.c.source;
  });
  std::printf("%zu kernels, %zu with products of bytes, %zu with values near a tie; largest error of the others %.1e\n",
              run, products, with_ties, worst);
  EXPECT_GE(products, run / 4);
  EXPECT_LE(with_ties, run / 2);
}

/// Convolutions of many kinds in a row: windows, strides, dilation, groups, channels that fill no vector.
Network drawn_network(std::size_t number, Rng& rng) {
  NetworkBuilder net(fmt::format("drawn{}", number), {rng.between(1, 4), rng.between(5, 11), rng.between(5, 11)});
  int x = 0;
  for (int i = 0; i < 3; ++i) {
    const Shape3 in = net.shape(x);
    layer::Conv conv;
    conv.kernel_h = rng.between(1, std::min<std::int64_t>(5, in.h));
    conv.kernel_w = rng.between(1, std::min<std::int64_t>(5, in.w));
    conv.pad_h = rng.between(0, conv.kernel_h / 2);
    conv.pad_w = rng.between(0, conv.kernel_w / 2);
    conv.stride = rng.between(1, 2);
    if (conv.kernel_h <= 3 && conv.kernel_w <= 3 && in.h > 6 && in.w > 6) conv.dilation = rng.between(1, 2);
    conv.groups = in.c % 3 == 0 ? 3 : in.c % 2 == 0 && rng.chance(0.5) ? 2 : rng.chance(0.2) ? in.c : 1;
    conv.out = conv.groups * rng.between(1, 40 / conv.groups);
    conv.bias = rng.chance(0.3);
    x = net.add(fmt::format("conv{}", i), conv, {x});
    if (rng.chance(0.7)) x = net.add(fmt::format("norm{}", i), layer::BatchNorm{}, {x});
    if (rng.chance(0.7)) x = net.add(fmt::format("relu{}", i), layer::Activation{}, {x});
    if (rng.chance(0.3)) {
      layer::Conv same{.out = net.shape(x).c, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
      const int y = net.add(fmt::format("same{}", i), same, {x});
      x = net.add(fmt::format("add{}", i), layer::Add{}, {x, y});
    }
  }
  if (rng.chance(0.5)) x = net.add("mean", layer::GlobalAvgPool{}, {x});
  net.add("scores", layer::Linear{.out = 5}, {x});
  return std::move(net).finish();
}

TEST(Int8Kernels, RandomNetworksComputeWhatQuantisedOperandsGive) {
  constexpr std::uint64_t seed = 496;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::size_t with_ties = 0;
  std::size_t products = 0;
  double worst = 0;
  const std::size_t count = wanted_kernels(24);
  for (std::size_t i = 0; i < count; ++i) {
    Rng rng(seed, i);
    const Network network = i % 8 == 7 ? zoo_network("resnet8", {10, {3, 8, 8}, 0.5}) : drawn_network(i, rng);
    const Subject subject = network_subject(network, rng.between(1, 3), seed + i);
    const Quantization quantization = random_quantization(subject, rng, i % 4 == 0 ? 0 : 0.1);
    COptions options;
    options.target = target_of(i);
    options.threads = i % 5 == 4 ? 2 : 1;
    options.shortest_shared_seconds = 0;
    const QuantizedGraph graph = quantized(subject.network, quantization);
    const GraphC made = graph_as_c(graph.network.graph, options, graph.codes);
    const Compared compared = run_c(subject, quantization, graph, made, options, flags_of(i));
    products += testing::count_of(made.c.source, "LDI(w + 0)");
    with_ties += compared.ties > 0 ? 1 : 0;
    EXPECT_EQ(compared.failure, "") << i << '\n' << network.str() << made.c.source;
    if (compared.ties == 0) worst = std::max(worst, compared.error);
    EXPECT_LE(compared.error, compared.allowed)
        << compared.ties << " near ties, " << i << ", " << options.target.lanes << " lanes\n"
        << network.str() << str(graph.network.graph) << str(made.program) << made.c.source;
  }
  std::printf("%zu networks, %zu products of bytes, %zu with values near a tie; largest error of the others %.1e\n",
              count, products, with_ties, worst);
  EXPECT_GE(products, 2 * count);
  EXPECT_LE(with_ties, count / 2);
}

TEST(Int8Kernels, OneFileForAnyProcessorComputesTheSameOnEach) {
  const Network network = zoo_network("resnet8", {10, {3, 8, 8}, 1.0});
  const Subject subject = network_subject(network, 2, 28);
  Rng rng(28);
  const Quantization quantization = random_quantization(subject, rng, 0);
  const QuantizedGraph graph = quantized(subject.network, quantization);
  const GraphC any = graph_as_portable_c(graph.network.graph, {}, graph.codes);
  for (const CTarget& target : portable_targets(true)) {
    if (target.lanes > host_target().lanes || (target.sums_of_four && !host_target().sums_of_four)) continue;
    const Compared compared = run_c(subject, quantization, graph, any, {},
                                    {"-std=gnu11", "-O1", "-ffp-contract=fast", "-Wall", "-Wextra", "-Werror",
                                     "-Wno-psabi", fmt::format("-DKSM_MOST_LANES={}", target.lanes)});
    EXPECT_EQ(compared.failure, "") << target.lanes;
    EXPECT_LE(compared.error, compared.allowed) << target.lanes;
  }
}

}  // namespace
}  // namespace kasimir
