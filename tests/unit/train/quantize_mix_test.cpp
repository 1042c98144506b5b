// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/quantize_mix.h"

#include "kasimir/base/rng.h"
#include "kasimir/number/straight_through.h"

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>

namespace kasimir {
namespace {

const std::vector<IntegerFormat> formats{{2, true, true}, {4, false, false}, {8, true, false}};

at::Tensor random(const std::vector<std::int64_t>& shape, Rng& rng, double spread) {
  at::Tensor x = at::empty(shape, at::kFloat);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = static_cast<float>(spread * rng.normal());
  return x;
}

/// What number/straight_through.h says of the same values: the sums of all gradients.
struct Expected {
  std::vector<double> values, by_value;
  std::vector<double> by_step{0, 0, 0}, by_mix{0, 0, 0};
};

Expected expected(const at::Tensor& x, const std::vector<double>& steps, const std::vector<double>& mix,
                  const at::Tensor& cotangent) {
  std::vector<MixturePart> parts;
  for (std::size_t j = 0; j < formats.size(); ++j) parts.push_back({formats[j], steps[j], mix[j]});
  Expected all;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double value = x.data_ptr<float>()[i];
    const double g = cotangent.data_ptr<float>()[i];
    all.values.push_back(quantize_and_mix(value, parts));
    const MixtureGradients gradients = mixture_gradients(value, parts);
    all.by_value.push_back(g * gradients.by_value);
    for (std::size_t j = 0; j < parts.size(); ++j) {
      all.by_step[j] += g * gradients.by_step[j];
      all.by_mix[j] += g * gradients.by_weight[j];
    }
  }
  return all;
}

/// Values away from ties and from the ends of the ranges, where single and double precision may decide differently.
void keep_clear(at::Tensor& x, const std::vector<double>& steps) {
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    float& v = x.data_ptr<float>()[i];
    for (bool clear = false; !clear;) {
      clear = true;
      for (const double step : steps) {
        const double at = v / step * 2;
        if (std::abs(at - std::round(at)) < 1e-3) clear = false;
      }
      if (!clear) v += 0.0137F;
    }
  }
}

class QuantizeAndMix : public ::testing::TestWithParam<std::vector<double>> {};

TEST_P(QuantizeAndMix, IsWhatThePlainFunctionsSay) {
  constexpr std::uint64_t seed = 7;
  RecordProperty("seed", static_cast<int>(seed));
  Rng rng(seed);
  const std::vector<double> steps{0.7, 0.21, 0.013};
  const std::vector<double>& mix = GetParam();
  // 3 * 5 * 7 * 11: no multiple of a vector's length.
  at::Tensor x = random({3, 5, 7, 11}, rng, 1.0);
  keep_clear(x, steps);
  const at::Tensor cotangent = random({3, 5, 7, 11}, rng, 1.0);
  const Expected wanted = expected(x, steps, mix, cotangent);

  at::Tensor learned = x.clone().requires_grad_(true);
  std::vector<at::Tensor> log_steps;
  for (const double step : steps) log_steps.push_back(at::full({1}, std::log(step), at::kFloat).requires_grad_(true));
  at::Tensor weights = at::empty({3}, at::kFloat);
  for (int j = 0; j < 3; ++j) weights.data_ptr<float>()[j] = static_cast<float>(mix[static_cast<std::size_t>(j)]);
  weights.requires_grad_(true);
  const at::Tensor y = quantize_and_mix(learned, log_steps, weights, formats, true);
  y.backward(cotangent);

  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_NEAR(y.data_ptr<float>()[i], wanted.values[at], 1e-5);
    EXPECT_NEAR(learned.grad().contiguous().data_ptr<float>()[i], wanted.by_value[at], 1e-5);
  }
  for (std::size_t j = 0; j < formats.size(); ++j) {
    // By the logarithm: times the step. The values of an image share the step: 5 * 7 * 11.
    const double scale = steps[j] * learned_step_gradient_scale(385, formats[j]);
    EXPECT_NEAR(log_steps[j].grad().item<double>(), wanted.by_step[j] * scale,
                1e-4 * (1 + std::abs(wanted.by_step[j])) * scale)
        << "format " << j;
    EXPECT_NEAR(weights.grad()[static_cast<std::int64_t>(j)].item<double>(), wanted.by_mix[j],
                1e-4 * (1 + std::abs(wanted.by_mix[j])))
        << "format " << j;
  }
}

INSTANTIATE_TEST_SUITE_P(Mixtures, QuantizeAndMix,
                         ::testing::Values(std::vector<double>{0.2, 0.5, 0.3}, std::vector<double>{0, 1, 0},
                                           std::vector<double>{0, 0.25, 0.75}));

TEST(QuantizeAndMixForms, OneStepOrEqualStepsPerChannelOrDoublePrecisionAreTheSame) {
  Rng rng(3);
  const at::Tensor x = random({4, 6, 5, 5}, rng, 0.5);
  const auto result = [&](const at::Tensor& input, const std::vector<std::int64_t>& shape, at::Tensor& by_value) {
    at::Tensor learned = input.clone().requires_grad_(true);
    const at::Tensor steps = at::full(shape, std::log(0.25), input.options());
    const at::Tensor y = quantize_and_mix(learned, {steps}, {}, {{4, true, true}}, false);
    at::sum(y * y).backward();
    by_value = learned.grad().to(at::kFloat).contiguous();
    return y.detach().to(at::kFloat).contiguous();
  };
  at::Tensor gradient, other;
  const at::Tensor flat = result(x, {1}, gradient);
  // A power of two as a step: all forms are exact.
  EXPECT_TRUE(flat.equal(result(x, {4, 1, 1, 1}, other)));
  EXPECT_TRUE(gradient.equal(other));
  EXPECT_TRUE(flat.equal(result(x.to(at::kDouble), {1}, other)));
  EXPECT_TRUE(gradient.equal(other));
  EXPECT_TRUE(flat.equal(result(x.contiguous(at::MemoryFormat::ChannelsLast), {1}, other)));
  EXPECT_TRUE(gradient.equal(other));
  // Not dense: every other row of a larger tensor.
  const at::Tensor wide = at::cat({x, x}, 3).narrow(3, 0, 5);
  EXPECT_TRUE(flat.equal(result(wide, {1}, other)));
}

TEST(QuantizeAndMixForms, KeepsWhatIsNoNumber) {
  at::Tensor x = at::zeros({32}, at::kFloat);
  x.data_ptr<float>()[3] = std::nanf("");
  x.data_ptr<float>()[4] = INFINITY;
  const at::Tensor y = quantize_and_mix(x, {at::zeros({1}, at::kFloat)}, {}, {{4, true, true}}, false);
  EXPECT_TRUE(std::isnan(y.data_ptr<float>()[3]));
  EXPECT_EQ(y.data_ptr<float>()[4], 7.0F);
  EXPECT_EQ(y.data_ptr<float>()[5], 0.0F);
}

}  // namespace
}  // namespace kasimir
