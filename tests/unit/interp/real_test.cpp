// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/real.h"

#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"
#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Row {
  Fn fn;
  double at;
  double value;
  double slope;
};

void PrintTo(const Row& row, std::ostream* out) { *out << fn_info(row.fn).name << " at " << row.at; }

const double e = std::numbers::e;
const Row rows[] = {
    {Fn::neg, 2, -2, -1},
    {Fn::abs, -2, 2, -1},
    {Fn::abs, 2, 2, 1},
    {Fn::abs, 0, 0, 0},
    {Fn::relu, -1, 0, 0},
    {Fn::relu, 0, 0, 0},
    {Fn::relu, 3, 3, 1},
    {Fn::exp, 0, 1, 1},
    {Fn::exp, 1, e, e},
    {Fn::exp, 1000, infinity, infinity},
    {Fn::sqrt, 4, 2, 0.25},
    {Fn::rsqrt, 4, 0.5, -1.0 / 16},
    {Fn::sin, 0, 0, 1},
    {Fn::sin, std::numbers::pi / 2, 1, 0},
    {Fn::tanh, 0, 0, 1},
    {Fn::tanh, 40, 1, 0},
    {Fn::sigmoid, 0, 0.5, 0.25},
    {Fn::sigmoid, -800, 0, 0},
    {Fn::sigmoid, 800, 1, 0},
    {Fn::gelu, 0, 0, 0.5},
    {Fn::gelu, 1, 0.8413447460685429, 1.0833154705876864},
    {Fn::gelu, -40, 0, 0},
    {Fn::hardswish, -4, 0, 0},
    {Fn::hardswish, -3, 0, 0},
    {Fn::hardswish, 0, 0, 0.5},
    {Fn::hardswish, 1, 2.0 / 3, 5.0 / 6},
    {Fn::hardswish, 3, 3, 1},
    {Fn::hardswish, 5, 5, 1},
};

class FunctionRow : public ::testing::TestWithParam<Row> {};

TEST_P(FunctionRow, HasItsValueAndSlope) {
  const auto close = [](double found, double wanted) {
    return found == wanted || std::abs(found - wanted) <= 1e-15 * (1 + std::abs(wanted));
  };
  const Row& row = GetParam();
  const Dual y = DualDomain::apply(row.fn, {row.at, 1.0});
  EXPECT_TRUE(close(y.value, row.value)) << y.value;
  EXPECT_TRUE(close(y.slope, row.slope)) << y.slope;
  EXPECT_EQ(RealDomain::apply(row.fn, row.at), y.value);
}

INSTANTIATE_TEST_SUITE_P(Table, FunctionRow, ::testing::ValuesIn(rows));

struct PairRow {
  Fn fn;
  Dual a;
  Dual b;
  Dual y;
};

void PrintTo(const PairRow& row, std::ostream* out) {
  *out << fn_info(row.fn).name << " of " << row.a.value << " and " << row.b.value;
}

const PairRow pair_rows[] = {
    {Fn::add, {3, 1}, {5, 10}, {8, 11}},  {Fn::sub, {3, 1}, {5, 10}, {-2, -9}},
    {Fn::mul, {3, 1}, {5, 10}, {15, 35}}, {Fn::div, {3, 1}, {4, 8}, {0.75, -1.25}},
    {Fn::join, {0, 0}, {5, 10}, {5, 10}}, {Fn::max, {3, 1}, {5, 10}, {5, 10}},
    {Fn::max, {5, 1}, {3, 10}, {5, 1}},   {Fn::max, {5, 1}, {5, 10}, {5, 5.5}},
    {Fn::min, {3, 1}, {5, 10}, {3, 1}},   {Fn::min, {5, 1}, {3, 10}, {3, 10}},
    {Fn::min, {5, 1}, {5, 10}, {5, 5.5}}, {Fn::max, {0, 0}, {-0.0, 4}, {0, 2}},
};

class FunctionPair : public ::testing::TestWithParam<PairRow> {};

TEST_P(FunctionPair, HasItsValueAndSlope) {
  const PairRow& row = GetParam();
  const Dual y = DualDomain::apply(row.fn, row.a, row.b);
  EXPECT_EQ(y.value, row.y.value);
  EXPECT_EQ(y.slope, row.y.slope);
  EXPECT_EQ(RealDomain::apply(row.fn, row.a.value, row.b.value), row.y.value);
}

