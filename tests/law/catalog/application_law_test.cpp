// SPDX-License-Identifier: Apache-2.0
// Laws of every primitive, on random operands at random sites, one primitive at a time and without a kernel around it.
#include "kasimir/interp/field.h"
#include "kasimir/kernel/cost.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/nest/inline_copies.h"
#include "law/catalog/random_application.h"
#include "support/counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace kasimir {
namespace {

using testing::Application;
using testing::RandomApplication;

constexpr std::uint64_t seed = 20250611;
constexpr int draws = 300;

class Laws : public ::testing::TestWithParam<const Primitive*> {
 protected:
  /// Calls check(use, graph) for many random uses; fails if there are too few for the law to mean anything.
  template <typename Check>
  void for_many(Check check) {
    int legal = 0;
    for (std::uint64_t i = 0; i < draws; ++i) {
      const auto use = testing::draw_application(*GetParam(), seed, i);
      if (!use.ok()) continue;
      ++legal;
      SCOPED_TRACE(fmt::format("seed {} draw {}: {} of {} at {}", seed, i, use->application.text(),
                               str(use->application.operands[0]), use->sites[0].str()));
      check(*use, use->application.meaning(use->site_set()));
      if (HasFatalFailure()) return;
    }
    std::cout << "seed " << seed << ", " << legal << " of " << draws << " draws are legal\n";
    EXPECT_GE(legal, 25);
  }

