// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/claim_check.h"

#include "kasimir/primitive/catalog.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <iostream>

namespace kasimir {
namespace {

using testing::conv_load;

constexpr std::uint64_t seed = 1;

std::vector<SiteLoad> equal_channels() {
  return {conv_load({64, 64, 56, 56, 1}, 4), conv_load({128, 128, 28, 28, 1}, 3), conv_load({256, 256, 14, 14, 1}, 3)};
}

Sampler sampler_for(std::vector<SiteLoad> sites, const std::string& budget, int least = 5, int most = 25) {
  SampleOptions options;
  options.budget = Budget::parse(budget);
  options.limits.min_primitives = least;
  options.limits.max_primitives = most;
  return {catalog(), std::move(sites), options, seed};
}

bool always(const ClaimCheck&) { return true; }

TEST(ClaimCheck, AgreesWithWhatIsSampled) {
  const std::vector<std::vector<SiteLoad>> sites{
      equal_channels(), testing::resnet8_loads(), {conv_load({12, 20, 9, 7, 1}), conv_load({24, 8, 5, 11, 2}, 2)}};
  for (std::size_t i = 0; i < sites.size(); ++i)
    for (const char* budget : {"macs=0.1..0.5,params=0.1..0.5", "macs=..1,params=..1,bytes=..12",
                               "macs=..300M,params=..2M", "macs=..8,params=..8"}) {
      const Sampler sampler = sampler_for(sites[i], budget, 2, 20);
      const ClaimCheck check = check_claims(sampler, rules_of(sampler), {0, 500, 2}, always);
      EXPECT_FALSE(check.against.has_value()) << check.against->str() << "\n" << check.kernel;
      EXPECT_EQ(check.agreed, 500U) << "sites " << i << ", " << budget;
    }
  std::cout << "seed " << seed << ": 12 times 500 kernels\n";
}

TEST(ClaimCheck, AgreesWithKernelsThatBlendChannelsOfEqualNumber) {
  // Ci = Co at every site: a concat of both was drawn and could not be lowered.
  const Kernel kernel = parse_kernel(
      "kernel k\n  a = relu(x)\n  b = linear(a, to=Co)\n  c = concat(a, b)\n  d = linear(c, to=Co)\nreturn d\n",
      catalog());
  const auto sites = equal_channels();
  EXPECT_EQ(disagreement({kernel, {}}, {.sites = sites, .budget = {{}, {}, {}}}), std::nullopt);
}

/// A kernel whose claim is right, with a free size.
struct Right {
  std::vector<SiteLoad> sites{conv_load({16, 16, 8, 8, 1}), conv_load({32, 32, 4, 4, 1}, 2)};
  KernelClaim claim;
  ClaimRules rules;

