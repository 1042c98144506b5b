// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/gaussian_process.h"

#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <vector>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 5;
using Rows = std::vector<std::vector<double>>;

Rows random_rows(Rng& rng, std::size_t count, std::size_t features) {
  Rows rows(count, std::vector<double>(features));
  for (auto& row : rows)
    for (double& value : row) value = 2 * rng.unit() - 1;
  return rows;
}

std::vector<double> values_of(const Rows& rows, const std::function<double(const std::vector<double>&)>& f) {
  std::vector<double> values;
  for (const auto& row : rows) values.push_back(f(row));
  return values;
}

/// Of what the values vary, the share that is not predicted.
double unexplained(const GaussianProcess& process, const Rows& rows, const std::vector<double>& values) {
  const auto expected = process.predict(rows);
  double mean = 0, error = 0, spread = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += (expected[i].mean - values[i]) * (expected[i].mean - values[i]);
    spread += (values[i] - mean) * (values[i] - mean);
  }
  return error / spread;
}

TEST(GaussianProcess, FindsASmoothFunction) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 0);
  const auto f = [](const std::vector<double>& x) { return std::sin(2 * x[0]) + x[1] * x[1] + 10; };
  const Rows seen = random_rows(rng, 120, 2), unseen = random_rows(rng, 200, 2);
  const GaussianProcess process(seen, values_of(seen, f));
  EXPECT_LT(unexplained(process, unseen, values_of(unseen, f)), 0.01);
  EXPECT_LE(process.noise(), 0.05);
}

TEST(GaussianProcess, GoesOnAlongALine) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 1);
  const auto f = [](const std::vector<double>& x) { return 3 * x[0] - x[1] + 1; };
  const Rows seen = random_rows(rng, 40, 3);
  const GaussianProcess process(seen, values_of(seen, f));
  const Rows away{{1.7, 0, 0}, {0, -1.7, 0}};  // 2.9 deviations of what was seen
  EXPECT_LT(unexplained(process, away, values_of(away, f)), 0.02);
}

TEST(GaussianProcess, TellsNoiseFromTheFunction) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 2);
  const auto f = [](const std::vector<double>& x) { return x[0]; };
  const Rows seen = random_rows(rng, 300, 2);
  std::vector<double> values = values_of(seen, f);
  for (double& value : values) value += 2 * rng.unit() - 1;  // as much as the function varies itself
  const GaussianProcess process(seen, values);
  EXPECT_GT(process.noise(), 0.2);
  const Rows unseen = random_rows(rng, 200, 2);
  EXPECT_LT(unexplained(process, unseen, values_of(unseen, f)), 0.1);
}

/// Two features that matter, in a group of their own, are not lost among many that do not.
TEST(GaussianProcess, LearnsWhichGroupMatters) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 4);
  const auto f = [](const std::vector<double>& x) { return std::sin(3 * x[40]) * x[41]; };
  const Rows seen = random_rows(rng, 100, 42), unseen = random_rows(rng, 200, 42);
  const std::vector<double> values = values_of(seen, f), wanted = values_of(unseen, f);
  const double together = unexplained(GaussianProcess(seen, values), unseen, wanted);
  const double apart = unexplained(GaussianProcess(seen, values, {40, 2}), unseen, wanted);
  std::cout << "unexplained: " << together << " as one group, " << apart << " as two\n";
  EXPECT_LT(apart, 0.5);
  EXPECT_LT(apart, 0.7 * together);
}

TEST(GaussianProcess, DoubtsWhatIsFarAway) {
  const Rows seen{{0.0}, {0.1}, {0.2}, {0.3}, {0.4}, {0.5}};
  const GaussianProcess process(seen, values_of(seen, [](const auto& x) { return std::sin(9 * x[0]); }));
  const auto expected = process.predict({{0.25}, {3.0}});
  EXPECT_LT(expected[0].deviation, expected[1].deviation / 3);
}

TEST(GaussianProcess, TakesConstantFeaturesEqualRowsAndConstantValues) {
  const Rows seen{{1, 7}, {1, 7}, {2, 7}, {3, 7}};
  for (const std::vector<double>& values : {std::vector<double>{4, 4, 4, 4}, std::vector<double>{1, 2, 3, 4}})
    for (const Expected& expected : GaussianProcess(seen, values).predict({{1, 7}, {2.5, 8}})) {
      EXPECT_TRUE(std::isfinite(expected.mean) && expected.deviation >= 0);
      if (values[0] == values[1]) {
        EXPECT_NEAR(expected.mean, 4, 1e-6);
      }
    }
}

TEST(GaussianProcess, IsAFunctionOfItsRows) {
  Rng rng(seed, 3);
  const Rows seen = random_rows(rng, 30, 4), unseen = random_rows(rng, 10, 4);
  const std::vector<double> values = values_of(seen, [](const auto& x) { return x[0] * x[1]; });
  const auto one = GaussianProcess(seen, values).predict(unseen), two = GaussianProcess(seen, values).predict(unseen);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].mean, two[i].mean);
    EXPECT_EQ(one[i].deviation, two[i].deviation);
  }
}

}  // namespace
}  // namespace kasimir
