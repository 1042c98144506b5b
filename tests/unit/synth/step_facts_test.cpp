// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/step_facts.h"

#include "kasimir/synth/view_inverse.h"
#include "support/application.h"

#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

using testing::Application;
using testing::shape_from;

/// Ci != Co and a stride at one of them.
SiteSet two_sites() { return {{{8, 16, 6, 7, 2}, {16, 16, 5, 8, 1}}, testing::test_choices()}; }

StepFacts facts_of(const std::string& text, std::vector<Shape> operands, const SiteSet& sites = two_sites()) {
  const Application application = Application::parse(text, std::move(operands));
  EXPECT_TRUE(application.shape(sites).ok()) << text;
  return step_facts(one_step_graph(application.call(sites)), sites);
}

struct Row {
  std::string text;
  std::string operand;
  std::string facts;
  std::string second = "";
};

const std::string image = "c=Co, h=H, w=W";
const std::string grouped = "g=g, c=Co/g, h=H, w=W";
const std::string full = "c=Ci, h=s*H, w=s*W";

const std::vector<Row>& table() {
  static const std::vector<Row> rows{
      {"relu(x)", image, "pointwise zero_to_zero nonnegative keeps_nonnegative idempotent identity_on_nonnegative"},
      {"abs(x)", image,
       "pointwise zero_to_zero nonnegative keeps_nonnegative even idempotent identity_on_nonnegative "
       "keeps_magnitude"},
      {"neg(x)", image, "pointwise linear zero_to_zero odd keeps_magnitude sign"},
      {"square(x)", image, "pointwise zero_to_zero nonnegative keeps_nonnegative even"},
      {"sqrt(x)", image, "pointwise nonnegative keeps_nonnegative even"},
      {"exp(x)", image, "pointwise nonnegative keeps_nonnegative"},
      {"sigmoid(x)", image, "pointwise nonnegative keeps_nonnegative"},
      {"sin(x)", image, "pointwise zero_to_zero odd"},
      {"tanh(x)", image, "pointwise zero_to_zero odd"},
      {"gelu(x)", image, "pointwise zero_to_zero"},
      {"hardswish(x)", image, "pointwise zero_to_zero"},

      {"group(x, by=g)", image, "view permutation linear zero_to_zero keeps_nonnegative in=c out=gc"},
      {"merge(x)", grouped, "view permutation linear zero_to_zero keeps_nonnegative in=gc out=c"},
      {"transpose(x)", grouped, "view permutation linear zero_to_zero keeps_nonnegative in=gc out=gc"},
      {"shuffle(x, by=g)", image, "view permutation keeps_shape linear zero_to_zero keeps_nonnegative in=c out=c"},
      {"shift(x, axes=h, by=1)", image, "view fills_zeros linear zero_to_zero keeps_nonnegative in=h out=h"},
      {"shift(x, axes=(h,w), by=(1,-2), fill=wrap)", image,
       "view permutation keeps_shape wraps linear zero_to_zero keeps_nonnegative in=hw out=hw"},
      {"unfold(x)", image, "view fills_zeros linear zero_to_zero keeps_nonnegative in=hw out=uvhw"},
      {"stride(x)", full, "view shrinks linear zero_to_zero keeps_nonnegative in=hw out=hw"},

      {"scale(x, axes=c)", image,
       "scaling weighted linear zero_to_zero absorbs_before absorbs_after out=c scaled=c absorbs_in=c absorbs_out=c"},
      {"scale(x, axes=(g,c))", grouped,
       "scaling weighted linear zero_to_zero absorbs_before absorbs_after out=gc scaled=gc absorbs_in=gc "
       "absorbs_out=gc"},
      {"linear(x, to=Ci)", image,
       "dense plain weighted linear zero_to_zero absorbs_before absorbs_after in=c out=c free_in=c free_out=c "
       "absorbs_in=c absorbs_out=c"},
      {"linear(x, to=Ci)", grouped,
       "dense weighted linear zero_to_zero absorbs_before absorbs_after in=gc out=c free_in=c absorbs_in=gc "
       "absorbs_out=c"},
      {"linear(x, to=Ci)", "c=Co, h=H, w=W, u=3, v=3",
       "dense plain weighted linear zero_to_zero absorbs_before absorbs_after in=cuv out=c free_in=cuv free_out=c "
       "absorbs_in=cuv absorbs_out=c"},
      {"mix(x, over=c, to=(g=g,u=3))", image,
       "dense plain weighted linear zero_to_zero absorbs_before absorbs_after in=c out=gu free_in=c free_out=gu "
       "absorbs_in=c absorbs_out=gu"},
      {"conv(x, to=Co)", image,
       "dense weighted linear zero_to_zero absorbs_before absorbs_after in=chw out=chw free_in=c free_out=c "
       "absorbs_in=c absorbs_out=c"},
      {"conv(x, to=Co, groups=g)", image,
       "dense weighted linear zero_to_zero absorbs_before absorbs_after in=chw out=chw absorbs_in=c absorbs_out=c"},
      {"conv(x, to=Co, groups=Co)", image,
       "dense weighted linear zero_to_zero absorbs_before absorbs_after in=chw out=chw absorbs_in=c absorbs_out=c"},
      {"norm(x)", image, "statistics weighted absorbs_after in=nhw out=c absorbs_out=c"},

      {"fold(x, axes=(h,w))", image, "fold has_factor linear zero_to_zero keeps_nonnegative in=hw free_in=hw"},
      {"fold(x, axes=c, by=sum)", image, "fold linear zero_to_zero keeps_nonnegative in=c free_in=c"},
      {"fold(x, axes=c, by=max)", image, "fold zero_to_zero keeps_nonnegative in=c free_in=c"},
      {"pool(x)", full, "fold has_factor linear zero_to_zero keeps_nonnegative in=hw out=hw"},
      {"softmax(x, axes=c)", image, "nonnegative keeps_nonnegative sums_to_one in=c sum=c"},

      {"broadcast(x, a)", image, "combination aligned commutative linear zero_to_zero keeps_nonnegative", image},
      {"broadcast(x, a, op=sub)", image, "combination aligned linear zero_to_zero", image},
      {"broadcast(x, a, op=mul)", image, "combination aligned commutative zero_to_zero keeps_nonnegative", image},
      {"broadcast(x, a, op=max)", image, "combination aligned commutative zero_to_zero keeps_nonnegative", image},
      {"broadcast(x, a, op=min)", image, "combination aligned commutative zero_to_zero keeps_nonnegative", image},
      {"broadcast(x, a)", "c=Co", "combination linear zero_to_zero keeps_nonnegative", image},
      {"broadcast(x, a)", "c=Co/g, h=H, w=W", "combination linear zero_to_zero keeps_nonnegative in=c out=c", image},
      {"concat(x, a)", image, "combination linear zero_to_zero keeps_nonnegative in=c out=c", image},
      {"matmul(x, a, left=channels, right=channels)", image, "zero_to_zero keeps_nonnegative in=chw out=t", image},
      {"matmul(x, a, left=positions, right=positions, softmax=yes)", image,
       "nonnegative keeps_nonnegative sums_to_one in=chwt out=t sum=t", image},
  };
  return rows;
}

