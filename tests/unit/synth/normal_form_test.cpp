// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/normal_form.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "support/array.h"
#include "support/thrown.h"
#include "unit/synth/evaluated.h"
#include "unit/synth/loads.h"
#include "unit/synth/reach.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <set>

namespace kasimir {
namespace {

using testing::Evaluated;
using testing::in_order;

constexpr std::uint64_t seed = 20251004;
const Site square{8, 8, 4, 5, 1};
const Site strided{8, 16, 2, 3, 2};
const Site tiny{4, 4, 4, 5, 1};

Kernel read(const std::string& steps) { return parse_kernel("kernel k\ngiven g=2 r=4\n" + steps, catalog()); }

SiteSet sites_of(const Kernel& kernel) { return {{square, strided}, kernel.choices}; }

Identity id(const std::string& steps) {
  const Kernel kernel = read(steps);
  return identity(kernel, sites_of(kernel));
}

/// The steps of a kernel as a sampler gives them.
std::vector<GrownStep> grown(World& world, const Kernel& kernel) {
  std::vector<GrownStep> steps;
  std::vector<ShapeId> shapes{world.input()};
  for (const Step& step : kernel.steps) {
    Operands operands{no_id, no_id};
    GrownStep one{};
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      operands[i] = shapes[static_cast<std::size_t>(step.operands[i])];
      one.operands[i] = static_cast<std::int16_t>(step.operands[i]);
    }
    const auto number = std::ranges::find(catalog(), step.primitive) - catalog().begin();
    one.written.arguments = world.intern(step.arguments);
    one.written.move = world.apply(static_cast<int>(number), operands, one.written.arguments, 0);
    steps.push_back(one);
    shapes.push_back(world.move(one.written.move).result);
  }
  return steps;
}

World world_for(const Kernel& kernel) {
  const std::vector<SiteLoad> loads{testing::conv_load(square), testing::conv_load(strided)};
  World::Options options;
  options.weights.assign(catalog().size(), 1.0);
  options.choices = {kernel.choices};
  return {catalog(), loads, options};
}

// --- rules ------------------------------------------------------------------------------------------------------

struct Case {
  Rewrite rule;
  std::string text;
  std::string normal;  ///< what is written by normalise(), or, marked so, only another text of the same identity
  bool written = true;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {Rewrite::same_step, "a = relu(x)\nb = relu(x)\nc = broadcast(a, b, op=mul)\nreturn c\n",
       "a = relu(x)\nb = broadcast(a, a, op=mul)\nreturn b\n"},
      {Rewrite::undone, "a = group(x, by=g)\nb = merge(a)\nc = exp(b)\nreturn c\n", "a = exp(x)\nreturn a\n"},
      {Rewrite::undone,
       "a = shift(x, axes=c, by=1, fill=wrap)\nb = shift(a, axes=c, by=-1, fill=wrap)\nc = exp(b)\nreturn c\n",
       "a = exp(x)\nreturn a\n"},
      {Rewrite::repeated, "a = relu(x)\nb = relu(a)\nreturn b\n", "a = relu(x)\nreturn a\n"},
      {Rewrite::sign_twice, "a = neg(x)\nb = neg(a)\nc = exp(b)\nreturn c\n", "a = exp(x)\nreturn a\n"},
      {Rewrite::nonnegative_already, "a = sigmoid(x)\nb = fold(a, axes=h)\nc = abs(b)\nreturn c\n",
       "a = sigmoid(x)\nb = fold(a, axes=h)\nreturn b\n"},
      {Rewrite::magnitude_only, "a = neg(x)\nb = square(a)\nreturn b\n", "a = square(x)\nreturn a\n"},
      {Rewrite::magnitude_only, "a = abs(x)\nb = sqrt(a)\nreturn b\n", "a = sqrt(x)\nreturn a\n"},
      {Rewrite::sign_after_odd, "a = neg(x)\nb = tanh(a)\nc = exp(b)\nreturn c\n",
       "a = tanh(x)\nb = neg(a)\nc = exp(b)\nreturn c\n"},
      {Rewrite::views_in_order, "a = group(x, by=g)\nb = unfold(a)\nc = linear(b, to=Co)\nreturn c\n",
       "a = unfold(x)\nb = group(a, by=g)\nc = linear(b, to=Co)\nreturn c\n"},
      {Rewrite::folds_in_order, "a = fold(x, axes=c, by=sum)\nb = fold(a, axes=h, by=sum)\nreturn b\n",
       "a = fold(x, axes=h, by=sum)\nb = fold(a, axes=c, by=sum)\nreturn b\n"},
      {Rewrite::step_before_view, "a = shift(x, axes=h, by=1)\nb = relu(a)\nreturn b\n",
       "a = relu(x)\nb = shift(a, axes=h, by=1)\nreturn b\n"},
      {Rewrite::step_before_view, "a = shift(x, axes=h, by=1)\nb = scale(a, axes=c)\nreturn b\n",
       "a = scale(x, axes=c)\nb = shift(a, axes=h, by=1)\nreturn b\n"},
      {Rewrite::step_before_view, "a = group(x, by=g)\nb = softmax(a, axes=h)\nreturn b\n",
       "a = softmax(x, axes=h)\nb = group(a, by=g)\nreturn b\n"},
      {Rewrite::step_after_thinning, "a = relu(x)\nb = stride(a)\nreturn b\n",
       "a = stride(x)\nb = relu(a)\nreturn b\n"},
      {Rewrite::permutation_before_fold, "a = shuffle(x, by=g)\nb = fold(a, axes=c, by=max)\nreturn b\n",
       "a = fold(x, axes=c, by=max)\nreturn a\n"},
      {Rewrite::permutation_before_fold, "a = group(x, by=g)\nb = fold(a, axes=(g,c))\nreturn b\n",
       "a = fold(x, axes=c)\nreturn a\n", false},

