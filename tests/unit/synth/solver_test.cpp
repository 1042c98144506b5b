// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/solver.h"

#include "kasimir/primitive/catalog.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

using testing::conv_load;

struct Solved {
  Kernel kernel;
  Outcome<FitCost> cost = Rejection{};

  [[nodiscard]] std::int64_t x0(std::size_t site = 0) const { return kernel.fits[site].second[Symbol::x0]; }
  [[nodiscard]] std::int64_t x1(std::size_t site = 0) const { return kernel.fits[site].second[Symbol::x1]; }
};

Solved solve(const std::string& steps, const std::vector<SiteLoad>& loads, const std::string& budget,
             const SolverOptions& options = {.enough_use = 0.0}) {
  Solved solved{parse_kernel("kernel k\ngiven g=4\n" + steps, catalog())};
  std::vector<Site> sites;
  for (const SiteLoad& load : loads) sites.push_back(load.site);
  const Graph graph = lower(solved.kernel, SiteSet(sites, solved.kernel.choices)).value();
  solved.cost = fit(solved.kernel, graph, loads, Budget::parse(budget), options);
  return solved;
}

/// 640 * x0 parameters, against 36864.
constexpr const char* bottleneck = "  a = linear(x, to=x0)\n  b = conv(a, to=Co)\nreturn b\n";
const SiteLoad plain = conv_load({64, 64, 8, 8, 1});

TEST(Fit, TakesTheLargestLaneThatTheBudgetAllows) {
  const Solved half = solve(bottleneck, {plain}, "macs=..0.5,params=..0.5");
  EXPECT_EQ(half.x0(), 24);  // 28.8 rounded down to a lane
  EXPECT_EQ(half.cost->params[0], 640.0 * 24);
  EXPECT_EQ(half.cost->macs[0], 640.0 * 24 * 64);
  EXPECT_EQ(solve(bottleneck, {plain}, "macs=..0.5,params=..0.5", {.lane = 1}).x0(), 28);
  EXPECT_EQ(solve(bottleneck, {plain}, "macs=..0.5,params=..0.5", {.lane = 16, .enough_use = 0.0}).x0(), 16);
}

TEST(Fit, TakesValuesBetweenLanesWhereTheyUseMoreOfTheBudget) {
  EXPECT_EQ(solve(bottleneck, {plain}, "macs=..0.5,params=..0.5", {}).x0(), 28);
}

TEST(Fit, GoesBelowALaneWhereTheBudgetAsks) {
  const Solved tight = solve(bottleneck, {plain}, "macs=..0.1,params=..0.1");
  EXPECT_GE(tight.x0(), 1);
  EXPECT_LT(tight.x0(), 8);
  EXPECT_LE(tight.cost->params[0], 3686.4);
}

TEST(Fit, KeepsEverySizeWhole) {
  const Solved grouped = solve("  a = linear(x, to=x0)\n  b = conv(a, to=Co, groups=g)\nreturn b\n", {plain},
                               "macs=..0.1,params=..0.1", {.lane = 1});
  EXPECT_EQ(grouped.x0() % 4, 0);
  EXPECT_EQ(grouped.x0(), 16);  // 64 + 144 parameters for each channel, 3686.4 in all
}

TEST(Fit, SolvesEachSiteOnItsOwnUnderARelativeBudget) {
  const Solved two = solve("  a = linear(x, to=x0)\n  b = conv(a, to=Co, stride=yes)\nreturn b\n",
                           {plain, conv_load({64, 128, 4, 4, 2})}, "macs=..2,params=..0.5");
  ASSERT_EQ(two.kernel.fits.size(), 2U);
  EXPECT_EQ(two.kernel.fits[1].first, (Site{64, 128, 4, 4, 2}));
  EXPECT_EQ(two.x0(0), 24);
  EXPECT_EQ(two.x0(1), 24);  // (64 + 9*128)*x0 against 36864: 30.3
}

TEST(Fit, SharesOneRatioUnderAnAbsoluteBudget) {
  const Solved two = solve(bottleneck, {conv_load({64, 64, 8, 8, 1}, 3), conv_load({32, 32, 8, 8, 1})},
                           "macs=..,params=..60k", {.lane = 1});
  ASSERT_TRUE(two.cost.ok());
  EXPECT_LE(two.cost->total_params, 60e3);
  EXPECT_GE(two.cost->total_params, 59e3);
  EXPECT_DOUBLE_EQ(two.cost->total_params, 3 * two.cost->params[0] + two.cost->params[1]);
  EXPECT_NEAR(static_cast<double>(two.x0(0)) / static_cast<double>(two.x0(1)), 2.0, 0.7);
}

TEST(Fit, KeepsTheMemoryLimit) {
  const Solved small = solve(bottleneck, {plain}, "macs=..,params=..", {.lane = 8, .most_elements = 64 * 100});
  EXPECT_EQ(small.x0(), 96);
  const Solved none = solve(bottleneck, {plain}, "macs=..,params=..", {.lane = 8, .most_elements = 1000});
  EXPECT_EQ(none.cost.rejection().str(),
            "memory: no tensor is too large (above 1000 elements at Ci=64 Co=64 H=8 W=8 s=1)");
}

TEST(Fit, ChecksAKernelWithoutFreeSymbols) {
  const Solved whole = solve("  a = conv(x, to=Co)\nreturn a\n", {plain}, "macs=..1,params=..1");
  ASSERT_TRUE(whole.cost.ok());
  EXPECT_TRUE(whole.kernel.fits.empty());
  EXPECT_EQ(whole.cost->total_params, 36864.0);
}

