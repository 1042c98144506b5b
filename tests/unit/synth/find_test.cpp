// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/find.h"

#include "kasimir/primitive/catalog.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 5;

Sampler sampler_at(const std::vector<Site>& sites, const std::string& budget = "", int most_primitives = 3) {
  std::vector<SiteLoad> loads;
  for (const Site& site : sites) loads.push_back(testing::conv_load(site));
  SampleOptions options;
  options.budget = budget.empty() ? Budget{{}, {}, {}} : Budget::parse(budget);
  options.limits.min_primitives = 1;
  options.limits.max_primitives = most_primitives;
  return {catalog(), loads, options, seed};
}

Kernel read(const std::string& steps) { return parse_kernel("kernel k\n" + steps, catalog()); }

const Site square{64, 64, 56, 56, 1};
const Site small{16, 16, 6, 5, 1};
const Site strided{16, 32, 8, 8, 2};

TEST(Find, ComesUponAConvolution) {
  const Sampler sampler = sampler_at({square});
  const Target target = target_for(sampler, read("a = conv(x, to=Co, stride=yes)\nreturn a\n")).value();
  const FindResult result = find(sampler, target, {.most_attempts = 20'000, .most_hits = 5});
  ASSERT_EQ(result.hits.size(), 5U);
  EXPECT_EQ(result.attempts, result.hits.back().attempt + 1);
  for (const Hit& hit : result.hits) EXPECT_EQ(hit.agreement, Agreement::reals) << str(hit.kernel);
}

TEST(Find, GivesTheSameOnAnyNumberOfThreads) {
  const Sampler sampler = sampler_at({small, strided});
  const Target target =
      target_for(sampler, read("given g=4\na = conv(x, to=Co, groups=g, stride=yes)\nreturn a\n")).value();
  const FindResult one = find(sampler, target, {.most_attempts = 40'000, .most_hits = 3, .threads = 1});
  const FindResult three = find(sampler, target, {.most_attempts = 40'000, .most_hits = 3, .threads = 3});
  ASSERT_EQ(one.hits.size(), 3U);
  ASSERT_EQ(three.hits.size(), 3U);
  EXPECT_EQ(one.attempts, three.attempts);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(str(one.hits[i].kernel), str(three.hits[i].kernel));
}

TEST(Find, StopsAfterTheAttempts) {
  const Sampler sampler = sampler_at({small}, "", 1);
  const Target target =
      target_for(sampler, read("a = conv(x, to=Co)\nb = relu(a)\nc = conv(b, to=Co)\nreturn c\n")).value();
  const FindResult result = find(sampler, target, {.most_attempts = 3000});
  EXPECT_TRUE(result.hits.empty());
  EXPECT_EQ(result.attempts, 3000U);
  EXPECT_GT(result.legal, 2000U);
}

TEST(Find, NamesTheRuleOfATargetThatIsNotInTheSpace) {
  const auto reason = [](const Sampler& sampler, const std::string& steps) {
    const auto target = target_for(sampler, read(steps));
    return target.ok() ? "" : target.rejection().rule;
  };
  EXPECT_EQ(reason(sampler_at({small, strided}), "a = conv(x, to=Ci, groups=Ci, stride=yes)\nreturn a\n"),
            "the result has the axes c=Co, h=H, w=W");
  EXPECT_EQ(reason(sampler_at({square}),
                   "a = matmul(x, x, left=channels, right=channels)\nb = matmul(a, x, left=token, right=positions)\n"
                   "return b\n"),
            "memory: no tensor is too large");
  EXPECT_EQ(reason(sampler_at({small}, "macs=..0.5"), "a = conv(x, to=Co)\nreturn a\n"), "budget: macs at most 0.5");
  EXPECT_EQ(reason(sampler_at({small}, "macs=..1,params=..1"), "a = conv(x, to=Co)\nreturn a\n"), "");
}

TEST(Find, KnowsTheStepsThatAreNotOffered) {
  const Sampler sampler = sampler_at({small});
  const Target target =
      target_for(sampler, read("a = conv(x, to=Co, window=9)\nb = conv(a, to=Co, stride=yes)\nreturn b\n")).value();
  EXPECT_EQ(steps_not_offered(sampler, target), std::vector<std::string>{"conv(x, to=Co, window=9)"});
}

TEST(Compare, TellsHowSurelyKernelsAgree) {
  const Sampler sampler = sampler_at({small, strided});
  const Target conv = target_for(sampler, read("a = conv(x, to=Co, stride=yes)\nreturn a\n")).value();
  const auto with = [&](const Target& target, const std::string& steps) {
    return compare(target, target_for(sampler, read(steps)).value().kernel);
  };
  EXPECT_EQ(with(conv, "a = unfold(x)\nb = stride(a)\nc = linear(b, to=Co)\nreturn c\n"), Agreement::reals);
  EXPECT_EQ(with(conv, "a = unfold(x, axes=w)\nb = unfold(a, axes=h)\nc = stride(b)\nd = linear(c, to=Co)\nreturn d\n"),
            Agreement::reals);
  EXPECT_EQ(with(conv, "a = conv(x, to=Co, window=5, stride=yes)\nreturn a\n"), Agreement::refuted);
  // Two weights of the same form: which is which is found by trial.
  const std::string first = "a = stride(x)\nb = linear(a, to=Co)\nc = linear(a, to=Co)\nd = sigmoid(b)\n";
  const Target gate = target_for(sampler, read(first + "e = broadcast(d, c, op=mul)\nreturn e\n")).value();
  EXPECT_EQ(with(gate, first + "e = broadcast(c, d, op=mul)\nreturn e\n"), Agreement::reals);
  EXPECT_EQ(with(gate, first + "e = broadcast(c, d, op=add)\nreturn e\n"), Agreement::refuted);
}

TEST(Compare, HasWordsForEachOutcome) {
  std::set<std::string_view> all;
  for (Agreement one : {Agreement::refuted, Agreement::field_once, Agreement::field, Agreement::reals})
    all.insert(words(one));
  EXPECT_EQ(all.size(), 4U);
}

}  // namespace
}  // namespace kasimir