      {Rewrite::scale_before_weights, "a = scale(x, axes=c)\nb = linear(a, to=Co)\nreturn b\n",
       "a = linear(x, to=Co)\nreturn a\n"},
      {Rewrite::scale_before_weights, "a = scale(x, axes=c)\nb = conv(a, to=Co, groups=g)\nreturn b\n",
       "a = conv(x, to=Co, groups=g)\nreturn a\n"},
      {Rewrite::scale_before_weights, "a = neg(x)\nb = linear(a, to=Co)\nreturn b\n",
       "a = linear(x, to=Co)\nreturn a\n"},
      {Rewrite::scale_before_weights, "a = group(x, by=g)\nb = scale(a, axes=g)\nc = scale(b, axes=(g,c))\nreturn c\n",
       "a = group(x, by=g)\nb = scale(a, axes=(g,c))\nreturn b\n"},
      {Rewrite::scale_after_weights, "a = linear(x, to=Co)\nb = scale(a, axes=c)\nreturn b\n",
       "a = linear(x, to=Co)\nreturn a\n"},
      {Rewrite::scale_after_weights, "a = norm(x)\nb = scale(a, axes=c)\nreturn b\n", "a = norm(x)\nreturn a\n"},
      {Rewrite::scale_after_weights, "a = conv(x, to=Ci, groups=Ci)\nb = neg(a)\nreturn b\n",
       "a = conv(x, to=Ci, groups=Ci)\nreturn a\n"},
      {Rewrite::scale_before_permutation, "a = shuffle(x, by=g)\nb = scale(a, axes=c)\nreturn b\n",
       "a = scale(x, axes=c)\nb = shuffle(a, by=g)\nreturn b\n"},
      {Rewrite::factor_before_weights, "a = fold(x, axes=h)\nb = linear(a, to=Co)\nreturn b\n",
       "a = fold(x, axes=h, by=sum)\nb = linear(a, to=Co)\nreturn b\n", false},
      {Rewrite::permutation_before_weights, "a = shuffle(x, by=g)\nb = linear(a, to=Co)\nreturn b\n",
       "a = linear(x, to=Co)\nreturn a\n"},
      {Rewrite::permutation_before_weights, "a = group(x, by=g)\nb = mix(a, over=(g,c), to=(c=Co))\nreturn b\n",
       "a = linear(x, to=Co)\nreturn a\n", false},
      {Rewrite::permutation_after_weights, "a = conv(x, to=Co)\nb = shuffle(a, by=g)\nreturn b\n",
       "a = conv(x, to=Co)\nreturn a\n"},
      {Rewrite::wide_dense_pair, "a = linear(x, to=2*Ci)\nb = conv(a, to=Co)\nreturn b\n",
       "a = conv(x, to=Co)\nreturn a\n"},
      {Rewrite::wide_dense_pair, "a = linear(x, to=Ci/2)\nb = linear(a, to=Ci/r)\nreturn b\n",
       "a = linear(x, to=Ci/r)\nreturn a\n"},
      {Rewrite::wide_dense_pair, "a = conv(x, to=Co)\nb = linear(a, to=Co/r)\nreturn b\n",
       "a = conv(x, to=Co/r)\nreturn a\n", false},
      {Rewrite::sum_of_twins, "a = linear(x, to=Co)\nb = linear(x, to=Co)\nc = broadcast(a, b, op=sub)\nreturn c\n",
       "a = linear(x, to=Co)\nreturn a\n"},
      {Rewrite::sum_of_twins, "a = scale(x, axes=c)\nb = scale(x, axes=c)\nc = broadcast(a, b)\nreturn c\n",
       "a = scale(x, axes=c)\nreturn a\n"},
  };
  return all;
}