TEST(StepFacts, OfEveryPrimitiveAreReadFromItsStages) {
  std::set<std::string> met;
  for (const Row& row : table()) {
    std::vector<Shape> operands{shape_from(row.operand)};
    if (!row.second.empty()) operands.push_back(shape_from(row.second));
    EXPECT_EQ(str(facts_of(row.text, operands)), row.facts) << row.text << " of " << row.operand;
    met.insert(row.text.substr(0, row.text.find('(')));
  }
  for (const Primitive* primitive : catalog())
    EXPECT_TRUE(met.contains(std::string(primitive->name))) << primitive->name;
}

TEST(StepFacts, SayThatAStrideOfOneDoesNothing) {
  const SiteSet sites({{8, 16, 6, 7, 1}}, testing::test_choices());
  EXPECT_EQ(str(facts_of("stride(x)", {shape_from(full)}, sites)),
            "view nothing permutation keeps_shape linear zero_to_zero keeps_nonnegative");
}

TEST(StepFacts, CountTheElementsOfAMatrix) {
  const StepFacts facts = facts_of("linear(x, to=Ci)", {shape_from("c=Co, h=H, w=W, u=3, v=3")});
  EXPECT_EQ(facts.in_volume.str(), "9*Co");
  EXPECT_EQ(facts.out_volume.str(), "Ci");
}

