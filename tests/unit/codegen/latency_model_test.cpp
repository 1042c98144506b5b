// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/latency_model.h"

#include "kasimir/base/rng.h"
#include "kasimir/codegen/machine_peak.h"
#include "kasimir/codegen/native.h"
#include "kasimir/network/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

double of(const WorkCounts& counts, Work kind) { return counts[static_cast<std::size_t>(kind)]; }

WorkCounts zoo_work(const std::string& name, std::int64_t batch, const CTarget& target = {}) {
  const Network network = zoo_network(name);
  return count_work({&network, {}}, batch, target).value();
}

TEST(Work, CountsVectorsOfProductsExactly) {
  NetworkBuilder net("tiny", {8, 6, 5});
  // 1 x 1, so that no transform comes into question: 6 * 5 places, 8 inputs, 40 outputs in two vectors of 16 and a
  // half; the 3 outputs of the last layer take a half.
  const int conv = net.add("conv", layer::Conv{.out = 40}, {0});
  net.add("out", layer::Linear{.out = 3}, {net.add("pool", layer::GlobalAvgPool{}, {conv})});
  const Network network = std::move(net).finish();
  const WorkCounts counts = count_work({&network, {}}, 2, {16, 32}).value();
  EXPECT_EQ(of(counts, Work::products), 2 * (6 * 5 * 8 * 2.5 + 40 * 0.5));
  EXPECT_EQ(of(counts, Work::winograd_products), 0);
  EXPECT_EQ(of(counts, Work::gathers), 0);
}

TEST(Work, NarrowerVectorsAreMore) {
  const WorkCounts wide = zoo_work("resnet8", 1, {16, 32});
  const WorkCounts narrow = zoo_work("resnet8", 1, {8, 16});
  for (Work kind : {Work::winograd_products, Work::results, Work::operations})
    EXPECT_GT(of(narrow, kind), of(wide, kind)) << work_name(kind);
}

TEST(Work, GrowsWithTheBatch) {
  const WorkCounts one = zoo_work("resnet20", 1);
  const WorkCounts four = zoo_work("resnet20", 4);
  // Whatever computes a result, it is computed once for each image; weights are read less often.
  EXPECT_EQ(of(four, Work::results), 4 * of(one, Work::results));
  EXPECT_GT(of(four, Work::floats), of(one, Work::floats));
  EXPECT_LT(of(four, Work::floats), 4 * of(one, Work::floats));
}

TEST(Work, HasANameForEachKind) {
  std::vector<std::string_view> names;
  for (std::size_t k = 0; k < work_kinds; ++k) names.push_back(work_name(static_cast<Work>(k)));
  std::ranges::sort(names);
  EXPECT_FALSE(names.front().empty());
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

/// Programs with random counts, and times by `model` that are off by up to `noise`.
std::vector<TimedWork> samples_of(const LatencyModel& model, std::uint64_t seed, double noise) {
  Rng rng(seed);
  std::vector<TimedWork> samples(200);
  for (TimedWork& sample : samples) {
    for (double& count : sample.counts) count = rng.unit() < 0.3 ? 0 : 1e5 * rng.unit();
    sample.counts.back() = 1 + static_cast<double>(rng.below(9));
    sample.seconds = model.predict(sample.counts) * (1 + noise * (2 * rng.unit() - 1));
  }
  return samples;
}

TEST(LatencyModel, FindsTheRatesThatTimesWereMadeOf) {
  LatencyModel made;
  for (std::size_t k = 0; k < work_kinds; ++k) made.seconds_per[k] = 1e-10 * static_cast<double>(k + 1);
  made.seconds_per[3] = 0;  // costs nothing
  const LatencyModel found = fit_latency_model(samples_of(made, 20, 0));
  for (std::size_t k = 0; k < work_kinds; ++k)
    EXPECT_NEAR(found.seconds_per[k], made.seconds_per[k], 1e-14) << work_name(static_cast<Work>(k));
}

TEST(LatencyModel, NoRateIsNegativeWhateverTheTimes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LatencyModel made;
    made.seconds_per[0] = 1e-9;
    made.seconds_per.back() = 1e-8;
    const LatencyModel found = fit_latency_model(samples_of(made, seed, 0.5));
    for (double rate : found.seconds_per) EXPECT_GE(rate, 0) << "seed " << seed;
    EXPECT_GT(found.seconds_per[0], 0) << "seed " << seed;
  }
}

TEST(LatencyModel, TheReferenceTellsAFastNetworkFromASlowOne) {
  const LatencyModel model = reference_latency_model();
  EXPECT_TRUE(std::ranges::all_of(model.seconds_per, [](double rate) { return rate >= 0; }));
  EXPECT_LT(model.predict(zoo_work("resnet8", 8)), model.predict(zoo_work("resnet20", 8)));
  EXPECT_LT(model.predict(zoo_work("resnet20", 1)), model.predict(zoo_work("resnet20", 8)));
}

TEST(MachinePeak, TellsTheBandwidthOfTheNextLargerArray) {
  MachinePeak peak;
  peak.bandwidth = {{1 << 15, 200e9}, {1 << 17, 100e9}};
  EXPECT_EQ(peak.bandwidth_of(1), 200e9);
  EXPECT_EQ(peak.bandwidth_of(1 << 15), 200e9);
  EXPECT_EQ(peak.bandwidth_of((1 << 15) + 1), 100e9);
  EXPECT_EQ(peak.bandwidth_of(1 << 30), 100e9);
}

TEST(MachinePeak, IsMeasuredByAProgram) {
  const auto peak = measure_peak(host_target());
  ASSERT_TRUE(peak.ok()) << peak.rejection().str();
  EXPECT_EQ(peak->lanes, host_target().lanes);
  EXPECT_GT(peak->vector_operations, 0);
  EXPECT_DOUBLE_EQ(peak->gflops(), 2e-9 * peak->lanes * peak->vector_operations);
  ASSERT_GE(peak->bandwidth.size(), 3U);
  for (std::size_t i = 0; i < peak->bandwidth.size(); ++i) {
    EXPECT_GT(peak->bandwidth[i].second, 0);
    EXPECT_GT(peak->bandwidth[i].first, i > 0 ? peak->bandwidth[i - 1].first : 0);
  }
}

}  // namespace
}  // namespace kasimir