  Right() {
    claim.kernel = parse_kernel(
        "kernel k\ngiven g=4\n  a = linear(x, to=x0)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\n"
        "return c\nat Ci=16 Co=16 H=8 W=8: x0=8\nat Ci=32 Co=32 H=4 W=4: x0=16\n",
        catalog());
    claim.cost = {std::vector<double>{64.0 * (128 + 32), 16.0 * (512 + 128)}, std::vector<double>{128 + 32, 512 + 128},
                  std::vector<double>{4.0 * 64 * (8 + 8 + 16), 4.0 * 16 * (16 + 16 + 32)}};
    rules.sites = sites;
    rules.budget = {{}, {}, {}};
  }
  [[nodiscard]] std::string against() const {
    const auto reason = disagreement(claim, rules);
    return reason ? reason->str() : "";
  }
  void set_width(std::int64_t width) { claim.kernel.fits[1].second.set(Symbol::x0, width); }
};

TEST(ClaimCheck, AgreesWithCostsCountedByHand) { EXPECT_EQ(Right().against(), ""); }

TEST(ClaimCheck, CatchesASizeThatIsNotWhole) {
  Right right;
  right.set_width(18);
  EXPECT_EQ(right.against(), "every size is whole (x0/g at N=1 Ci=32 Co=32 H=4 W=4 s=1 g=4 x0=18)");
}

TEST(ClaimCheck, CatchesAChangedSizeByItsCost) {
  Right right;
  right.set_width(20);
  EXPECT_EQ(right.against(), "macs are those that are claimed (12800, 10240 are claimed at Ci=32 Co=32 H=4 W=4 s=1)");
}

TEST(ClaimCheck, CatchesAWrongCostOfEachKind) {
  for (const auto& [kind, text] : std::vector<std::pair<CostKind, std::string>>{
           {CostKind::macs, "macs are those that are claimed (10240, 10241 are claimed at Ci=16 Co=16 H=8 W=8 s=1)"},
           {CostKind::params, "params are those that are claimed (160, 161 are claimed at Ci=16 Co=16 H=8 W=8 s=1)"},
           {CostKind::bytes, "bytes are those that are claimed (8192, 8193 are claimed at Ci=16 Co=16 H=8 W=8 s=1)"}}) {
    Right right;
    right.claim.cost[static_cast<std::size_t>(kind)][0] += 1.0;
    EXPECT_EQ(right.against(), text);
  }
}

TEST(ClaimCheck, CatchesALimitThatIsExceededByOne) {
  Right right;
  right.rules.budget.params = {0.0, 160.0 / 2304.0, true};
  EXPECT_EQ(right.against(), "");
  right.rules.budget.params = {0.0, 159.0 / 2304.0, true};
  EXPECT_EQ(right.against(), "budget: params are at most the limit (160, the limit is 159 at Ci=16 Co=16 H=8 W=8 s=1)");
  right.rules.budget.params = {161.0 / 2304.0, 1.0, true};
  EXPECT_EQ(right.against(),
            "budget: params are at least the limit (160, the limit is 161 at Ci=16 Co=16 H=8 W=8 s=1)");
  right.rules.budget.params = {};
  right.rules.budget.macs = {0.0, 30719.0, false};
  EXPECT_EQ(right.against(), "budget: macs are at most the limit (30720, the limit is 30719 in all)");
}

TEST(ClaimCheck, CatchesATensorThatIsTooLarge) {
  Right right;
  right.rules.most_elements = 1024;
  EXPECT_EQ(right.against(), "");
  right.rules.most_elements = 1023;
  EXPECT_EQ(right.against(), "no tensor is too large (1024 elements at Ci=16 Co=16 H=8 W=8 s=1)");
}

TEST(ClaimCheck, CatchesASymbolWithoutAValue) {
  Right right;
  right.claim.kernel.fits.pop_back();
  EXPECT_EQ(right.against(), "every symbol has a value (x0)");
}

TEST(ClaimCheck, CatchesAResultOfAnotherShape) {
  Right right;
  right.claim.kernel = parse_kernel("kernel k\n  a = linear(x, to=2*Co)\nreturn a\n", catalog());
  EXPECT_EQ(right.against(), "the result has the axes c=Co, h=H, w=W (a = [c=2*Co, h=H*s, w=W*s])");
}

TEST(ClaimCheck, CatchesWeightsThatDependOnTheResolution) {
  Right right;
  right.claim.kernel =
      parse_kernel("kernel k\n  a = mix(x, over=h, to=(h=H))\n  b = linear(a, to=Co)\nreturn b\n", catalog());
  right.claim.cost = {};
  EXPECT_EQ(right.against(), "no weight depends on H or W (H of w0)");
  right.rules.weights_may_depend_on_resolution = true;
  EXPECT_EQ(right.against(), "");
}

TEST(ClaimCheck, CatchesEveryWidthThatIsChangedInASampledKernel) {
  const Sampler sampler = sampler_for(testing::resnet8_loads(), "macs=0.1..1,params=0.1..1,bytes=..20");
  SampleMemory memory(sampler);
  int changed = 0;
  for (std::uint64_t i = 0; changed < 1000; ++i) {
    if (sampler.draw(i, memory)) continue;
    KernelClaim claim = claim_of(sampler, memory);
    ASSERT_EQ(disagreement(claim, rules_of(sampler)), std::nullopt) << str(claim.kernel);
    for (auto& [site, values] : claim.kernel.fits)
      for (const Symbol symbol : claim.kernel.free_symbols()) {
        const std::int64_t value = values[symbol];
        for (const std::int64_t other : {value + 1, value + 8, 2 * value}) {
          values.set(symbol, other);
          EXPECT_NE(disagreement(claim, rules_of(sampler)), std::nullopt)
              << symbol_name(symbol) << " = " << other << " at " << site.str() << "\n"
              << str(claim.kernel);
          ++changed;
        }
        values.set(symbol, value);
      }
  }
  std::cout << "seed " << seed << ": " << changed << " widths changed\n";
}

TEST(ClaimCheck, EndsWithTheFirstDisagreementAndItsKernel) {
  const Sampler sampler = sampler_for(equal_channels(), "macs=0.1..0.5,params=0.1..0.5");
  ClaimRules rules = rules_of(sampler);
  rules.budget.macs.high = 0.45;
  const ClaimCheck one = check_claims(sampler, rules, {0, 300, 1}, always);
  const ClaimCheck two = check_claims(sampler, rules, {0, 300, 2}, always);
  ASSERT_TRUE(one.against.has_value());
  EXPECT_EQ(one.against->rule, "budget: macs are at most the limit");
  EXPECT_EQ(one.kernel, two.kernel);
  EXPECT_EQ(one.attempts, two.attempts);
  EXPECT_EQ(one.agreed, two.agreed);
  EXPECT_TRUE(one.kernel.starts_with("kernel k_")) << one.kernel;
}

TEST(ClaimCheck, GoesOnWhereItWasStopped) {
  const Sampler sampler = sampler_for(equal_channels(), "macs=0.1..0.5,params=0.1..0.5");
  const ClaimRules rules = rules_of(sampler);
  const ClaimCheck whole = check_claims(sampler, rules, {0, 900, 1}, always);
  const ClaimCheck part =
      check_claims(sampler, rules, {0, 900, 1}, [](const ClaimCheck& so_far) { return so_far.attempts < 500; });
  EXPECT_LT(part.agreed, 900U);
  const ClaimCheck rest = check_claims(sampler, rules, {part.attempts, 900 - part.agreed, 1}, always);
  EXPECT_EQ(part.attempts + rest.attempts, whole.attempts);
  EXPECT_EQ(part.agreed + rest.agreed, whole.agreed);
}

}  // namespace
}  // namespace kasimir