TEST(RewriteRules, GiveTheSameIdentity) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(id(c.text), id(c.normal)) << rewrite_rule(c.rule).name;
    const Kernel kernel = read(c.text);
    World world = world_for(kernel);
    NormalFormer former(world);
    EXPECT_EQ(former.identity(grown(world, kernel)), id(c.text));
    EXPECT_GE(former.fired()[static_cast<std::size_t>(c.rule)], 1) << rewrite_rule(c.rule).name;
  }
}

TEST(RewriteRules, GiveTheTextThatIsLeft) {
  for (const Case& c : cases()) {
    if (!c.written) continue;
    const Kernel kernel = read(c.text);
    EXPECT_EQ(str(normalise(kernel, sites_of(kernel)).kernel), str(read(c.normal))) << rewrite_rule(c.rule).name;
  }
}

TEST(RewriteRules, DropAStrideOfOne) {
  const Kernel kernel = read("a = stride(x)\nb = exp(a)\nreturn b\n");
  const SiteSet sites({square}, kernel.choices);
  const Normalised normal = normalise(kernel, sites);
  EXPECT_EQ(str(normal.kernel), str(read("a = exp(x)\nreturn a\n")));
  EXPECT_EQ(normal.fired[static_cast<std::size_t>(Rewrite::nothing_done)], 1);
  EXPECT_EQ(normal.sources, std::vector<int>{1});
}

TEST(RewriteRules, AreAllTriedHere) {
  std::set<Rewrite> tried{Rewrite::nothing_done, Rewrite::normalised_scale, Rewrite::sum_of_shares};
  for (const Case& c : cases()) tried.insert(c.rule);
  for (int i = 0; i < rewrite_count; ++i) {
    const RewriteRule& rule = rewrite_rule(static_cast<Rewrite>(i));
    EXPECT_TRUE(tried.contains(static_cast<Rewrite>(i))) << rule.name;
    EXPECT_FALSE(rule.name.empty());
    EXPECT_FALSE(rule.brief.empty()) << rule.name;
  }
}

TEST(RewriteRules, ThatAreExactKeepTheValuesWithTheSameWeights) {
  std::cout << "seed " << seed << '\n';
  for (const Case& c : cases()) {
    if (rewrite_rule(c.rule).kind != RewriteKind::exact || !c.written) continue;
    SCOPED_TRACE(c.text);
    const Kernel kernel = read(c.text);
    const Normalised normal = normalise(kernel, sites_of(kernel), false);
    EXPECT_EQ(str(normal.kernel), str(read(c.normal)));
    for (const Site& site : {square, strided}) {
      const Evaluated before(kernel, site, 2);
      const Evaluated after(normal.kernel, site, 2);
      EXPECT_LE(testing::difference(after.by_kind(after.run(after.draw(seed, normal.sources))),
                                    before.by_kind(before.run(before.draw(seed, in_order(kernel.steps.size()))))),
                1e-12);
    }
  }
}

constexpr std::int64_t batch = 4;  // more results than any case has weights, else everything could be reached

TEST(RewriteRules, OfFamiliesLoseAndAddNoFunction) {
  std::cout << "seed " << seed << '\n';
  for (const Case& c : cases()) {
    if (rewrite_rule(c.rule).kind != RewriteKind::family) continue;
    SCOPED_TRACE(c.text);
    const Kernel before = read(c.text);
    const Kernel after = read(c.normal);
    for (const auto& [kernel, by] : {std::pair(&before, &after), std::pair(&after, &before)}) {
      const Evaluated target(*kernel, tiny, batch);
      auto values = target.draw(seed, in_order(kernel->steps.size()));
      const auto wanted = target.by_kind(target.run(std::move(values)));
      ASSERT_GT(testing::largest(wanted), 1e-6);
      EXPECT_LE(testing::distance(Evaluated(*by, tiny, batch), seed, in_order(by->steps.size()), wanted), 1e-6);
    }
  }
}

