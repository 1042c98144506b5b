// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/catalog.h"
#include "kasimir/base/text.h"
#include "kasimir/kernel/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

TEST(Catalog, HasThePrimitivesInTheOrderOfTheList) {
  EXPECT_THAT(primitive_names(catalog()),
              ::testing::ElementsAre("group", "merge", "shift", "unfold", "stride", "pool", "transpose", "shuffle",
                                     "linear", "conv", "mix", "scale", "norm", "relu", "gelu", "sigmoid", "tanh",
                                     "hardswish", "abs", "exp", "neg", "sin", "sqrt", "square", "fold", "softmax",
                                     "broadcast", "matmul", "concat"));
}

TEST(Catalog, FindsARecordByItsName) {
  ASSERT_NE(find_primitive(catalog(), "unfold"), nullptr);
  EXPECT_EQ(find_primitive(catalog(), "unfold")->name, "unfold");
  EXPECT_EQ(find_primitive(catalog(), "unfol"), nullptr);
}

TEST(Catalog, NamesEachFamily) {
  EXPECT_EQ(family_name(Family::rearranging), "rearranging");
  EXPECT_EQ(family_name(Family::arithmetic), "arithmetic");
  EXPECT_EQ(family_name(Family::blending), "blending");
}

class Record : public ::testing::TestWithParam<const Primitive*> {};

TEST_P(Record, IsCompleteAndDocumented) {
  const Primitive& primitive = *GetParam();
  EXPECT_FALSE(primitive.brief.empty());
  EXPECT_FALSE(primitive.source.empty());
  EXPECT_NE(primitive.brief.back(), '.');
  EXPECT_GT(primitive.weight, 0.0);
  EXPECT_EQ(primitive.operands, primitive.family == Family::blending ? 2 : 1);
  EXPECT_NE(primitive.shape, nullptr);
  EXPECT_NE(primitive.stages, nullptr);
  EXPECT_NE(primitive.offers, nullptr);
}

TEST_P(Record, DocumentsItsParameters) {
  std::set<std::string_view> names;
  for (const Param& param : GetParam()->params) {
    EXPECT_TRUE(names.insert(param.name).second) << param.name << " twice";
    EXPECT_FALSE(param.brief.empty()) << param.name;
    EXPECT_EQ(param.words.empty(), param.kind != ParamKind::word) << param.name;
    if (param.kind == ParamKind::word && !param.fallback.empty()) {
      EXPECT_NE(std::ranges::find(param.words, param.fallback), param.words.end()) << param.name;
    }
  }
}

/// A set of axes may be empty in a text: the shape rule refuses it, or the stages have a meaning for it.
TEST_P(Record, AnEmptySetOfAxesIsRefusedOrHasAMeaning) {
  const Primitive& primitive = *GetParam();
  Binding choices;
  choices.set(Symbol::g, 2).set(Symbol::r, 2);
  const SiteSet sites({{8, 8, 4, 6, 2}}, choices);
  const Size s(Symbol::s);
  const Shape x{{AxisKind::group, Size(Symbol::g)},
                {AxisKind::channel, Size(4)},
                {AxisKind::height, s * Size(Symbol::H)},
                {AxisKind::width, s * Size(Symbol::W)},
                {AxisKind::window_h, Size(3)}};
  const auto offers = primitive.offers(Proposer({&x, &x}, sites));
  if (!offers.ok()) return;
  constexpr std::uint64_t seed = 1;
  Rng rng(seed);
  Draw drawn = draw(*offers, rng);
  for (std::size_t i = 0; i < primitive.params.size(); ++i)
    if (primitive.params[i].kind == ParamKind::axes) drawn.arguments[i] = AxisSet();
  const std::vector<Shape> operands(static_cast<std::size_t>(primitive.operands), x);
  const Call call(primitive, operands, drawn.arguments, sites);
  if (!primitive.shape(call).ok()) return;
  Graph graph;
  Tensor tensor;
  tensor.role = Role::input;
  tensor.axes = {{AxisKind::batch, Size(Symbol::N)}};
  for (const Axis& axis : x) tensor.axes.push_back({axis.kind, axis.extent});
  graph.tensors = {tensor, tensor};
  StageBuilder build(graph, {0, 1}, 0);
  EXPECT_NO_THROW(primitive.stages(call, build)) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Catalog, Record, ::testing::ValuesIn(catalog().begin(), catalog().end()),
                         [](const auto& record) { return std::string(record.param->name); });

}  // namespace
}  // namespace kasimir
