// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/catalog.h"
#include "kasimir/base/text.h"

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
  EXPECT_NE(primitive.propose, nullptr);
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

INSTANTIATE_TEST_SUITE_P(Catalog, Record, ::testing::ValuesIn(catalog().begin(), catalog().end()),
                         [](const auto& record) { return std::string(record.param->name); });

}  // namespace
}  // namespace kasimir
