// SPDX-License-Identifier: Apache-2.0
#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/train/native_latency.h"

#include <gmock/gmock.h>

namespace kasimir {
namespace {

using ::testing::HasSubstr;

NativeOptions quick_to_compile() {
  NativeOptions options;
  options.flags = {"-std=gnu11", "-O1", "-march=native"};
  return options;
}

LatencyOptions short_run() {
  LatencyOptions options;
  options.batch = 2;
  options.repeats = 5;
  options.min_seconds = 0;
  return options;
}

TEST(NativeLatency, SamplesBothNetworksAfterComparingThemWithTheInterpreterAndAten) {
  const Network network = small_network(0.5);
  const NetworkPlan original{&network, {}};
  NativeBench bench(original, 2, quick_to_compile());
  const auto samples = bench.measure(plan_with(network, grouped_text), short_run());
  ASSERT_TRUE(samples.ok()) << samples.rejection().str();
  EXPECT_GE(samples->candidate_ms.size(), 5U);
  EXPECT_EQ(samples->original_ms.size(), samples->candidate_ms.size());
  EXPECT_GT(samples->candidate.median, 0);
  EXPECT_DOUBLE_EQ(samples->speedup, samples->original.median / samples->candidate.median);
  // The kernel at each kind of site against the interpreter, then the C of the network against ATen.
  ASSERT_GT(samples->checks.size(), 1U);
  for (const VerifyResult& check : samples->checks) {
    EXPECT_TRUE(check.ok);
    EXPECT_LT(check.error, 1e-4);
    EXPECT_GT(check.error, 0);  // another order of the sums
  }
  EXPECT_THAT(samples->machine, HasSubstr("; cc "));
}

TEST(NativeLatency, TakesNoTimeOfWhatDoesNotAgree) {
  const Network network = small_network(0.5);
  const NetworkPlan original{&network, {}};
  NativeBench bench(original, 2, quick_to_compile());
  LatencyOptions options = short_run();
  options.verify.bound = 0;
  const auto samples = bench.measure(original, options);
  ASSERT_FALSE(samples.ok());
  EXPECT_EQ(samples.rejection().rule, "latency: the kernel computes what it means");
  EXPECT_THAT(samples.rejection().with, HasSubstr("generated C of network"));
}

TEST(NativeLatency, RecordsACompilerThatFails) {
  const Network network = small_network(0.5);
  const NetworkPlan original{&network, {}};
  NativeOptions native = quick_to_compile();
  native.flags.emplace_back("-no-such-flag");
  NativeBench bench(original, 2, native);
  const auto samples = bench.measure(original, short_run());
  ASSERT_FALSE(samples.ok());
  EXPECT_EQ(samples.rejection().rule, "native: the C compiles");
  EXPECT_THAT(samples.rejection().with, HasSubstr("-no-such-flag"));
}

TEST(NativeLatency, NamesOptionsOutOfRange) {
  const Network network = small_network(0.5);
  const NetworkPlan original{&network, {}};
  NativeBench bench(original, 2);
  LatencyOptions options = short_run();
  options.threads = 0;
  EXPECT_EQ(testing::thrown_by([&] { return bench.measure(original, options); }),
            "2: native latency: batch 2, 0 threads, 5 repeats: needed batch 2, at least 1 and 1");
}

}  // namespace
}  // namespace kasimir
