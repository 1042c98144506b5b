// SPDX-License-Identifier: Apache-2.0
#include "random_kernels.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/real.h"
#include "kasimir/network/code_sums.h"
#include "kasimir/network/fake_quantized_network.h"
#include "kasimir/network/integer_network.h"
#include "kasimir/network/zoo.h"
#include "support/quantization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 606;

/// Compares both evaluations over some images; counts distinct scores, since equal constants would prove nothing.
void expect_equal(const NetworkPlan& plan, Rng& rng, int images, std::set<std::int64_t>& seen) {
  const auto weights = random_weights(plan, rng.bits());
  const Quantization quantization = testing::random_quantization(plan, weights, rng);
  const IntegerNetwork integers(plan, weights, quantization);
  const FakeQuantizedNetwork doubles(plan, weights, quantization);
  for (int i = 0; i < images; ++i) {
    const auto image = testing::random_image(*plan.network, rng);
    const auto exact = integers.scores(image);
    const auto fake = doubles.scores(image);
    ASSERT_EQ(exact.size(), fake.size());
    for (std::size_t k = 0; k < exact.size(); ++k) {
      ASSERT_EQ(static_cast<double>(exact[k]) * 0x1p-16, fake[k]) << "image " << i << " score " << k;
      seen.insert(exact[k]);
    }
  }
}