std::uint64_t form_of(const std::string& text, const std::string& operand) {
  return facts_of(text, {shape_from(operand)}).form.hash;
}

TEST(StepForms, LeaveOutAxesThatAreOnlyPassedOn) {
  EXPECT_EQ(form_of("relu(x)", image), form_of("relu(x)", "u=3, w=W"));
  EXPECT_EQ(form_of("shift(x, axes=h, by=1)", image), form_of("shift(x, axes=h, by=1)", "w=W, h=H"));
  EXPECT_EQ(form_of("group(x, by=g)", image), form_of("group(x, by=g)", "h=H, c=Co, u=3"));
  EXPECT_NE(form_of("relu(x)", image), form_of("abs(x)", image));
  EXPECT_NE(form_of("shift(x, axes=h, by=1)", image), form_of("shift(x, axes=w, by=1)", image));
  EXPECT_NE(form_of("shift(x, axes=h, by=1)", image), form_of("shift(x, axes=h, by=2)", image));
  EXPECT_NE(form_of("shift(x, axes=h, by=1)", image), form_of("shift(x, axes=h, by=1, fill=wrap)", image));
}

TEST(StepForms, CountSizesByTheirValuesAtTheSites) {
  const Shape x = shape_from("c=4*Ci, h=H");
  const SiteSet equal({{8, 8, 4, 5, 1}}, testing::test_choices());
  EXPECT_EQ(facts_of("group(x, by=Ci)", {x}, equal).form, facts_of("group(x, by=Co)", {x}, equal).form);
  EXPECT_EQ(facts_of("group(x, by=g)", {x}).form, facts_of("group(x, by=r)", {x}).form);  // both are 2
  EXPECT_NE(facts_of("group(x, by=g)", {x}).form, facts_of("group(x, by=4)", {x}).form);
}

TEST(StepForms, DoNotKnowTheNamesOfFreeSymbols) {
  const Form a = facts_of("linear(x, to=x0)", {shape_from(image)}).result;
  const Form b = facts_of("linear(x, to=x3)", {shape_from(image)}).result;
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.symbol_count, 1);
  EXPECT_EQ(a.symbols[0], 0);
  EXPECT_EQ(b.symbols[0], 3);
  EXPECT_NE(a.hash, facts_of("linear(x, to=2*x0)", {shape_from(image)}).result.hash);
}

bool undone(const std::string& first, const std::string& second, const std::string& operand) {
  const SiteSet sites = two_sites();
  const Application one = Application::parse(first, {shape_from(operand)});
  const StepFacts then = facts_of(second, {one.shape(sites).value()});
  return undoes(facts_of(first, {shape_from(operand)}), then, sites);
}

TEST(ViewInverse, IsFoundByFollowingEveryElement) {
  EXPECT_TRUE(undone("group(x, by=g)", "merge(x)", image));
  EXPECT_TRUE(undone("group(x, by=4)", "merge(x)", "c=4*x0, h=H"));
  EXPECT_TRUE(undone("merge(x)", "group(x, by=g)", grouped));
  EXPECT_TRUE(undone("transpose(x)", "transpose(x)", grouped));
  EXPECT_TRUE(undone("shuffle(x, by=g)", "shuffle(x, by=Co/g)", image));
  EXPECT_TRUE(undone("shift(x, axes=h, by=1, fill=wrap)", "shift(x, axes=h, by=-1, fill=wrap)", image));
  EXPECT_FALSE(undone("merge(x)", "group(x, by=4)", grouped));
  EXPECT_FALSE(undone("group(x, by=g)", "transpose(x)", image));
  EXPECT_FALSE(undone("shuffle(x, by=g)", "shuffle(x, by=g)", image));
  EXPECT_FALSE(undone("shuffle(x, by=2)", "shuffle(x, by=2)", "c=2*x0, h=H"));
  EXPECT_FALSE(undone("shift(x, axes=h, by=1, fill=wrap)", "shift(x, axes=h, by=1, fill=wrap)", image));
  EXPECT_FALSE(undone("shift(x, axes=h, by=1)", "shift(x, axes=h, by=-1)", image));
  EXPECT_FALSE(undone("shift(x, axes=h, by=1, fill=wrap)", "shift(x, axes=w, by=-1, fill=wrap)", image));
}

}  // namespace
}  // namespace kasimir
