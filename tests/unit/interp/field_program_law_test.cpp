// SPDX-License-Identifier: Apache-2.0
// Programs against the interpreter: on random uses of every primitive, and on whole sampled kernels at two small sites.
#include "kasimir/kernel/verify.h"
#include "kasimir/synth/sampler.h"
#include "law/catalog/random_application.h"
#include "unit/interp/field_agreement.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <iostream>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 20251130;

class EveryPrimitive : public ::testing::TestWithParam<const Primitive*> {};

TEST_P(EveryPrimitive, RunsAsTheInterpreterDoes) {
  constexpr std::uint64_t draws = 120;
  FieldScratch scratch;
  int legal = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const auto use = testing::draw_application(*GetParam(), seed, i);
    if (!use.ok()) continue;
    SCOPED_TRACE(fmt::format("seed {} draw {}: {} of {} at {}", seed, i, use->application.text(),
                             str(use->application.operands[0]), use->sites[0].str()));
    for (std::int64_t batch : {1, 3}) {
      const auto graph = testing::bind_somehow(use->application.meaning(use->site_set()), use->sites[0], batch);
      if (!graph) continue;
      ++legal;
      // In training with its statistics, and at inference.
      testing::expect_agreement(*graph, i, scratch);
      testing::expect_agreement(freeze(*graph), i, scratch);
      if (HasFailure()) return;
    }
  }
  std::cout << "seed " << seed << ", " << legal << " graphs of " << draws << " draws\n";
  EXPECT_GE(legal, 20);
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPrimitive, ::testing::ValuesIn(catalog().begin(), catalog().end()),
                         [](const auto& primitive) { return std::string(primitive.param->name); });

TEST(SampledKernels, RunAsTheInterpreterDoes) {
  SampleOptions options;
  options.budget = Budget::parse("macs=..4,params=..4");
  options.limits.max_primitives = 15;
  options.wanted = {false, false, true};
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  FieldScratch scratch;
  int graphs = 0;
  std::size_t compared = 0;
  sample(sampler, 200, 20'000, 1, [&](const Sampled& sampled) {
    SCOPED_TRACE(fmt::format("seed {} attempt {}:\n{}", seed, sampled.attempt, str(sampled.kernel)));
    for (const Site& site : {Site{8, 8, 7, 8, 1}, Site{16, 16, 5, 3, 1}}) {
      Kernel small = sampled.kernel;
      const auto graph = lower(small, SiteSet({site}, small.choices));
      if (!graph.ok()) continue;
      const auto fitted = any_fit(small, *graph, site);
      if (!fitted.ok()) continue;
      small.fits = {{site, *fitted}};
      ++graphs;
      compared += testing::expect_agreement(freeze(lower_at(small, site, 1).value()), sampled.attempt, scratch);
    }
  });
  std::cout << "seed " << seed << ": " << graphs << " graphs, " << compared << " elements\n";
  EXPECT_GE(graphs, 300);
}

}  // namespace
}  // namespace kasimir