TEST(Fit, NamesTheLimitThatBinds) {
  const auto reason = [](const char* steps, const char* budget) {
    return solve(steps, {plain}, budget).cost.rejection().str();
  };
  const char* whole = "  a = conv(x, to=Co)\nreturn a\n";
  EXPECT_EQ(reason(whole, "macs=..0.9,params=..1"), "budget: macs at most 0.9 (1 at Ci=64 Co=64 H=8 W=8 s=1)");
  EXPECT_EQ(reason(whole, "macs=..1,params=..0.9"), "budget: params at most 0.9 (1 at Ci=64 Co=64 H=8 W=8 s=1)");
  EXPECT_EQ(reason(whole, "macs=2..3,params=..1"), "budget: macs at least 2 (1 at Ci=64 Co=64 H=8 W=8 s=1)");
  EXPECT_EQ(reason(whole, "macs=..1M,params=..1"), "budget: macs at most 1M (2.36M)");
  EXPECT_EQ(reason(whole, "macs=..1,params=40k..50k"), "budget: params at least 40k (36.9k)");
  EXPECT_EQ(reason(bottleneck, "macs=..1,params=..0.01"),
            "budget: params at most 0.01 (0.0174 at Ci=64 Co=64 H=8 W=8 s=1)");
}

TEST(Fit, LimitsTheBytesWritten) {
  const Solved wide = solve(bottleneck, {plain}, "macs=..,params=..,bytes=..1.25");
  ASSERT_TRUE(wide.cost.ok());
  EXPECT_EQ(wide.x0(), 16);  // 4 * 64 * (x0 + 64) bytes against 4 * 64 * 64
  EXPECT_EQ(wide.cost->bytes[0], 4.0 * 64 * (16 + 64));
  EXPECT_EQ(wide.cost->total_bytes, wide.cost->bytes[0]);
  EXPECT_EQ(wide.cost->objective.use, 1.0);
  EXPECT_EQ(solve(bottleneck, {plain}, "bytes=..1").cost.rejection().str(),
            "budget: bytes at most 1 (1.02 at Ci=64 Co=64 H=8 W=8 s=1)");
}

TEST(Fit, RefusesSizesThatNoValueMakesWhole) {
  const Solved none =
      solve("  a = mix(x, over=c, to=(c=x0/g))\n  b = linear(a, to=Co/x0)\n  c = linear(b, to=Co)\nreturn c\n",
            {conv_load({7, 7, 4, 4, 1})}, "macs=..9,params=..9");
  EXPECT_EQ(none.cost.rejection().str(), "every free symbol has a legal value (Ci=7 Co=7 H=4 W=4 s=1)");
}

TEST(Fit, ReplacesTheFitsOfBefore) {
  Kernel kernel = parse_kernel(std::string("kernel k\n") + bottleneck + "at 8->8x3x3: x0=3\n", catalog());
  const Graph graph = lower(kernel, SiteSet({plain.site}, {})).value();
  ASSERT_TRUE(fit(kernel, graph, std::vector<SiteLoad>{plain}, {}, {}).ok());
  ASSERT_EQ(kernel.fits.size(), 1U);
  EXPECT_EQ(kernel.fits[0].first, plain.site);
}

TEST(LeastFit, GivesLegalValuesAtOneSite) {
  Kernel kernel = parse_kernel(
      "kernel k\ngiven g=4\n  a = linear(x, to=x0)\n  b = group(a, by=g)\n  c = linear(b, to=x1)\n  d = linear(c, "
      "to=Co)\nreturn d\n",
      catalog());
  const Site site{8, 8, 5, 6, 1};
  const Graph graph = lower(kernel, SiteSet({site}, kernel.choices)).value();
  const auto fitted = any_fit(kernel, graph, site);
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ((*fitted)[Symbol::x0] % 4, 0);
  EXPECT_EQ((*fitted)[Symbol::x1] % 4, 0);
  kernel.fits = {{site, *fitted}};
  EXPECT_TRUE(lower_at(kernel, site, 1).ok());
}

TEST(WholeSizes, AreExtentsAndCoefficients) {
  const Kernel kernel =
      parse_kernel("kernel k\ngiven g=4\n  a = group(x, by=g)\n  b = linear(a, to=Co)\nreturn b\n", catalog());
  std::vector<std::string> texts;
  for (const Size& size : whole_sizes(lower(kernel, SiteSet({plain.site}, kernel.choices)).value()))
    texts.push_back(size.str());
  for (const char* text : {"Ci/g", "Co/g", "g", "H*s"}) EXPECT_NE(std::ranges::find(texts, text), texts.end()) << text;
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size());
}

TEST(WholeParts, AreWhatIsLeftWithoutFreeSymbols) {
  Binding binding;
  binding.set(Symbol::Co, 64).set(Symbol::g, 2);
  const Size size = Size::parse("3*Co*x0/(4*g*x2^2)");
  EXPECT_EQ(free_powers(size), (Powers{1, 0, -2, 0, 0, 0}));
  const auto parts = whole_parts(size, {&binding, 1});
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->num, std::vector<std::int64_t>{192});
  EXPECT_EQ(parts->den, std::vector<std::int64_t>{8});
  binding.set(Symbol::Co, std::int64_t{1} << 62);
  EXPECT_EQ(whole_parts(size, {&binding, 1}).rejection().rule, "size fits in 64 bits");
}

}  // namespace
}  // namespace kasimir
