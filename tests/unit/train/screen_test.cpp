// SPDX-License-Identifier: Apache-2.0
#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/train/screen.h"

#include <gmock/gmock.h>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;
using ::testing::MatchesRegex;

class Screen : public OnFashion {
 protected:
  ScreenResult run(std::string_view kernel, const ScreenOptions& options = {}) {
    return screen(plan_with(network_, kernel), select_images(data_.train, first(32)), options);
  }
  static ScreenOptions patient() {
    ScreenOptions options;
    options.slowest = 1000;
    return options;
  }
  Network network_ = small_network();
};

TEST_F(Screen, PassesAConvolution) {
  const ScreenResult result = run(convolution_text, patient());
  EXPECT_TRUE(result.ok()) << result.rejected->str();
  EXPECT_EQ(result.signals.size(), find_sites(network_).size());
  for (const SiteSignal& signal : result.signals) {
    EXPECT_GT(signal.variance / signal.original_variance, 0.05) << signal.layer;
    EXPECT_LT(signal.variance / signal.original_variance, 20) << signal.layer;
  }
  EXPECT_GT(result.seconds_per_image, 0);
  EXPECT_GT(result.original_seconds_per_image, 0);
  EXPECT_GT(result.step_bytes, 32 * 28 * 28 * 16 * 4);  // one layer's result at least
}

TEST_F(Screen, RefusesASignalThatVanishes) {
  const ScreenResult result =
      run("kernel k\n  a = conv(x, to=Co, stride=yes)\n  b = broadcast(a, a, op=sub)\nreturn b\n");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.rejected->rule, "screen: the signal's variance is kept");
  EXPECT_THAT(result.rejected->with, MatchesRegex(".* has 0 times the original's, allowed is 0.001 to 1000"));
}

TEST_F(Screen, RefusesAnOutputThatIsNotFinite) {
  const ScreenResult result =
      run("kernel k\n  a = conv(x, to=Co, stride=yes)\n  b = exp(a)\n  c = exp(b)\n  d = exp(c)\nreturn d\n");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.rejected->str(), "screen: the output is finite (some class score is not)");
}

TEST_F(Screen, RefusesAWeightWithoutGradient) {
  // A sum of softmaxes over what they sum over is 1: what lies before has no effect.
  const ScreenResult result =
      run("kernel k\n  a = conv(x, to=Co, stride=yes)\n  b = conv(x, to=Co, stride=yes)\n  c = relu(b)\n  d = neg(c)\n "
          " e = relu(d)\n"
          "  f = broadcast(e, a)\nreturn f\n");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.rejected->rule, "screen: every weight has a gradient");
  EXPECT_THAT(result.rejected->with, MatchesRegex(".*\\.w1 has none"));
}

TEST_F(Screen, RefusesWhatIsTooSlow) {
  ScreenOptions options;
  options.slowest = 1e-3;
  const ScreenResult result = run(convolution_text, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.rejected->rule, "screen: a training step is not too slow");
  EXPECT_THAT(result.rejected->with, MatchesRegex("it takes [0-9.]+ times the original's, allowed is 0.001"));
}

TEST_F(Screen, RefusesWhatTakesTooMuchMemory) {
  ScreenOptions options = patient();
  options.memory_limit = 1'000'000;
  const ScreenResult result = run(convolution_text, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.rejected->rule, "screen: memory");
  EXPECT_THAT(result.rejected->with, MatchesRegex("[0-9.]+MB of tensors, 1MB allowed"));
}

TEST_F(Screen, NeedsTwoImages) {
  EXPECT_EQ(
      thrown_by([&] { return screen(plan_with(network_, convolution_text), select_images(data_.train, first(1))); }),
      "2: screen: 1 images, at least 2 are needed");
}

}  // namespace
}  // namespace kasimir
