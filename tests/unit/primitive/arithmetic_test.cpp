// SPDX-License-Identifier: Apache-2.0
#include "support/application.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kasimir {
namespace {

using testing::Applied;
using testing::Array;
using testing::expect_array;
using testing::Index;
using testing::shape_from;

const Site site{4, 4, 3, 2, 1};

TEST(Scale, MultipliesByALearnedFactorAlongItsAxes) {
  const Applied scale("scale(x, axes=(c,w))", {input_shape()}, site, 2);
  const Array x = scale.operand();
  const Array w = scale.weight();
  ASSERT_EQ(w.dims(), (Index{4, 2}));
  expect_array(scale.result(), {2, 4, 3, 2}, [&](const Index& at) { return x.read(at) * w(at[1], at[3]); });
}

/// Mean and variance of one channel over the batch and all positions, the variance divided by the count.
std::pair<double, double> statistics(const Array& x, std::int64_t channel) {
  double mean = 0.0;
  double variance = 0.0;
  const double count = static_cast<double>(x.dim(0) * x.dim(2) * x.dim(3));
  const auto each = [&](auto action) {
    for (std::int64_t n = 0; n < x.dim(0); ++n)
      for (std::int64_t h = 0; h < x.dim(2); ++h)
        for (std::int64_t w = 0; w < x.dim(3); ++w) action(x(n, channel, h, w));
  };
  each([&](double v) { mean += v / count; });
  each([&](double v) { variance += (v - mean) * (v - mean) / count; });
  return {mean, variance};
}

TEST(Norm, NormalisesByTheStatisticsOfTheBatch) {
  for (std::int64_t batch : {1, 3}) {
    const Applied norm("norm(x)", {input_shape()}, site, batch);
    const Array x = norm.operand();
    expect_array(norm.result(), {batch, 4, 3, 2}, [&](const Index& at) {
      const auto [mean, variance] = statistics(x, at[1]);
      return (x.read(at) - mean) / std::sqrt(variance + 1e-5) * norm.weight(0)(at[1]) + norm.weight(1)(at[1]);
    });
  }
}

TEST(Norm, KeepsGroupsAndChannelsApart) {
  const Applied norm("norm(x)", {shape_from("g=g, c=Ci/g")}, site, 3);
  const Array x = norm.operand();
  ASSERT_EQ(norm.weight(0).dims(), (Index{2, 2}));
  expect_array(norm.result(), {3, 2, 2}, [&](const Index& at) {
    const double mean = (x(0, at[1], at[2]) + x(1, at[1], at[2]) + x(2, at[1], at[2])) / 3;
    double variance = 0.0;
    for (int n = 0; n < 3; ++n) variance += std::pow(x(n, at[1], at[2]) - mean, 2) / 3;
    return (x.read(at) - mean) / std::sqrt(variance + 1e-5) * norm.weight(0)(at[1], at[2]) +
           norm.weight(1)(at[1], at[2]);
  });
}

TEST(Fold, TakesMeanSumAndMaximum) {
  for (const std::string way : {"mean", "sum", "max"}) {
    const Applied fold("fold(x, axes=(c,w), by=" + way + ")", {input_shape()}, site, 2);
    const Array x = fold.operand();
    EXPECT_EQ(str(fold.shape()), "[h=H*s]");
    expect_array(fold.result(), {2, 3}, [&](const Index& at) {
      double sum = 0.0;
      double most = -INFINITY;
      for (int c = 0; c < 4; ++c) {
        for (int w = 0; w < 2; ++w) {
          sum += x(at[0], c, at[1], w);
          most = std::max(most, x(at[0], c, at[1], w));
        }
      }
      return way == "mean" ? sum / 8 : way == "sum" ? sum : most;
    });
  }
}

TEST(Softmax, SumsToOneOverItsAxes) {
  const Applied softmax("softmax(x, axes=(h,w))", {input_shape()}, site, 2);
  const Array x = softmax.operand();
  expect_array(softmax.result(), {2, 4, 3, 2}, [&](const Index& at) {
    double sum = 0.0;
    for (int h = 0; h < 3; ++h)
      for (int w = 0; w < 2; ++w) sum += std::exp(x(at[0], at[1], h, w));
    return std::exp(x.read(at)) / sum;
  });
}

TEST(Softmax, SurvivesLargeValues) {
  const testing::Application softmax = testing::Application::parse("softmax(x, axes=c)", {shape_from("c=Ci")});
  const SiteSet sites({site}, testing::test_choices());
  const BoundGraph graph = bind(softmax.meaning(sites), testing::binding_at(site, 1)).value();
  TensorValues<double> values{{1000, 1000, -1000, 1000}};
  RealDomain domain;
  evaluate(graph, domain, values);
  EXPECT_EQ(values.back(), (std::vector<double>{1.0 / 3, 1.0 / 3, 0.0, 1.0 / 3}));
}

struct Function {
  const char* name;
  double (*value)(double);
};

class Functions : public ::testing::TestWithParam<Function> {};

TEST_P(Functions, AreWhatTheirNamesSay) {
  const Applied applied(std::string(GetParam().name) + "(x)", {input_shape()}, {6, 6, 5, 5, 1}, 2);
  const Array x = applied.operand();
  expect_array(applied.result(), x.dims(), [&](const Index& at) { return GetParam().value(x.read(at)); });
}

INSTANTIATE_TEST_SUITE_P(
    Catalog, Functions,
    ::testing::Values(Function{"relu", [](double x) { return x > 0 ? x : 0.0; }},
                      Function{"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }},
                      Function{"sigmoid", [](double x) { return 0.5 * (1 + std::tanh(x / 2)); }},
                      Function{"tanh", [](double x) { return (std::exp(2 * x) - 1) / (std::exp(2 * x) + 1); }},
                      Function{"hardswish", [](double x) { return x <= -3  ? 0.0
                                                                  : x >= 3 ? x
                                                                           : x * (x + 3) / 6; }},
                      Function{"abs", [](double x) { return x < 0 ? -x : x; }},
                      Function{"exp", [](double x) { return std::pow(std::numbers::e, x); }},
                      Function{"neg", [](double x) { return 0.0 - x; }},
                      Function{"sin", [](double x) { return std::cos(std::numbers::pi / 2 * (x - 1)); }},
                      Function{"sqrt", [](double x) { return std::pow(std::abs(x) + 0.001, 0.5); }},
                      Function{"square", [](double x) { return std::pow(x, 2); }}),
    [](const auto& function) { return std::string(function.param.name); });

}  // namespace
}  // namespace kasimir