TEST(RewriteRules, OfFamiliesAreMeasuredByAYardstickThatTellsFamiliesApart) {
  const Kernel wide = read("a = linear(x, to=Co)\nreturn a\n");
  const Kernel narrow = read("a = linear(x, to=Co/r)\nb = linear(a, to=Co)\nreturn b\n");
  const Evaluated target(wide, tiny, batch);
  const auto wanted = target.by_kind(target.run(target.draw(seed, {0})));
  EXPECT_GT(testing::distance(Evaluated(narrow, tiny, batch), seed, {5, 6}, wanted), 0.3);
}

// --- what must not meet -----------------------------------------------------------------------------------------

TEST(Identity, IsNotTheSameForOthers) {
  const std::vector<std::string> apart{
      "a = relu(x)\nb = linear(x, to=Ci)\nc = broadcast(a, b, op=sub)\nreturn c\n",
      "a = relu(x)\nb = linear(x, to=Ci)\nc = broadcast(b, a, op=sub)\nreturn c\n",
      "a = relu(x)\nb = linear(x, to=Ci)\nc = broadcast(b, a, op=add)\nreturn c\n",
      "a = matmul(x, x, left=positions, right=positions)\nreturn a\n",
      "a = matmul(x, x, left=positions, right=positions, softmax=yes)\nreturn a\n",
      "a = mix(x, over=c, to=(u=3))\nreturn a\n",
      "a = mix(x, over=c, to=(v=3))\nreturn a\n",
      "a = mix(x, over=c, to=(u=5))\nreturn a\n",
      "a = mix(x, over=(c,h), to=(u=3))\nreturn a\n",
      "a = linear(x, to=Co/r)\nb = relu(a)\nc = exp(a)\nd = broadcast(b, c)\nreturn d\n",
      "a = linear(x, to=Co/r)\nb = linear(x, to=Co/r)\nc = relu(a)\nd = exp(b)\ne = broadcast(c, d)\nreturn e\n",
      "a = linear(x, to=Co)\nb = broadcast(a, a, op=mul)\nreturn b\n",
      "a = linear(x, to=Co)\nb = linear(x, to=Co)\nc = broadcast(a, b, op=mul)\nreturn c\n",
      "a = linear(x, to=Co)\nreturn a\n",
      "a = linear(x, to=Co)\nb = hardswish(a)\nreturn b\n",
      "a = linear(x, to=Co)\nb = relu(a)\nreturn b\n",
      "a = linear(x, to=2*Co)\nreturn a\n",
      "a = shift(x, axes=h, by=1)\nb = exp(a)\nreturn b\n",
      "a = exp(x)\nb = shift(a, axes=h, by=1)\nreturn b\n",
      "a = shift(x, axes=h, by=2)\nb = exp(a)\nreturn b\n",
      "a = shift(x, axes=h, by=1, fill=wrap)\nb = exp(a)\nreturn b\n",
      "a = shift(x, axes=w, by=1)\nb = exp(a)\nreturn b\n",
      "a = fold(x, axes=h)\nreturn a\n",
      "a = fold(x, axes=h, by=sum)\nreturn a\n",
      "a = fold(x, axes=h, by=max)\nreturn a\n",
      "a = fold(x, axes=w)\nreturn a\n",
      "a = linear(x, to=Ci/2)\nb = linear(a, to=Ci)\nreturn b\n",
      "a = linear(x, to=Ci/r)\nb = linear(a, to=Ci)\nreturn b\n",
      "a = linear(x, to=x0)\nb = linear(a, to=x0)\nc = relu(b)\nd = linear(c, to=x1)\nreturn d\n",
      "a = linear(x, to=x0)\nb = relu(a)\nc = linear(b, to=x0)\nd = relu(c)\nreturn d\n",
      "a = linear(x, to=x0)\nb = relu(a)\nc = linear(b, to=x1)\nd = relu(c)\nreturn d\n",
      "a = concat(x, x)\nreturn a\n",
      "a = relu(x)\nb = concat(a, x)\nreturn b\n",
      "a = relu(x)\nb = concat(x, a)\nreturn b\n",
      "a = group(x, by=g)\nb = linear(a, to=Co)\nreturn b\n",
      "a = shuffle(x, by=g)\nb = group(a, by=g)\nc = linear(b, to=Co)\nreturn c\n",
      "a = conv(x, to=Ci, groups=Ci)\nb = linear(a, to=Co)\nreturn b\n",
      "a = conv(x, to=Co)\nreturn a\n",
      "a = conv(x, to=Co, groups=g)\nreturn a\n",
      "a = conv(x, to=Co, groups=4)\nreturn a\n",
      "a = conv(x, to=Co, window=(3,1))\nreturn a\n",
      "a = conv(x, to=Co, dilation=2)\nreturn a\n",
      "a = scale(x, axes=c)\nb = relu(a)\nreturn b\n",
      "a = scale(x, axes=c)\nb = scale(x, axes=c)\nc = broadcast(a, b, op=mul)\nreturn c\n",
      "a = softmax(x, axes=c)\nreturn a\n",
      "a = softmax(x, axes=h)\nreturn a\n",
      "a = norm(x)\nb = relu(a)\nreturn b\n",
      "a = scale(x, axes=c)\nb = norm(a)\nc = relu(b)\nreturn c\n"};
  std::map<Identity, std::string> seen;
  for (const std::string& text : apart) {
    const auto [other, fresh] = seen.emplace(id(text), text);
    EXPECT_TRUE(fresh) << text << "meets\n" << other->second;
  }
}