INSTANTIATE_TEST_SUITE_P(Table, FunctionPair, ::testing::ValuesIn(pair_rows));

/// A constant has slope 0 also where the function's own slope is infinite.
TEST(Duals, OfAConstantHaveSlopeZero) {
  EXPECT_EQ(DualDomain::apply(Fn::sqrt, {0.0, 0.0}).slope, 0.0);
  EXPECT_EQ(DualDomain::apply(Fn::exp, {1000.0, 0.0}).slope, 0.0);
}

TEST(Duals, SplitTheSlopeOfAMaximumEvenlyAmongAllTies) {
  const Dual y = DualDomain::largest({{2, 100}, {7, 1}, {7, 2}, {3, 100}, {7, 6}});
  EXPECT_EQ(y.value, 7.0);
  EXPECT_EQ(y.slope, 3.0);
}

TEST(Duals, ScaleBothParts) {
  const Dual y = DualDomain::scale({6, 3}, Rational(1, 4), true);
  EXPECT_EQ(y.value, 3.0);
  EXPECT_EQ(y.slope, 1.5);
  EXPECT_EQ(RealDomain::scale(6, Rational(1, 4), false), 1.5);
}

TEST(Constants, AreExactOrMultiplesOfHalfPi) {
  EXPECT_EQ(RealDomain::constant({Rational(1, 4), false}), 0.25);
  EXPECT_EQ(RealDomain::constant({Rational(2), true}), std::numbers::pi);
  EXPECT_EQ(DualDomain::constant({Rational(2), false}).slope, 0.0);
}

TEST(Domains, RefuseAFunctionWithTheWrongNumberOfArguments) {
  EXPECT_THAT(testing::thrown_by([] { return RealDomain::apply(Fn::add, 1.0); }),
              ::testing::HasSubstr("70: internal error: + takes two arguments"));
  EXPECT_THAT(testing::thrown_by([] { return RealDomain::apply(Fn::relu, 1.0, 2.0); }),
              ::testing::HasSubstr("70: internal error: relu takes one argument"));
}

double variance(const std::vector<double>& values, double mean) {
  double sum = 0.0;
  for (double v : values) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(values.size());
}

TEST(RandomValues, FollowTheRoles) {
  const Kernel kernel = parse_kernel("kernel k\n  a = conv(x, to=Co)\n  b = norm(a)\nreturn b\n", catalog());
  const BoundGraph graph = lower_at(kernel, {16, 64, 8, 8, 1}, 2).value();
  Rng rng(3);
  const TensorValues<double> values = random_values(graph, rng);
  ASSERT_EQ(values.size(), graph.tensors.size());
  int weights = 0;
  for (std::size_t t = 0; t < values.size(); ++t) {
    const BoundTensor& tensor = graph.tensors[t];
    if (tensor.role == Role::between) {
      EXPECT_TRUE(values[t].empty()) << tensor.name;
      continue;
    }
    ASSERT_EQ(values[t].size(), static_cast<std::size_t>(elements(tensor)));
    if (tensor.role == Role::input) {
      EXPECT_NEAR(variance(values[t], 0.0), 1.0, 0.1);
    }
    if (tensor.role != Role::weight) continue;
    ++weights;
    if (tensor.weight_role == WeightRole::linear) {
      EXPECT_NEAR(variance(values[t], 0.0) * 144, 1.0, 0.1);
    } else {
      EXPECT_NEAR(variance(values[t], tensor.weight_role == WeightRole::scale ? 1.0 : 0.0), 0.01, 0.008);
    }
  }
  EXPECT_EQ(weights, 3);
  Rng again(3);
  EXPECT_EQ(random_values(graph, again), values);
}

TEST(RandomValues, LeaveStoredStatisticsToTheCaller) {
  const Kernel kernel = parse_kernel("kernel k\n  a = norm(x)\nreturn a\n", catalog());
  const BoundGraph graph = freeze(lower_at(kernel, {4, 4, 2, 2, 1}, 2).value());
  Rng rng(3);
  const TensorValues<double> values = random_values(graph, rng);
  for (std::size_t t = 0; t < values.size(); ++t)
    if (graph.tensors[t].role == Role::stat) {
      EXPECT_TRUE(values[t].empty());
    }
}

}  // namespace
}  // namespace kasimir
