// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/inline_copies.h"

#include "kasimir/interp/real.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

std::vector<double> run(const BoundGraph& graph) {
  Rng rng(17);
  TensorValues<double> values = random_values(graph, rng);
  RealDomain domain;
  evaluate(graph, domain, values);
  return values[static_cast<std::size_t>(graph.output)];
}

/// The stages after inlining, without the weights' lines; values and rules are checked on the way.
std::string inlined(const std::string& steps, const Site& site = {4, 8, 3, 5, 2}) {
  const Kernel kernel = parse_kernel("kernel k\ngiven g=2\n" + steps, catalog());
  const BoundGraph graph = lower_at(kernel, site, 2).value();
  const BoundGraph result = inline_copies(graph);
  const auto broken = verify(result);
  EXPECT_FALSE(broken.has_value()) << broken->str();
  EXPECT_EQ(run(result), run(graph));
  std::string text;
  for (const BoundStage& stage : result.stages) text += str(result, stage) + "\n";
  return text;
}

TEST(InlineCopies, MakesUnfoldAndLinearOneConvolution) {
  EXPECT_EQ(inlined("  a = unfold(x, dilation=2)\n  b = stride(a)\n  c = linear(b, to=Co)\nreturn c\n"),
            "y[n0<2, c0<8, h0<3, w0<5] = sum[c1<4 u0<3 v0<3] "
            "x[n0, c1, 2*h0 + 2*u0 - 2, 2*w0 + 2*v0 - 2] * w0[c0, c1, u0, v0]\n");
}

TEST(InlineCopies, MakesGroupAndLinearOneStage) {
  EXPECT_EQ(inlined("  a = stride(x)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\n"),
            "y[n0<2, c(g0<2 c0<4), h0<3, w0<5] = sum[c1<2] x[n0, 2*g0 + c1, 2*h0, 2*w0] * w0[g0, c0, c1]\n");
}

TEST(InlineCopies, SeesThroughShuffleGroupAndTranspose) {
  EXPECT_EQ(
      inlined("  a = stride(x)\n  b = shuffle(a, by=g)\n  c = group(b, by=g)\n  d = linear(c, to=Co)\nreturn d\n"),
      "y[n0<2, c(g0<2 c0<4), h0<3, w0<5] = sum[c1<2] x[n0, 2*c1 + g0, 2*h0, 2*w0] * w0[g0, c0, c1]\n");
}

TEST(InlineCopies, KeepsTheStageOfTheOutput) {
  EXPECT_EQ(inlined("  a = stride(x)\n  b = shift(a, axes=h, by=1)\nreturn b\n", {4, 4, 3, 5, 2}),
            "a[n0<2, c0<4, h0<3, w0<5] = x[n0, c0, 2*h0, 2*w0]\n"
            "y[n0<2, c0<4, h0<3, w0<5] = a[n0, c0, h0 - 1, w0]\n");
}

/// The first shift loses a row, the second looks for it: together they are not the identity.
TEST(InlineCopies, DoesNotMergeShiftsAtTheBorder) {
  EXPECT_EQ(inlined("  a = shift(x, axes=h, by=1)\n  b = shift(a, axes=h, by=-1)\n  c = linear(b, to=Co)\nreturn c\n",
                    {4, 4, 3, 2, 1}),
            "a[n0<2, c0<4, h0<3, w0<2] = x[n0, c0, h0 - 1, w0]\n"
            "c[n0<2, c0<4, h0<3, w0<2] = sum[c1<4] a[n0, c1, h0 + 1, w0] * w0[c0, c1]\n"
            "y[n0<2, c0<4, h0<3, w0<2] = c[n0, c0, h0, w0]\n");
}

TEST(InlineCopies, ReadsAWrappedCopyWhereTheIteratorStandsAlone) {
  EXPECT_EQ(
      inlined("  a = shift(x, axes=(h,w), by=(1,-2), fill=wrap)\n  b = linear(a, to=Co)\nreturn b\n", {4, 8, 3, 5, 1}),
      "b[n0<2, c0<8, h0<3, w0<5] = sum[c1<4] x[n0, c1, wrap(h0 - 1, 3), wrap(w0 + 2, 5)] * w0[c0, c1]\n"
      "y[n0<2, c0<8, h0<3, w0<5] = b[n0, c0, h0, w0]\n");
}

TEST(InlineCopies, KeepsAWrappedCopyUnderAWindowOrAStride) {
  EXPECT_EQ(
      inlined("  a = shift(x, axes=h, by=1, fill=wrap)\n  b = conv(a, to=Co, window=(1,3), stride=yes)\nreturn b\n"),
      "a[n0<2, c0<4, h0<6, w0<10] = x[n0, c0, wrap(h0 - 1, 6), w0]\n"
      "y[n0<2, c0<8, h0<3, w0<5] = sum[c1<4 v0<3] a[n0, c1, 2*h0, 2*w0 + v0 - 1] * w0[c0, c1, v0]\n");
}

/// A copy may be zero just where a strided reader looks: then it stays a stage, since no read may be always outside.
TEST(InlineCopies, KeepsACopyThatIsZeroWhereItIsRead) {
  EXPECT_EQ(inlined("  a = shift(x, axes=h, by=1)\n  b = stride(a)\n  c = linear(b, to=Co)\n  d = pool(x)\n"
                    "  e = linear(d, to=Co)\n  f = broadcast(c, e)\nreturn f\n",
                    {4, 8, 1, 2, 2})
                .substr(0, 50),
            "a[n0<2, c0<4, h0<2, w0<4] = x[n0, c0, h0 - 1, w0]\n");
}

TEST(InlineCopies, KeepsACopyWhosePaddingAFunctionChanges) {
  EXPECT_EQ(inlined("  a = unfold(x)\n  b = exp(a)\n  c = stride(b)\n  d = linear(c, to=Co)\nreturn d\n"),
            "b[n0<2, c0<4, h0<6, w0<10, u0<3, v0<3] = exp(x[n0, c0, h0 + u0 - 1, w0 + v0 - 1])\n"
            "y[n0<2, c0<8, h0<3, w0<5] = sum[c1<4 u0<3 v0<3] b[n0, c1, 2*h0, 2*w0, u0, v0] * w0[c0, c1, u0, v0]\n");
}

TEST(InlineCopies, LeavesAConcatenationWhole) {
  EXPECT_EQ(inlined("  a = stride(x)\n  b = concat(a, a)\nreturn b\n"),
            "a[n0<2, c0<4, h0<3, w0<5] = x[n0, c0, 2*h0, 2*w0]\n"
            "b[n0<2, c0<8, h0<3, w0<5] = a[n0, c0, h0, w0] | a[n0, c0 - 4, h0, w0]\n"
            "y[n0<2, c0<8, h0<3, w0<5] = b[n0, c0, h0, w0]\n");
}

/// One iterator over both digits would need to be divided; the copies before the joined axis are gone all the same.
TEST(InlineCopies, KeepsAJoinThatIsReadWhole) {
  EXPECT_EQ(inlined("  a = stride(x)\n  b = group(a, by=g)\n  c = merge(b)\n  d = linear(c, to=Co)\nreturn d\n"),
            "c[n0<2, c(g0<2 c0<2), h0<3, w0<5] = x[n0, 2*g0 + c0, 2*h0, 2*w0]\n"
            "y[n0<2, c0<8, h0<3, w0<5] = sum[c1<4] c[n0, c1, h0, w0] * w0[c0, c1]\n");
}

}  // namespace
}  // namespace kasimir
