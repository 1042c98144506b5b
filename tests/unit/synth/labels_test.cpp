// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/labels.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/footprint.h"
#include "kasimir/synth/poked.h"
#include "kasimir/synth/sampler.h"
#include "kasimir/synth/small_site.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <iostream>

namespace kasimir {
namespace {

Kernel text(const std::string& steps) { return parse_kernel("kernel k\n" + steps, catalog()); }
Kernel example(const std::string& name) {
  return parse_kernel(read_file(std::string(KASIMIR_SOURCE_DIR) + "/examples/kernels/" + name + ".txt"), catalog());
}
Labels of(const Kernel& kernel) { return exact_labels(kernel).value(); }
Labels of(const std::string& steps) { return of(text(steps)); }
View structural(const Kernel& kernel) { return analyse(at_label_site(kernel).value()); }

TEST(ExactLabels, OfMixingAreTrueOfTheKernels) {
  for (const char* name : {"convolution", "depthwise_separable", "low_rank", "channel_attention", "squeeze_excite"})
    EXPECT_TRUE(of(example(name)).view.mixes_channels) << name;
  for (const char* name : {"depthwise", "grouped_convolution"})
    EXPECT_FALSE(of(example(name)).view.mixes_channels) << name;
}

TEST(ExactLabels, OfNeighbourhoodsTellRowsFromColumns) {
  const View rows = of("  a = conv(x, to=Co, window=(3,1))\nreturn a\n").view;
  EXPECT_TRUE(rows.sees_height && rows.sees_neighbourhood && !rows.sees_width);
  const View columns = of("  a = shift(x, axes=w, by=-1)\nreturn a\n").view;
  EXPECT_TRUE(columns.sees_width && columns.sees_neighbourhood && !columns.sees_height);
  const View none = of(example("low_rank")).view;
  EXPECT_FALSE(none.sees_height || none.sees_width || none.sees_neighbourhood);
}

TEST(ExactLabels, OfReachAreTheWindows) {
  const auto reach = [](const Labels& labels) { return std::pair(labels.reach_rows, labels.reach_columns); };
  EXPECT_EQ(reach(of(example("convolution"))), std::pair(1, 1));
  EXPECT_EQ(reach(of("  a = conv(x, to=Co, window=(5,1), dilation=2)\nreturn a\n")), std::pair(4, 0));
  EXPECT_EQ(reach(of(example("large_kernel_attention"))), std::pair(2 + 9, 2 + 9));
  EXPECT_EQ(reach(of(example("self_attention"))), std::pair(Labels::far, Labels::far));
}

/// A window that covers the small map is not global.
TEST(ExactLabels, OfGlobalContextAskForAnyDistance) {
  for (const char* name : {"self_attention", "channel_attention", "squeeze_excite", "squeezed_axial_attention"})
    EXPECT_TRUE(of(example(name)).view.is_global) << name;
  EXPECT_FALSE(of(example("convolution")).view.is_global);
  const Kernel large = example("large_kernel_attention");
  EXPECT_TRUE(structural(large).is_global);
  EXPECT_FALSE(of(large).view.is_global);
  const Labels rows = of("  a = fold(x, axes=h)\n  b = broadcast(a, x)\nreturn b\n");
  EXPECT_EQ(rows.reach_rows, Labels::far);
  EXPECT_FALSE(rows.view.is_global);
}

TEST(ExactLabels, OfAMaximumOverAllPositionsAreGlobal) {
  EXPECT_TRUE(of("  a = linear(x, to=Co)\n  b = fold(a, axes=(h,w), by=max)\n  c = broadcast(b, x)\nreturn c\n")
                  .view.is_global);
}

TEST(ExactLabels, LeaveOutWhatCancels) {
  const Kernel twins = text(
      "  a = shift(x, axes=(h,w), by=1)\n  b = shift(x, axes=(h,w), by=1)\n  c = broadcast(a, b, op=sub)\n"
      "  d = broadcast(c, x)\nreturn d\n");
  EXPECT_TRUE(structural(twins).sees_neighbourhood);
  EXPECT_FALSE(of(twins).view.sees_neighbourhood);
  EXPECT_EQ(of(twins).reach_rows, 0);
  EXPECT_FALSE(of(twins).is_zero);
}

TEST(ExactLabels, OfBlindnessSeeThroughASoftmaxOverOneChannel) {
  const Kernel constant = text("  a = group(x, by=Ci)\n  b = softmax(a, axes=c)\n  c = merge(b)\nreturn c\n");
  EXPECT_FALSE(structural(constant).is_blind);
  EXPECT_TRUE(of(constant).view.is_blind);
  EXPECT_FALSE(of(constant).is_zero);
  EXPECT_FALSE(of("  a = softmax(x, axes=c)\nreturn a\n").view.is_blind);
}

/// With g=4 the smallest site has one channel per group, other sites more.
TEST(ExactLabels, AreNotMisledByExtentsThatAreOneAtTheSmallestSite) {
  const Kernel groups = text("given g=4\n  a = group(x, by=g)\n  b = softmax(a, axes=c)\n  c = merge(b)\nreturn c\n");
  EXPECT_EQ(at_small_site(groups)->tensors[0].axes[1].extent, 4);
  EXPECT_EQ(at_label_site(groups)->tensors[0].axes[1].extent, 8);
  EXPECT_FALSE(of(groups).view.is_blind);
}

TEST(ExactLabels, OfZeroAreOfWhatIsAlwaysZero) {
  const Labels zero = of("  a = relu(x)\n  b = neg(a)\n  c = relu(b)\nreturn c\n");
  EXPECT_TRUE(zero.is_zero && zero.view.is_blind && zero.is_linear);
  EXPECT_FALSE(of("  a = relu(x)\nreturn a\n").is_zero);
}

TEST(ExactLabels, OfLinearityAreOfTheFunction) {
  for (const char* name : {"convolution", "depthwise", "grouped_shuffle", "shift_pointwise", "low_rank"})
    EXPECT_TRUE(of(example(name)).is_linear) << name;
  for (const char* name : {"involution", "squeeze_excite", "self_attention", "large_kernel_attention"})
    EXPECT_FALSE(of(example(name)).is_linear) << name;
  // relu(x) - relu(-x) = x
  EXPECT_TRUE(of("  a = relu(x)\n  b = neg(x)\n  c = relu(b)\n  d = broadcast(a, c, op=sub)\nreturn d\n").is_linear);
  EXPECT_FALSE(of("  a = relu(x)\n  b = neg(x)\n  c = relu(b)\n  d = broadcast(a, c)\nreturn d\n").is_linear);
}

TEST(ExactLabels, OfDataWeightsAreOfProductsOfTwoValues) {
  for (const char* name : {"involution", "squeeze_excite", "self_attention", "channel_attention"})
    EXPECT_TRUE(of(example(name)).has_data_weights) << name;
  for (const char* steps : {"  a = square(x)\nreturn a\n", "  a = gelu(x)\nreturn a\n", "  a = norm(x)\nreturn a\n"})
    EXPECT_FALSE(of(steps).has_data_weights) << steps;
  EXPECT_FALSE(of(example("convolution")).has_data_weights);
  // One factor is constant.
  EXPECT_FALSE(
      of("  a = group(x, by=Ci)\n  b = softmax(a, axes=c)\n  c = merge(b)\n  d = broadcast(c, x, op=mul)\nreturn d\n")
          .has_data_weights);
}

TEST(ExactLabels, OfLevelsCountNonLinearStepsOnTheLongestPath) {
  EXPECT_EQ(of(example("convolution")).nonlinear_levels, 0);
  EXPECT_EQ(of(example("large_kernel_attention")).nonlinear_levels, 1);
  EXPECT_EQ(of(example("squeeze_excite")).nonlinear_levels, 3);
  EXPECT_EQ(of("  a = relu(x)\n  b = norm(a)\n  c = abs(b)\n  d = broadcast(c, x)\nreturn d\n").nonlinear_levels, 2);
}

TEST(ExactLabels, OfTranslationKeepBordersOutOfIt) {
  for (const char* name : {"convolution", "shift_pointwise", "self_attention", "squeezed_axial_attention", "involution",
                           "large_kernel_attention", "spatially_separable"})
    EXPECT_TRUE(of(example(name)).is_equivariant) << name;
  EXPECT_FALSE(of("  a = mix(x, over=h, to=(h=H))\nreturn a\n").is_equivariant);
}

TEST(ExactLabels, OfResolutionAreOfTheWeights) {
  EXPECT_TRUE(of(example("self_attention")).is_independent_of_resolution);
  EXPECT_FALSE(of("  a = mix(x, over=h, to=(h=H))\nreturn a\n").is_independent_of_resolution);
}

TEST(ExactLabels, NameTheFirstStepThatMayBeLeftOut) {
  EXPECT_EQ(of("  a = conv(x, to=Co)\n  b = sigmoid(a)\n  c = relu(b)\n  d = linear(c, to=Co)\nreturn d\n").idle_step,
            2);
  // The sum forgets in which order the channels were.
  EXPECT_EQ(of("given g=4\n  a = shuffle(x, by=g)\n  b = fold(a, axes=c)\n  c = broadcast(b, x)\nreturn c\n").idle_step,
            0);
  for (const char* name : {"convolution", "grouped_shuffle", "shift_pointwise", "involution", "self_attention",
                           "squeeze_excite", "large_kernel_attention", "squeezed_axial_attention"})
    EXPECT_FALSE(of(example(name)).idle_step.has_value()) << name;
}

TEST(ExactLabels, AreThoseOfTheKernelWhateverItsTensorsAreCalled) {
  const auto same = [](const Labels& a, const Labels& b) {
    return a.view.mixes_channels == b.view.mixes_channels && a.view.sees_height == b.view.sees_height &&
           a.view.sees_width == b.view.sees_width && a.view.is_global == b.view.is_global &&
           a.view.is_blind == b.view.is_blind && a.is_zero == b.is_zero && a.is_linear == b.is_linear &&
           a.has_data_weights == b.has_data_weights && a.is_equivariant == b.is_equivariant &&
           a.idle_step == b.idle_step && a.nonlinear_levels == b.nonlinear_levels && a.reach_rows == b.reach_rows &&
           a.reach_columns == b.reach_columns;
  };
  const Labels first = of("  a = conv(x, to=Co)\n  b = relu(x)\n  c = broadcast(a, b, op=mul)\nreturn c\n");
  const Labels swapped = of("  b = relu(x)\n  a = conv(x, to=Co)\n  c = broadcast(a, b, op=mul)\nreturn c\n");
  const Labels named = exact_labels(parse_kernel("kernel other\n  left = conv(x, to=Co)\n  right = relu(x)\n"
                                                 "  both = broadcast(left, right, op=mul)\nreturn both\n",
                                                 catalog()))
                           .value();
  EXPECT_TRUE(same(first, swapped));
  EXPECT_TRUE(same(first, named));
  EXPECT_FALSE(same(first, of(example("convolution"))));
}

TEST(ExactLabels, SayWhyThereAreNone) {
  EXPECT_EQ(exact_labels(text("  a = linear(x, to=Co/5)\n  b = linear(a, to=Co)\nreturn b\n")).rejection().rule,
            "linear: the groups divide the new channels");
}

/// What is found by replacing inputs, without being told where to look, is never more than what the structure allows.
TEST(ExactLabels, AreNeverMoreThanTheStructureAllows) {
  constexpr std::uint64_t seed = 17;
  SampleOptions options;
  options.wanted = {false, false, true};
  options.budget = Budget::parse("macs=..2,params=..2");
  options.limits.min_primitives = 5;
  options.limits.max_primitives = 20;
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  SampleMemory memory(sampler);
  constexpr int wanted = 200;
  int kernels = 0;
  int fewer = 0;
  const View everything{true, true, true, true, true, false};
  for (std::uint64_t i = 0; i < 10'000 && kernels < wanted; ++i) {
    if (sampler.draw(i, memory)) continue;
    const Kernel kernel = sampler.kernel(memory);
    const auto graph = at_label_site(kernel);
    if (!graph.ok() || graph->tensors[0].axes[1].extent > 8) continue;  // only to keep the test short
    ++kernels;
    SCOPED_TRACE(fmt::format("seed {} attempt {}:\n{}", seed, i, str(kernel)));
    const View found = exact_labels(kernel, everything, {false, false})->view;
    const View allowed = analyse(*graph);
    EXPECT_LE(found.mixes_channels, allowed.mixes_channels);
    EXPECT_LE(found.sees_neighbourhood, allowed.sees_neighbourhood);
    EXPECT_LE(found.sees_height, allowed.sees_height);
    EXPECT_LE(found.sees_width, allowed.sees_width);
    EXPECT_LE(found.is_global, allowed.is_global);
    EXPECT_GE(found.is_blind, allowed.is_blind);
    fewer += found.mixes_channels < allowed.mixes_channels || found.sees_height < allowed.sees_height ||
                     found.sees_width < allowed.sees_width || found.is_global < allowed.is_global ||
                     found.is_blind > allowed.is_blind
                 ? 1
                 : 0;
  }
  std::cout << "seed " << seed << ": " << fewer << " of " << kernels << " kernels see less than their structure\n";
  EXPECT_EQ(kernels, wanted);
  EXPECT_LE(fewer, kernels / 10);
}

TEST(Footprint, IsWhatIsHeldAtOneTimeAndWorkByElement) {
  const Site site = Site::parse("16->32x8x8");
  const Footprint one = footprint(example("convolution"), site).value();
  EXPECT_EQ(one.peak, (16 + 32) * 64);
  EXPECT_DOUBLE_EQ(one.intensity, 9.0 * 16 * 32 * 64 / (32 * 64 + 9 * 16 * 32));
  // The input waits for the last step.
  const Footprint gate =
      footprint(text("  a = relu(x)\n  b = abs(a)\n  c = broadcast(b, x)\nreturn c\n"), Site::parse("16->16x8x8"))
          .value();
  EXPECT_EQ(gate.peak, 3 * 16 * 64);
  EXPECT_EQ(gate.intensity, 0.0);
}

TEST(Poked, KeepsTheWeights) {
  Poked poked(at_small_site(example("convolution")).value());
  poked.draw(1);
  std::vector<std::uint32_t> twice(field_room(poked.size(poked.graph().input)));
  const auto input = poked.values(poked.graph().input);
  for (std::size_t i = 0; i < input.size(); ++i)
    twice[i] = static_cast<std::uint32_t>(2 * std::uint64_t{input[i]} % FieldDomain::prime);
  const Poked::Change change{poked.graph().input, twice.data()};
  const auto after = poked.run({&change, 1});
  for (std::size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(after[i], 2 * std::uint64_t{poked.output()[i]} % FieldDomain::prime);
  EXPECT_TRUE(poked.moved(poked.graph().output));
}

}  // namespace
}  // namespace kasimir
