// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/real.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

namespace kasimir {
namespace {

Outcome<BoundGraph> small(const std::string& text) {
  return at_small_site(parse_kernel("kernel k\n" + text, catalog()));
}

TEST(SmallSite, IsTheSmallestAtWhichAllSizesAreWhole) {
  const auto input = [](const std::string& text) { return small(text)->tensors[0]; };
  const std::vector<BasicAxis<Bound>> four{
      {AxisKind::batch, 1}, {AxisKind::channel, 4}, {AxisKind::height, 5}, {AxisKind::width, 6}};
  EXPECT_EQ(input("  a = conv(x, to=Co, stride=yes)\nreturn a\n").axes, four);
  EXPECT_EQ(input("given g=16\n  a = conv(x, to=Co, groups=g)\nreturn a\n").axes[1].extent, 16);
  EXPECT_EQ(input("given g=4 r=8\n  a = group(x, by=g)\n  b = linear(a, to=Co/r)\n  c = linear(b, to=Co)\nreturn c\n")
                .axes[1]
                .extent,
            32);
}

TEST(SmallSite, FindsValuesForFreeSymbols) {
  const auto graph = small("given g=4\n  a = linear(x, to=x0)\n  b = conv(a, to=Co, groups=g)\nreturn b\n");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->tensors[0].axes[1].extent, 4);
  EXPECT_FALSE(verify(*graph).has_value());
}

TEST(SmallSite, SaysWhyThereIsNone) {
  EXPECT_EQ(small("  a = linear(x, to=Co/5)\n  b = linear(a, to=Co)\nreturn b\n").rejection().str(),
            "linear: the groups divide the new channels (to=Co/5 with g=1, in `a = linear(x, to=Co/5)`)");
}

/// Which input channels and positions each output moves with, found by moving them.
struct Poked {
  std::vector<std::vector<bool>> channels;
  std::vector<std::vector<bool>> positions;
};

class Poker {
 public:
  Poker(const BoundGraph& training, std::uint64_t seed)
      : graph_(freeze(training)), rng_(seed), values_(random_values(graph_, rng_)) {
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].role != Role::stat) continue;
      values_[t].resize(static_cast<std::size_t>(elements(graph_.tensors[t])));
      for (double& v : values_[t]) v = 0.5 + rng_.unit();
    }
    before_ = run(values_);
  }

  /// Adds to `poked` what moves now.
  void poke(Poked& poked) {
    const std::size_t channels = values_[0].size() / 30;
    poked.channels.resize(before_.size(), std::vector<bool>(channels));
    poked.positions.resize(before_.size(), std::vector<bool>(30));
    for (std::size_t c = 0; c < channels; ++c)
      move([&](std::size_t i) { return i / 30 == c; }, [&](std::size_t out) { poked.channels[out][c] = true; });
    for (std::size_t at = 0; at < 30; ++at)
      move([&](std::size_t i) { return i % 30 == at; }, [&](std::size_t out) { poked.positions[out][at] = true; });
  }

 private:
  std::vector<double> run(TensorValues<double> values) const {
    RealDomain domain;
    evaluate(graph_, domain, values);
    return values[static_cast<std::size_t>(graph_.output)];
  }

  template <typename Chosen, typename Moved>
  void move(Chosen chosen, Moved moved) {
    TensorValues<double> values = values_;
    for (std::size_t i = 0; i < values[0].size(); ++i)
      if (chosen(i)) values[0][i] += 2 * rng_.normal();
    const auto after = run(values);
    for (std::size_t out = 0; out < after.size(); ++out)
      if (after[out] != before_[out]) moved(out);
  }

  BoundGraph graph_;
  Rng rng_;
  TensorValues<double> values_;
  std::vector<double> before_;
};