/// A small network with a place for a kernel at the site. Without a classifier nothing hides a last bit.
Network around(const Site& site, bool classifier = true) {
  NetworkBuilder net("around", {3, site.s * site.h, site.s * site.w});
  int x = net.add("stem", layer::Conv{.out = site.ci, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, {0});
  x = net.add("stem.bn", layer::BatchNorm{}, {x});
  x = net.add("stem.act", layer::Activation{layer::ActivationKind::hardswish}, {x});
  layer::Conv conv{.out = site.co, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
  conv.stride = site.s;
  x = net.add("site", conv, {x});
  x = net.add("site.bn", layer::BatchNorm{}, {x});
  x = net.add("mean", layer::GlobalAvgPool{}, {x});
  if (classifier) net.add("fc", layer::Linear{.out = 5}, {x});
  return std::move(net).finish();
}

/// The real values of all tensors for an image.
TensorValues<double> real_values(const NetworkGraph& network, const std::vector<NamedTensor>& weights,
                                 const std::vector<float>& image) {
  TensorValues<double> values;
  for (const auto& of : values_of(network, weights)) values.emplace_back(of.begin(), of.end());
  values[static_cast<std::size_t>(network.graph.input)].assign(image.begin(), image.end());
  RealDomain reals;
  evaluate(network.graph, reals, values);
  return values;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

/// 16 bits everywhere, steps by the largest value that occurs.
Quantization fine_quantization(const NetworkPlan& plan, const NetworkGraph& network,
                               const std::vector<NamedTensor>& weights, const TensorValues<double>& values) {
  Quantization made;
  for (const BoundStage& stage : network.graph.stages) {
    const auto product = weighted_product(network.graph, stage);
    if (!product) continue;
    const std::string& name = network.names[static_cast<std::size_t>(product->weight->tensor)];
    QuantizedPlace of{{16, true, true}, {16, true, false}, {}, 0, 1};
    for (const NamedTensor& tensor : weights)
      if (tensor.name == name)
        of.weight_steps = {
            fit_scales(name, tensor.values, 1, quantizer("symmetric"), range_estimator("min_max"), of.weight)
                .front()
                .step};
    const double most = largest(values[static_cast<std::size_t>(product->activation->tensor)]);
    of.activation_step = usable_step(static_cast<float>(most / of.activation.highest()));
    made.emplace(name, of);
  }
  EXPECT_EQ(made.size(), weighted_places(plan).size());
  return made;
}

/// How far the integer scores at 16 bits are from the real ones, relative to the largest one or 1. Nothing where a real
/// value is beyond the grid of 32 bits, which integers cannot follow.
std::optional<double> error_at_16_bits(const NetworkPlan& plan, Rng& rng) {
  const auto weights = random_weights(plan, rng.bits());
  const auto image = testing::random_image(*plan.network, rng);
  const auto lowered = lower_network(plan, 1);
  const auto values = real_values(*lowered, weights, image);
  if (std::ranges::any_of(values, [](const auto& tensor) { return largest(tensor) >= 0x1p15; })) return std::nullopt;
  const auto& real = values[static_cast<std::size_t>(lowered->graph.output)];
  const auto scores = IntegerNetwork(plan, weights, fine_quantization(plan, *lowered, weights, values)).scores(image);
  double off = 0;
  for (std::size_t k = 0; k < real.size(); ++k)
    off = std::max(off, std::abs(static_cast<double>(scores[k]) * 0x1p-16 - real[k]));
  return off / std::max(1.0, largest(real));
}

TEST(IntegerNetwork, IsCloseToTheRealNetworkAt16Bits) {
  Rng rng(seed + 3);
  for (const ZooRecord& record : zoo()) {
    ZooOptions options{.classes = 3, .input = {3, 32, 32}, .width = 0.125};
    if (record.name.starts_with("resnet")) options.input = {3, 12, 12};
    const Network network = record.build(options);
    EXPECT_LT(error_at_16_bits({&network, {}}, rng).value(), 5e-3) << "seed " << seed + 3 << " network " << record.name;
  }
}

TEST(IntegerNetwork, IsCloseToTheRealNetworkAt16BitsWithSampledKernels) {
  Rng rng(seed + 4);
  int beyond = 0;
  for_random_kernels(seed + 4, wanted_kernels(60), [&](const RandomKernel& random) {
    const Network network = around(random.site);
    const NetworkPlan plan{&network, {{*network.find("site"), {random.kernel, random.site}}}};
    const auto error = error_at_16_bits(plan, rng);
    beyond += error ? 0 : 1;
    EXPECT_LT(error.value_or(0), 2e-3) << random.origin << " at " << random.site.str() << "\n" << str(random.kernel);
  });
  EXPECT_LE(beyond, 6) << "kernels with values beyond the grid";
}

TEST(IntegerNetwork, EqualsTheFakeQuantizedOneBitForBitOnResidualNetworks) {
  Rng rng(seed);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 6; ++i) {
    const Network network = zoo_network("resnet8", {.classes = 7, .input = {3, 8, 8}, .width = 0.5});
    SCOPED_TRACE(fmt::format("seed {} network {}", seed, i));
    expect_equal({&network, {}}, rng, 4, seen);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.size(), 100U);
}

TEST(IntegerNetwork, EqualsTheFakeQuantizedOneBitForBitBehindAFoldedBatchNorm) {
  Rng rng(seed + 5);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 30; ++i) {
    NetworkBuilder net("folded", {2, 1, 1});
    net.add("bn", layer::BatchNorm{}, {net.add("conv", layer::Conv{.out = 64}, {0})});
    const Network network = std::move(net).finish();
    SCOPED_TRACE(fmt::format("seed {} network {}", seed + 5, i));
    expect_equal({&network, {}}, rng, 40, seen);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.size(), 10000U);
}

TEST(IntegerNetwork, EqualsTheFakeQuantizedOneBitForBitOnEveryNetworkOfTheZoo) {
  Rng rng(seed + 1);
  for (const ZooRecord& record : zoo()) {
    std::set<std::int64_t> seen;
    ZooOptions options{.classes = 3, .input = {3, 32, 32}, .width = 0.125};
    if (record.name.starts_with("resnet")) options.input = {3, 12, 12};
    const Network network = record.build(options);
    SCOPED_TRACE(fmt::format("seed {} network {}", seed + 1, record.name));
    expect_equal({&network, {}}, rng, 1, seen);
    if (HasFatalFailure()) return;
    EXPECT_GT(seen.size(), 1U);
  }
}

TEST(IntegerNetwork, EqualsTheFakeQuantizedOneBitForBitWithSampledKernels) {
  Rng rng(seed + 2);
  std::set<std::int64_t> seen;
  for_random_kernels(seed + 2, wanted_kernels(60), [&](const RandomKernel& random) {
    if (::testing::Test::HasFatalFailure()) return;
    const Network network = around(random.site, random.number % 2 == 0);
    const NetworkPlan plan{&network, {{*network.find("site"), {random.kernel, random.site}}}};
    SCOPED_TRACE(random.origin + " at " + random.site.str() + "\n" + str(random.kernel));
    expect_equal(plan, rng, 3, seen);
  });
  EXPECT_GT(seen.size(), 200U);
}

TEST(CodeSums, EqualTheInterpreterOnEveryWeightedSumOfSampledKernels) {
  Rng rng(seed + 6);
  int sums = 0;
  for_random_kernels(seed + 6, wanted_kernels(60), [&](const RandomKernel& random) {
    const auto graph = lower_at(random.kernel, random.site, 1);
    for (BoundStage stage : graph->stages) {
      const auto product = weighted_product(*graph, stage);
      if (!product) continue;
      const auto codes = [&](int tensor) {
        std::vector<std::int32_t> made(
            static_cast<std::size_t>(elements(graph->tensors[static_cast<std::size_t>(tensor)])));
        for (std::int32_t& code : made) code = static_cast<std::int32_t>(rng.below(255)) - 127;
        return made;
      };
      const auto activation = codes(product->activation->tensor);
      const auto weight = codes(product->weight->tensor);
      const CodeSums fast(*graph, stage, *product->activation, *product->weight, weight);
      stage.factor = Rational(1);
      stage.root = false;
      TensorValues<double> values(graph->tensors.size());
      values[static_cast<std::size_t>(product->activation->tensor)].assign(activation.begin(), activation.end());
      values[static_cast<std::size_t>(product->weight->tensor)].assign(weight.begin(), weight.end());
      RealDomain reals;
      evaluate_stage(*graph, stage, reals, values);
      EXPECT_EQ(fast.sums(std::vector<double>(activation.begin(), activation.end())),
                values[static_cast<std::size_t>(stage.out)])
          << random.origin << " at " << random.site.str() << "\n"
          << str(*graph, stage);
      ++sums;
    }
  });
  EXPECT_GT(sums, 60) << "seed " << seed + 6;
}

}  // namespace
}  // namespace kasimir