TEST(Identity, TellsTwinsApartByTheirReaders) {
  const std::string twins = "a = linear(x, to=Co)\nb = linear(x, to=Co)\n";
  const auto with = [&](const std::string& rest) { return id(twins + rest); };
  EXPECT_EQ(with("c = relu(a)\nd = exp(b)\ne = broadcast(c, d)\nf = broadcast(e, a, op=mul)\nreturn f\n"),
            with("c = relu(b)\nd = exp(a)\ne = broadcast(d, c)\nf = broadcast(b, e, op=mul)\nreturn f\n"));
  EXPECT_NE(with("c = relu(a)\nd = exp(b)\ne = broadcast(c, d)\nf = broadcast(e, a, op=mul)\nreturn f\n"),
            with("c = relu(a)\nd = exp(b)\ne = broadcast(c, d)\nf = broadcast(e, b, op=mul)\nreturn f\n"));
  // Below a symmetric sum only the readers tell which twin is which.
  EXPECT_EQ(with("c = relu(a)\nd = relu(b)\ne = broadcast(c, d)\nf = broadcast(a, e, op=sub)\nreturn f\n"),
            with("c = relu(b)\nd = relu(a)\ne = broadcast(c, d)\nf = broadcast(b, e, op=sub)\nreturn f\n"));
}

TEST(Identity, CountsChoicesByTheirValuesWhereTheyAreUsed) {
  const auto with = [&](const std::string& given, const std::string& steps) {
    const Kernel kernel = parse_kernel("kernel k\ngiven " + given + "\n" + steps, catalog());
    return identity(kernel, SiteSet({square, strided}, kernel.choices));
  };
  const std::string grouped = "a = conv(x, to=Co, groups=g)\nreturn a\n";
  EXPECT_NE(with("g=2 r=4", grouped), with("g=4 r=4", grouped));
  EXPECT_EQ(with("g=2 r=4", grouped), with("g=2 r=2", grouped));
  EXPECT_EQ(with("g=2 r=4", grouped), with("g=2 r=4", "a = conv(x, to=Co, groups=2)\nreturn a\n"));
}

TEST(Identity, SaysThatAKernelIsTooLong) {
  std::string text;
  std::string last = "x";
  for (int i = 1; i <= 63; ++i) {
    text += fmt::format("{} = exp({})\n", tensor_name(i), last);
    last = tensor_name(i);
  }
  EXPECT_EQ(testing::thrown_by([&] { return id(text + "return " + last + "\n"); }),
            "2: the kernel has 63 steps; a normal form has at most 62");
}

TEST(Identity, IsPrintedAsHexadecimalDigits) {
  EXPECT_EQ((Identity{0x0123456789abcdefULL, 0xfULL}.str()), "0123456789abcdef000000000000000f");
}

// --- pairs that growth should not make ----------------------------------------------------------------------------