View view_of(const Poked& poked) {
  View view;
  std::vector<bool> sees(poked.channels.size() / 30, false);
  std::vector<bool> mixes(poked.channels.size() / 30, false);
  const auto all = [](const std::vector<bool>& set) { return std::find(set.begin(), set.end(), false) == set.end(); };
  const auto any = [](const std::vector<bool>& set) { return std::find(set.begin(), set.end(), true) != set.end(); };
  for (std::size_t out = 0; out < poked.channels.size(); ++out) {
    const std::size_t own = out % 30;
    sees[out / 30] = sees[out / 30] || any(poked.channels[out]);
    mixes[out / 30] = mixes[out / 30] || all(poked.channels[out]);
    view.is_global = view.is_global || all(poked.positions[out]);
    for (std::size_t at = 0; at < 30; ++at) {
      if (at == own || !poked.positions[out][at]) continue;
      view.sees_neighbourhood = true;
      view.sees_height = view.sees_height || at / 6 != own / 6;
      view.sees_width = view.sees_width || at % 6 != own % 6;
    }
  }
  view.is_blind = !all(sees);
  view.mixes_channels = all(mixes);
  return view;
}

/// Structure never misses what numbers show, and what it says beyond them (a branch that cancels, a function that is
/// flat where it was tried) is rare.
TEST(Labels, AreTrueOfTheNumbers) {
  constexpr std::uint64_t seed = 3;
  SampleOptions options;
  options.wanted.channel_mixing = false;
  options.wanted.neighbourhood = false;
  options.budget = Budget::parse("macs=..2,params=..2");
  options.limits.min_primitives = 2;
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  SampleMemory memory(sampler);
  constexpr int wanted = 160;
  int kernels = 0;
  int equal = 0;
  for (std::uint64_t i = 0; i < 10'000 && kernels < wanted; ++i) {
    const auto sampled = sampler.attempt(i, memory);
    if (!sampled.ok()) continue;
    const BoundGraph graph = at_small_site(sampled->kernel).value();
    if (graph.tensors[0].axes[1].extent > 8) continue;  // only to keep the test short
    ++kernels;
    SCOPED_TRACE(fmt::format("seed {} attempt {}:\n{}", seed, i, str(sampled->kernel)));
    Poked poked;
    for (std::uint64_t draw = 0; draw < 3; ++draw) Poker(graph, draw).poke(poked);
    const View found = view_of(poked);
    const View& said = sampled->label.view;
    EXPECT_LE(found.mixes_channels, said.mixes_channels);
    EXPECT_LE(found.sees_neighbourhood, said.sees_neighbourhood);
    EXPECT_LE(found.sees_height, said.sees_height);
    EXPECT_LE(found.sees_width, said.sees_width);
    EXPECT_LE(found.is_global, said.is_global);
    EXPECT_LE(said.is_blind, found.is_blind);
    equal += found.mixes_channels == said.mixes_channels && found.sees_height == said.sees_height &&
                     found.sees_width == said.sees_width && found.is_global == said.is_global
                 ? 1
                 : 0;
  }
  std::cout << "seed " << seed << ": " << equal << " of " << kernels << " views are found by moving the input\n";
  EXPECT_EQ(kernels, wanted);
  EXPECT_GE(equal, kernels * 8 / 10);
}

TEST(Labels, FingerprintsMeetForEqualFunctions) {
  const auto print = [](const std::string& text) {
    return label(parse_kernel("kernel k\n" + text, catalog()))->fingerprint;
  };
  EXPECT_EQ(print("  a = conv(x, to=Co, stride=yes)\nreturn a\n"),
            print("  a = unfold(x)\n  b = stride(a)\n  c = linear(b, to=Co)\nreturn c\n"));
  EXPECT_NE(print("  a = conv(x, to=Co, stride=yes)\nreturn a\n"),
            print("  a = conv(x, to=Co, window=5, stride=yes)\nreturn a\n"));
}

/// A norm of one number per channel must not hide what feeds it: a gate with and without its tanh are two kernels.
TEST(Labels, FingerprintsSeeThroughANormOfASingleNumber) {
  const auto gate = [](const std::string& function) {
    return label(
               parse_kernel("kernel k\n  a = conv(x, to=Co, stride=yes)\n  b = fold(a, axes=(h,w))\n  c = " + function +
                                "(b)\n  d = norm(c)\n  e = sigmoid(d)\n  f = broadcast(e, a, op=mul)\nreturn f\n",
                            catalog()))
        ->fingerprint;
  };
  EXPECT_NE(gate("tanh"), gate("relu"));
}

}  // namespace
}  // namespace kasimir