  /// As for_many, with the stages bound at each site and two batch sizes.
  template <typename Check>
  void for_many_bound(Check check) {
    int unbound = 0;
    int bound = 0;
    for_many([&](const RandomApplication& use, const Graph& graph) {
      for (const Site& site : use.sites) {
        for (std::int64_t batch : {1, 3}) {
          Binding binding;
          const auto at_site = testing::bind_somehow(graph, site, batch, &binding);
          ++(at_site ? bound : unbound);
          if (at_site) check(use, *at_site, binding);
        }
      }
    });
    // Two sites may ask for contradictory free widths; nothing else may stop a legal use from getting numbers.
    EXPECT_LE(unbound, bound / 20);
  }
};

TEST_P(Laws, TextRoundTrips) {
  for_many([](const RandomApplication& use, const Graph&) {
    const Application again = Application::parse(use.application.text(), use.application.operands);
    EXPECT_EQ(again.arguments, use.application.arguments);
    EXPECT_EQ(again.text(), use.application.text());
  });
}

TEST_P(Laws, StagesKeepTheVerifiersRules) {
  for_many_bound([](const RandomApplication&, const BoundGraph& graph, const Binding&) {
    const auto broken = verify(graph);
    EXPECT_FALSE(broken.has_value()) << broken->str();
  });
}

TEST_P(Laws, ShapeIsThatOfTheLastStage) {
  for_many_bound([](const RandomApplication& use, const BoundGraph& graph, const Binding& binding) {
    const auto& axes = graph.tensors[static_cast<std::size_t>(graph.output)].axes;
    ASSERT_EQ(axes.size(), use.shape.size() + 1);
    EXPECT_EQ(axes[0].kind, AxisKind::batch);
    EXPECT_EQ(axes[0].extent, binding[Symbol::N]);
    for (std::size_t i = 0; i < use.shape.size(); ++i) {
      EXPECT_EQ(axes[i + 1].kind, use.shape[i].kind);
      EXPECT_EQ(Rational(axes[i + 1].extent), use.shape[i].extent.at(binding));
    }
  });
}

TEST_P(Laws, HasWeightsExactlyIfItSaysSo) {
  for_many([&](const RandomApplication&, const Graph& graph) {
    const bool found = std::ranges::any_of(graph.tensors, [](const Tensor& t) { return t.role == Role::weight; });
    EXPECT_EQ(found, GetParam()->weighted);
  });
}

TEST_P(Laws, CostsAreWhatTheBoundStagesCount) {
  for_many_bound([](const RandomApplication& use, const BoundGraph& graph, const Binding& binding) {
    const Cost expected = cost(use.application.meaning(use.site_set()));
    const testing::Counts found = testing::count(graph);
    // A statistic keeps nothing per image, so its elements do not grow with the batch.
    const bool has_statistics = std::ranges::any_of(graph.stages, [](const auto& s) { return s.stat.has_value(); });
    const double images = static_cast<double>(binding[Symbol::N]);
    EXPECT_DOUBLE_EQ(expected.params.value_at(binding), found.params);
    EXPECT_DOUBLE_EQ(expected.macs.value_at(binding) * images, found.macs);
    if (!has_statistics || images == 1) {
      EXPECT_DOUBLE_EQ(expected.elements.value_at(binding) * images, found.elements);
    }
    EXPECT_GE(expected.ops.value_at(binding), 2 * expected.macs.value_at(binding));
  });
}

std::vector<double> run(const BoundGraph& graph, TensorValues<double> values) {
  RealDomain domain;
  evaluate(graph, domain, values);
  return values[static_cast<std::size_t>(graph.output)];
}

/// Central differences as a check of the dual numbers along one random direction through all inputs and weights.
TEST_P(Laws, DerivativesAreTheLimitOfDifferences) {
  for_many_bound([](const RandomApplication&, const BoundGraph& graph, const Binding& binding) {
    if (binding[Symbol::N] == 1) return;
    Rng rng(seed, 1);
    const TensorValues<double> at = random_values(graph, rng);
    TensorValues<double> ahead = at;
    TensorValues<double> behind = at;
    TensorValues<Dual> duals(at.size());
    constexpr double step = 1e-6;
    for (std::size_t t = 0; t < at.size(); ++t) {
      for (std::size_t i = 0; i < at[t].size(); ++i) {
        const double slope = rng.normal();
        ahead[t][i] += step * slope;
        behind[t][i] -= step * slope;
        duals[t].push_back({at[t][i], slope});
      }
    }
    DualDomain domain;
    evaluate(graph, domain, duals);
    const auto high = run(graph, ahead);
    const auto low = run(graph, behind);
    double scale = 1.0;
    for (const auto& values : duals)
      for (const Dual& d : values) scale = std::max({scale, std::abs(d.value), std::abs(d.slope)});
    double worst = 0.0;
    const auto& slopes = duals[static_cast<std::size_t>(graph.output)];
    for (std::size_t i = 0; i < slopes.size(); ++i)
      worst = std::max(worst, std::abs((high[i] - low[i]) / (2 * step) - slopes[i].slope));
    EXPECT_LE(worst, 1e-6 * scale);
  });
}

TEST_P(Laws, DualsCarryTheValueOfTheReals) {
  for_many_bound([](const RandomApplication&, const BoundGraph& graph, const Binding&) {
    Rng rng(seed, 2);
    const TensorValues<double> at = random_values(graph, rng);
    TensorValues<Dual> duals(at.size());
    for (std::size_t t = 0; t < at.size(); ++t)
      for (double value : at[t]) duals[t].push_back({value, 1.0});
    DualDomain domain;
    evaluate(graph, domain, duals);
    const auto values = run(graph, at);
    const auto& found = duals[static_cast<std::size_t>(graph.output)];
    ASSERT_EQ(found.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(found[i].value, values[i]);
  });
}

TEST_P(Laws, InliningCopiesKeepsTheFunction) {
  for_many_bound([](const RandomApplication&, const BoundGraph& graph, const Binding&) {
    const BoundGraph inlined = inline_copies(graph);
    EXPECT_LE(inlined.stages.size(), graph.stages.size());
    EXPECT_EQ(fingerprint(inlined, seed), fingerprint(graph, seed));
    Rng rng(seed, 3);
    const TensorValues<double> at = random_values(graph, rng);
    EXPECT_EQ(run(inlined, at), run(graph, at));
  });
}

TEST_P(Laws, FrozenStagesReduceNoBatch) {
  for_many_bound([](const RandomApplication&, const BoundGraph& graph, const Binding&) {
    const BoundGraph frozen = freeze(graph);
    EXPECT_FALSE(verify(frozen).has_value());
    for (const BoundStage& stage : frozen.stages) {
      EXPECT_FALSE(stage.stat.has_value());
      for (int r : stage.reduced) EXPECT_NE(stage.iters[static_cast<std::size_t>(r)].kind, AxisKind::batch);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Catalog, Laws, ::testing::ValuesIn(catalog().begin(), catalog().end()),
                         [](const auto& primitive) { return std::string(primitive.param->name); });

}  // namespace
}  // namespace kasimir
