// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/label_rules.h"

#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <limits>

namespace kasimir {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The rule of `want` that the kernel breaks, or "".
std::string broken(const std::string& want, const std::string& steps) {
  const Kernel kernel = parse_kernel("kernel k\n" + steps, catalog());
  const Site site = Site::parse("16->16x8x8");
  const auto reason = broken_rule(parse_label_rules(want), kernel, exact_labels(kernel).value(), {&site, 1});
  return reason ? reason->str() : "";
}

std::string message(const std::string& want) {
  try {
    static_cast<void>(parse_label_rules(want));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::string conv = "  a = conv(x, to=Co, stride=yes)\nreturn a\n";
const std::string gate = "  a = fold(x, axes=(h,w))\n  b = sigmoid(a)\n  c = broadcast(b, x, op=mul)\nreturn c\n";

TEST(LabelRules, AreReadFromNamesWithYesNoOrARange) {
  EXPECT_EQ(parse_label_rules("global=no, linear=yes,levels=2..6,reach=..4,peak=3"),
            (std::vector<LabelRule>{{LabelName::global, 0, 0},
                                    {LabelName::linear, 1, 1},
                                    {LabelName::levels, 2, 6},
                                    {LabelName::reach, 0, 4},
                                    {LabelName::peak, 3, 3}}));
  EXPECT_EQ(parse_label_rules("intensity=0.5..").front(), (LabelRule{LabelName::intensity, 0.5, infinite}));
  EXPECT_TRUE(parse_label_rules("").empty());
}

TEST(LabelRules, SayWhatWasNotUnderstood) {
  EXPECT_EQ(message("globl=no"), "unknown label `globl` in `globl=no`, did you mean `global`?");
  EXPECT_EQ(message("idle"), "`idle` is neither yes nor no; write idle=yes or idle=no");
  EXPECT_EQ(message("idle=2..3"), "`idle=2..3` is neither yes nor no; write idle=yes or idle=no");
  EXPECT_EQ(message("levels=6..2"), "`levels=6..2` is no range; write levels=2..6, levels=2.. or levels=..6");
  EXPECT_EQ(message("levels=.."), "`levels=..` is no range; write levels=2..6, levels=2.. or levels=..6");
  EXPECT_EQ(message("levels="), "`levels=` is no range; write levels=2..6, levels=2.. or levels=..6");
  EXPECT_EQ(message("idle=no,idle=yes"), "label `idle` is asked for twice in `idle=no,idle=yes`");
}

TEST(LabelRules, OfLabelsHaveATextForEachSide) {
  EXPECT_EQ(broken("mixing=yes", gate), "screen: every output sees every input channel");
  EXPECT_EQ(broken("mixing=no", conv), "screen: some output does not see every input channel");
  EXPECT_EQ(broken("rows=no", conv), "screen: no output sees other rows");
  EXPECT_EQ(broken("columns=no", conv), "screen: no output sees other columns");
  EXPECT_EQ(broken("neighbourhood=yes", "  a = relu(x)\nreturn a\n"), "screen: some output sees another position");
  EXPECT_EQ(broken("global=yes", conv), "screen: some output sees the whole image");
  EXPECT_EQ(broken("global=no", gate), "screen: no output sees the whole image");
  EXPECT_EQ(broken("blind=yes", conv), "screen: some output does not depend on the input");
  EXPECT_EQ(broken("zero=yes", conv), "screen: the output is always zero");
  EXPECT_EQ(broken("linear=yes", gate), "screen: the kernel is linear in its input");
  EXPECT_EQ(broken("linear=no", conv), "screen: the kernel is not linear in its input");
  EXPECT_EQ(broken("data_weights=yes", conv), "screen: some weights are computed from the input");
  EXPECT_EQ(broken("data_weights=no", gate), "screen: no weights are computed from the input");
  EXPECT_EQ(broken("equivariant=no", conv), "screen: a shifted input does not give the shifted output");
  EXPECT_EQ(broken("any_resolution=no", conv), "screen: some weight depends on height or width");
  EXPECT_EQ(broken("idle=yes", conv), "screen: some step may be left out");
  EXPECT_EQ(broken("idle=no", "  a = sigmoid(x)\n  b = relu(a)\nreturn b\n"),
            "screen: no step may be left out (`b = relu(a)`)");
}

TEST(LabelRules, OfNumbersSayTheNumber) {
  EXPECT_EQ(broken("levels=3..", gate), "screen: non-linear levels are as many as wanted (levels=2)");
  EXPECT_EQ(broken("reach=2..5", conv),
            "screen: rows or columns that an output sees from its own are as many as wanted (reach=1)");
  EXPECT_EQ(broken("peak=..2000", conv),
            "screen: most elements of activations at one time are as many as wanted (peak=2048)");
  EXPECT_EQ(broken("intensity=50..", conv),
            "screen: multiply-accumulates per element are as many as wanted (intensity=44.31)");
}

TEST(LabelRules, AreKeptByWhatTheyAllow) {
  EXPECT_EQ(broken("mixing=yes,rows=yes,columns=yes,neighbourhood=yes,global=no,blind=no,zero=no,linear=yes,"
                   "data_weights=no,equivariant=yes,any_resolution=yes,idle=no,levels=0,reach=1..1,peak=..2048,"
                   "intensity=44..45",
                   conv),
            "");
  EXPECT_EQ(broken("global=yes,linear=no,data_weights=yes,mixing=no,levels=2", gate), "");
}

TEST(LabelRules, AskOnlyForTheCostlyLabelsThatTheyNeed) {
  const auto costs = [](const char* want) {
    const LabelCosts needed = costs_of(parse_label_rules(want));
    return std::pair(needed.reach, needed.translation);
  };
  EXPECT_EQ(costs("idle=no,linear=no,peak=..9"), std::pair(false, false));
  EXPECT_EQ(costs("global=no"), std::pair(true, false));
  EXPECT_EQ(costs("reach=1.."), std::pair(true, false));
  EXPECT_EQ(costs("equivariant=yes"), std::pair(false, true));
}

TEST(LabelRules, AreKeptByWhatIsSampled) {
  SampleOptions options;
  options.limits.min_primitives = 3;
  options.wanted.labels = parse_label_rules("global=no,idle=no,linear=no,levels=2..4");
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, 5);
  int kernels = 0;
  const SampleStats stats = sample(sampler, 25, 20'000, 1, [&](const Sampled& sampled) {
    ++kernels;
    const Labels labels = exact_labels(sampled.kernel).value();
    EXPECT_FALSE(labels.view.is_global || labels.is_linear || labels.idle_step) << str(sampled.kernel);
    EXPECT_TRUE(labels.nonlinear_levels >= 2 && labels.nonlinear_levels <= 4) << str(sampled.kernel);
    ASSERT_TRUE(sampled.exact.has_value());
    EXPECT_EQ(sampled.exact->nonlinear_levels, labels.nonlinear_levels);
  });
  EXPECT_EQ(kernels, 25);
  EXPECT_TRUE(stats.rejected.contains("screen: the kernel is not linear in its input"));
}

/// What is forbidden is not wanted by default either.
TEST(LabelRules, ThatForbidAreStrongerThanTheDefaults) {
  SampleOptions options;
  options.wanted.labels = parse_label_rules("mixing=no,rows=no");
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, 6);
  int kernels = 0;
  sample(sampler, 10, 20'000, 1, [&](const Sampled& sampled) {
    ++kernels;
    EXPECT_FALSE(sampled.exact->view.mixes_channels || sampled.exact->view.sees_height) << str(sampled.kernel);
  });
  EXPECT_EQ(kernels, 10);
}

}  // namespace
}  // namespace kasimir
