// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/axis.h"
#include "kasimir/kernel/builder.h"
#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

TEST(AxisKinds, HaveDistinctLettersThatReadBack) {
  std::set<char> letters;
  for (int i = 0; i < axis_kind_count; ++i) {
    const auto kind = static_cast<AxisKind>(i);
    letters.insert(axis_letter(kind));
    EXPECT_EQ(axis_from_letter(axis_letter(kind)), kind);
    EXPECT_FALSE(axis_word(kind).empty());
  }
  EXPECT_EQ(letters.size(), static_cast<std::size_t>(axis_kind_count));
  EXPECT_EQ(axis_from_letter('x'), std::nullopt);
}

TEST(Shapes, AnswerForAMissingAxisWithExtentOne) {
  const Shape shape{{AxisKind::channel, Size(Symbol::Ci)}, {AxisKind::height, Size(3)}};
  EXPECT_EQ(find_axis(shape, AxisKind::height), 1);
  EXPECT_EQ(find_axis(shape, AxisKind::width), -1);
  EXPECT_EQ(extent_of(shape, AxisKind::width), Size(1));
  EXPECT_EQ(volume(shape).str(), "3*Ci");
  EXPECT_EQ(volume({}).str(), "1");
  EXPECT_EQ(str(shape), "[c=Ci, h=3]");
  EXPECT_EQ(str(Shape{}), "[]");
}

TEST(AxisSets, ListTheirKindsInOrder) {
  AxisSet set{AxisKind::width, AxisKind::group};
  EXPECT_FALSE(set.empty());
  EXPECT_FALSE(set.has(AxisKind::height));
  set.add(AxisKind::height);
  EXPECT_THAT(set.kinds(), ::testing::ElementsAre(AxisKind::group, AxisKind::height, AxisKind::width));
  EXPECT_TRUE(AxisSet{}.empty());
}

TEST(FunctionTable, NamesEachFunctionOnce) {
  std::set<std::string_view> names;
  for (int i = 0; i < fn_count; ++i) {
    const FnInfo& info = fn_info(static_cast<Fn>(i));
    names.insert(info.name);
    EXPECT_TRUE(info.arity == 1 || info.arity == 2) << info.name;
    EXPECT_EQ(info.ops == 0, static_cast<Fn>(i) == Fn::join) << info.name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(fn_count));
  EXPECT_EQ(fn_info(Fn::hardswish).name, "hardswish");
}

TEST(Coords, AddScaleAndWrap) {
  Graph graph;
  StageBuilder build(graph, {}, 0);
  Draft draft = build.draft();
  const Coord h = draft.left(AxisKind::height, Size(Symbol::H));
  const Coord u = draft.reduced(AxisKind::window_h, Size(3));
  const Coord sum = Size(Symbol::s) * (h + u - SizeSum(1)) + SizeSum(Size(Symbol::H));
  ASSERT_EQ(sum.terms.size(), 2U);
  EXPECT_EQ(sum.terms[1].second.str(), "s");
  EXPECT_EQ(sum.offset.str(), "H - s");
  EXPECT_EQ(wrapped(h, Size(Symbol::H)).wrap, Size(Symbol::H));
}

TEST(Coords, RefuseArithmeticOnAWrap) {
  Graph graph;
  StageBuilder build(graph, {}, 0);
  Draft draft = build.draft();
  const Coord h = draft.left(AxisKind::height, Size(4));
  EXPECT_THAT(testing::thrown_by([&] { return wrapped(h, Size(4)) + h; }), ::testing::HasSubstr("70: internal error"));
  EXPECT_THAT(testing::thrown_by([&] { return Size(2) * wrapped(h, Size(4)); }),
              ::testing::HasSubstr("70: internal error"));
}

}  // namespace
}  // namespace kasimir