std::string waste_of(const std::string& text) {
  const Kernel kernel = read(text);
  World world = world_for(kernel);
  NormalFormer former(world);
  const auto steps = grown(world, kernel);
  const auto waste = former.waste(steps[0].written.move, steps[1].written.move);
  EXPECT_EQ(former.waste(steps[0].written.move, steps[1].written.move), waste);  // as it is remembered
  return waste ? std::string(rewrite_rule(*waste).name) : "none";
}

TEST(PairWaste, NamesTheRule) {
  EXPECT_EQ(waste_of("a = relu(x)\nb = relu(a)\nreturn b\n"), "repeated");
  EXPECT_EQ(waste_of("a = softmax(x, axes=c)\nb = relu(a)\nreturn b\n"), "nonnegative already");
  EXPECT_EQ(waste_of("a = unfold(x)\nb = relu(a)\nreturn b\n"), "step before view");
  EXPECT_EQ(waste_of("a = group(x, by=g)\nb = unfold(a)\nreturn b\n"), "views in order");
  EXPECT_EQ(waste_of("a = unfold(x)\nb = group(a, by=g)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = stride(x)\nb = relu(a)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = linear(x, to=Co)\nb = scale(a, axes=c)\nreturn b\n"), "scale after weights");
  EXPECT_EQ(waste_of("a = linear(x, to=Co)\nb = linear(a, to=Co)\nreturn b\n"), "wide dense pair");
  EXPECT_EQ(waste_of("a = linear(x, to=Ci/r)\nb = linear(a, to=Ci)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = linear(x, to=x0)\nb = linear(a, to=Ci)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = conv(x, to=Ci, groups=Ci)\nb = linear(a, to=Co)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = group(x, by=g)\nb = linear(a, to=Co)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = group(x, by=g)\nb = mix(a, over=(g,c), to=(c=Co))\nreturn b\n"),
            "permutation before weights");
  EXPECT_EQ(waste_of("a = fold(x, axes=h)\nb = linear(a, to=Co)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = scale(x, axes=c)\nb = norm(a)\nreturn b\n"), "normalised scale");
  EXPECT_EQ(waste_of("a = norm(x)\nb = norm(a)\nreturn b\n"), "normalised scale");
  EXPECT_EQ(waste_of("a = scale(x, axes=c)\nb = relu(a)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = softmax(x, axes=c)\nb = fold(a, axes=c, by=sum)\nreturn b\n"), "sum of shares");
  EXPECT_EQ(waste_of("a = softmax(x, axes=c)\nb = fold(a, axes=c, by=max)\nreturn b\n"), "none");
  EXPECT_EQ(waste_of("a = broadcast(x, x, op=mul)\nb = relu(a)\nreturn b\n"), "none");
}

/// Every edge of a kernel whose producer nothing else reads.
void expect_no_waste(const Kernel& kernel) {
  World world = world_for(kernel);
  NormalFormer former(world);
  const auto steps = grown(world, kernel);
  for (const GrownStep& consumer : steps) {
    for (const std::int16_t operand : consumer.operands) {
      if (operand <= 0) continue;
      const auto waste = former.waste(steps[static_cast<std::size_t>(operand) - 1].written.move, consumer.written.move);
      EXPECT_FALSE(waste.has_value()) << kernel.name << ": " << rewrite_rule(*waste).name << " in `"
                                      << str(kernel.steps[static_cast<std::size_t>(&consumer - steps.data())]) << "`";
    }
  }
}

TEST(PairWaste, IsInNoHandWrittenKernel) {
  const std::filesystem::path folder = std::filesystem::path(KASIMIR_SOURCE_DIR) / "examples/kernels";
  int kernels = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const Kernel kernel = parse_kernel(read_file(file.path()), catalog(), file.path().string());
    expect_no_waste(kernel);
    ++kernels;
  }
  EXPECT_GE(kernels, 10);
}

TEST(PairWaste, IsNotInAChannelShuffle) {
  expect_no_waste(
      read("a = group(x, by=g)\nb = transpose(a)\nc = merge(b)\nd = group(c, by=g)\ne = linear(d, to=Co)\n"
           "return e\n"));
  expect_no_waste(
      read("a = conv(x, to=Ci, groups=Ci)\nb = norm(a)\nc = relu(b)\nd = linear(c, to=Co)\ne = norm(d)\n"
           "return e\n"));
  expect_no_waste(read("a = linear(x, to=Co/r)\nb = conv(a, to=Co/r)\nc = linear(b, to=Co)\nreturn c\n"));
}

}  // namespace
}  // namespace kasimir
