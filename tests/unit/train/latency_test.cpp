// SPDX-License-Identifier: Apache-2.0
#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/train/latency.h"
#include "kasimir/train/machine.h"

#include <gmock/gmock.h>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;

LatencyOptions short_run() {
  LatencyOptions options;
  options.repeats = 5;
  options.min_seconds = 0;
  return options;
}

TEST(Latency, SamplesBothNetworksInTurn) {
  const Network network = small_network(0.5);
  const auto samples = measure_latency(plan_with(network, grouped_text), {&network, {}}, short_run());
  ASSERT_TRUE(samples.ok());
  EXPECT_EQ(samples->candidate_ms.size(), 5U);
  EXPECT_EQ(samples->original_ms.size(), 5U);
  EXPECT_GT(samples->candidate.median, 0);
  EXPECT_LE(samples->candidate.low, samples->candidate.high);
  EXPECT_DOUBLE_EQ(samples->speedup, samples->original.median / samples->candidate.median);
  EXPECT_EQ(samples->checks.size(), distinct_sites(find_sites(network)).size());
  for (const VerifyResult& check : samples->checks) EXPECT_TRUE(check.ok) << check.site.str();
  EXPECT_THAT(samples->machine, ::testing::HasSubstr("1 thread, "));
}

TEST(Latency, TakesNoTimeOfAKernelThatIsNotVerified) {
  const Network network = small_network(0.5);
  LatencyOptions options = short_run();
  options.verify.bound = 0;
  options.verify.rounding = 0;
  const auto samples = measure_latency(plan_with(network, grouped_text), {&network, {}}, options);
  ASSERT_FALSE(samples.ok());
  EXPECT_EQ(samples.rejection().rule, "latency: the kernel computes what it means");
  EXPECT_THAT(samples.rejection().with,
              ::testing::MatchesRegex("grouped at .* is off by [0-9.e-]+ of its largest value"));
}

TEST(Latency, NamesOptionsOutOfRange) {
  const Network network = small_network(0.5);
  LatencyOptions options;
  options.batch = 0;
  EXPECT_EQ(thrown_by([&] { return measure_latency({&network, {}}, {&network, {}}, options); }),
            "2: latency: batch 0, 30 repeats, 3 to warm up: at least 1, 1 and 0 are needed");
  EXPECT_EQ(thrown_by([] {
              set_threads(0);
              return 0;
            }),
            "2: 0 threads: at least 1 is needed");
}

TEST(Verify, ComparesFloatWithTheInterpreter) {
  const Kernel kernel =
      parse_kernel("kernel k\n  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\n  c = gelu(b)\nreturn c\n", catalog());
  const Site site{8, 16, 8, 8, 2};
  const VerifyResult result = verify_kernel(kernel, site);
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.site, site);
  EXPECT_EQ(result.checked_at, site);
  EXPECT_GT(result.error, 0);
  EXPECT_LT(result.error, 1e-5);
}

TEST(Verify, MakesTheMapSmallerWhereItWouldTakeTooLong) {
  const Kernel kernel = parse_kernel(convolution_text, catalog());
  VerifyOptions options;
  options.work = 100'000;
  const VerifyResult result = verify_kernel(kernel, {8, 16, 32, 32, 2}, options);
  EXPECT_TRUE(result.ok);
  // 16 * 4 * 4 * 8 * 9 points of 3 nodes
  EXPECT_EQ(result.checked_at, (Site{8, 16, 4, 4, 2}));
}

TEST(Quartiles, LieBetweenTheSamples) {
  const Quartiles q = quartiles({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(q.low, 1.75);
  EXPECT_DOUBLE_EQ(q.median, 2.5);
  EXPECT_DOUBLE_EQ(q.high, 3.25);
  EXPECT_DOUBLE_EQ(q.spread(), 0.6);
}

TEST(Machine, IsOneLine) {
  const Machine machine{"2.13.0", 2, "AVX512", "Some Processor"};
  EXPECT_EQ(machine.str(), "torch 2.13.0, 2 threads, AVX512, Some Processor");
  set_threads(1);
  EXPECT_EQ(describe_machine().threads, 1);
}

}  // namespace
}  // namespace kasimir
