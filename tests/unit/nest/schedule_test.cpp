// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/schedule.h"

#include "kasimir/kernel/kernel.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/sub_batches.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

NestProgram scheduled(const std::string& steps, const Site& site = {8, 8, 4, 4, 1}, std::int64_t batch = 2) {
  const Kernel kernel = parse_kernel("kernel k\ngiven g=2\n" + steps, catalog());
  return schedule(simplify(freeze(lower_at(kernel, site, batch).value())));
}

TEST(Schedule, ComputesAFunctionBeforeTheViewsOfItsArgument) {
  EXPECT_EQ(str(scheduled("  a = unfold(x)\n  b = relu(a)\n  c = linear(b, to=Co)\nreturn c\n")),
            "b.lifted[n0, c1, h2, w3] = relu(x[n0, c1, h2, w3]) for n0<2 c1<8 h2<4 w3<4\n"
            "y[n0, c1, h2, w3] = sum (b.lifted[n0, c4, h2 + u5 - 1, w3 + v6 - 1] * w0[c1, c4, u5, v6]) for n0<2 c1<8 "
            "h2<4 w3<4 | c4<8 u5<3 v6<3\n");
}

TEST(Schedule, KeepsAFunctionBehindViewsWhereZeroWouldChange) {
  // sigmoid(0) is not 0: the zeros around the map must pass through it.
  const std::string text = str(scheduled("  a = unfold(x)\n  b = sigmoid(a)\n  c = linear(b, to=Co)\nreturn c\n"));
  EXPECT_NE(text.find("b[n0, c1, h2, w3, u4, v5] = sigmoid(x["), std::string::npos) << text;
}

TEST(Schedule, MakesABatchNormTheEpilogueOfTheProductBeforeIt) {
  const NestProgram program = scheduled("  a = conv(x, to=Co)\n  b = norm(a)\n  c = relu(b)\nreturn c\n");
  ASSERT_EQ(program.run.size(), 1U);
  EXPECT_EQ(program.prepare.size(), 2U) << "a scale and an offset that are known beforehand";
  const std::string text = str(program, program.run[0]);
  EXPECT_NE(text.find(" then relu(((_ * "), std::string::npos) << text;
}

TEST(Schedule, GivesASumTheLastOfSeveralProductsForItsEpilogue) {
  const NestProgram program = scheduled(
      "  a = conv(x, to=Co)\n  b = linear(x, to=Co)\n  c = broadcast(a, b, op=add)\n  d = relu(c)\nreturn d\n");
  ASSERT_EQ(program.run.size(), 2U) << str(program);
  EXPECT_TRUE(program.run[0].epilogue.empty());
  EXPECT_FALSE(program.run[1].epilogue.empty());
}

TEST(SubBatches, CoverAllNestsAndDivideTheBatch) {
  const NestProgram whole = scheduled(
      "  a = conv(x, to=Co, stride=yes)\n  b = relu(a)\n  c = conv(b, to=Co)\n  d = fold(c, axes=(h,w))\n"
      "  e = sigmoid(d)\n  f = broadcast(e, c, op=mul)\nreturn f\n",
      {8, 8, 8, 8, 2}, 12);
  for (std::int64_t cache : {1, 10'000, 100'000, 100'000'000})
    for (std::int64_t most : {1, 5, 6, 12}) {
      const NestProgram cut = with_sub_batches(whole, cache, most);
      std::size_t next = 0;
      std::int64_t before = 1;
      for (const Segment& segment : cut.segments) {
        EXPECT_EQ(segment.begin, next);
        EXPECT_GT(segment.end, segment.begin);
        next = segment.end;
        EXPECT_EQ(cut.batch % segment.batch, 0) << cache;
        EXPECT_EQ(segment.batch % before, 0) << cache;
        EXPECT_LE(segment.batch, most);
        before = segment.batch;
        for (std::size_t i = segment.begin; i < segment.end; ++i)
          EXPECT_GE(cut.tensors[static_cast<std::size_t>(cut.run[i].out)].axes[0].extent, segment.batch);
      }
      EXPECT_EQ(next, cut.run.size());
      EXPECT_EQ(cut.batch, 12);
    }
}

}  // namespace
}  // namespace kasimir
