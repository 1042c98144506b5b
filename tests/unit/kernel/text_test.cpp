// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

std::string again(const std::string& text) { return str(parse_kernel(text, catalog())); }

TEST(KernelText, IsTheOnlyTextOfAKernel) {
  EXPECT_EQ(again("# a comment\n\nkernel  squeeze # another\n"
                  "given r = 4\n"
                  "gate=fold( x , axes=(w,h), by=mean)\n"
                  "\tsmall = linear(gate, to=Co / r)   # the default way is left out\n"
                  "big = linear(small, to=Co)\n"
                  "y = conv(x, window=(3,1), to=Co, stride=no, groups=1)\n"
                  "out = broadcast(big, y, op=mul)\n"
                  "return out\n"
                  "at 64->96x8x8/2: x0=24\n"),
            "kernel squeeze\n"
            "given r=4\n"
            "  a = fold(x, axes=(h,w))\n"
            "  b = linear(a, to=Co/r)\n"
            "  c = linear(b, to=Co)\n"
            "  d = conv(x, to=Co, window=(3,1))\n"
            "  e = broadcast(c, d, op=mul)\n"
            "return e\n"
            "at Ci=64 Co=96 H=8 W=8 s=2: x0=24\n");
}

/// Every kind of argument, at its default and elsewhere.
TEST(KernelText, RoundTripsEveryKindOfArgument) {
  const std::string text =
      "kernel all\n"
      "given g=4 r=2 k=3\n"
      "  a = unfold(x, axes=w, window=5, dilation=2)\n"
      "  b = unfold(x)\n"
      "  c = shift(x, axes=(c,h), by=(1,-2), fill=wrap)\n"
      "  d = shift(x, axes=h, by=3)\n"
      "  e = mix(x, over=(g,c), to=(g=g,c=Co/(2*g),u=k,v=3))\n"
      "  f = conv(x, to=x0, window=(1,7), dilation=(1,2), groups=Ci, stride=yes)\n"
      "  g = fold(x, axes=(u,v,t), by=max)\n"
      "  h = matmul(x, a, left=token, right=positions, softmax=yes)\n"
      "  i = concat(h, g)\n"
      "return i\n"
      "at Ci=4 Co=8 H=3 W=3 s=1: x0=24 x1=3\n"
      "at Ci=8 Co=8 H=2 W=2 s=2: x0=16 x1=5\n";
  EXPECT_EQ(again(text), text);
}

TEST(KernelText, ReadsChoicesOnSeveralLinesAndBetweenSteps) {
  EXPECT_EQ(again("kernel k\ngiven g=4\n  a = group(x, by=g)\ngiven r=2\n  b = linear(a, to=Co/r)\nreturn b\n"),
            "kernel k\ngiven g=4 r=2\n  a = group(x, by=g)\n  b = linear(a, to=Co/r)\nreturn b\n");
}

TEST(KernelText, ReadsLinesWithCarriageReturns) {
  EXPECT_EQ(again("kernel k\r\n  a = relu(x)\r\nreturn a\r\n"), "kernel k\n  a = relu(x)\nreturn a\n");
}

TEST(KernelText, MayUseItsOwnWordsAsNames) {
  EXPECT_EQ(again("kernel kernel\n  at = relu(x)\n  relu = relu(at)\nreturn relu\n"),
            "kernel kernel\n  a = relu(x)\n  b = relu(a)\nreturn b\n");
}

TEST(TensorNames, AreDifferentAndNeverTheInputsOrTheOutputs) {
  EXPECT_EQ(tensor_name(0), "x");
  EXPECT_EQ(tensor_name(1), "a");
  EXPECT_EQ(tensor_name(23), "w");
  EXPECT_EQ(tensor_name(24), "a1");
  EXPECT_EQ(tensor_name(47), "a2");
  std::set<std::string> names;
  for (int i = 0; i < 500; ++i) names.insert(tensor_name(i));
  EXPECT_EQ(names.size(), 500U);
  EXPECT_FALSE(names.contains("y"));
}

TEST(KernelText, OfAHundredStepsRoundTrips) {
  std::string text = "kernel deep\n";
  for (int i = 1; i <= 100; ++i)
    text += fmt::format("  {} = {}({})\n", tensor_name(i), i % 2 == 0 ? "relu" : "tanh", tensor_name(i - 1));
  text += "return " + tensor_name(100) + "\n";
  EXPECT_EQ(again(text), text);
}

TEST(Kernel, KnowsItsFreeSymbolsAndItsFits) {
  const Kernel kernel = parse_kernel(
      "kernel k\n  a = linear(x, to=x3)\n  b = mix(a, over=c, to=(c=2*x1))\n  c = linear(b, to=Co)\nreturn c\n"
      "at 4->4x3x3: x1=5 x3=7\n",
      catalog());
  EXPECT_EQ(kernel.free_symbols(), (std::vector<Symbol>{Symbol::x1, Symbol::x3}));
  EXPECT_EQ(kernel.fit_at({4, 4, 3, 3, 1})[Symbol::x3], 7);
  EXPECT_EQ(kernel.fit_at({4, 4, 3, 3, 2}), Binding());
}

TEST(Substitute, RewritesEveryArgument) {
  Kernel kernel = parse_kernel(
      "kernel k\n  a = linear(x, to=x0)\n  b = mix(a, over=c, to=(c=2*x0,u=3))\n  c = linear(b, to=x1)\nreturn c\n",
      catalog());
  substitute(kernel, {Symbol::x0, Size::parse("Ci/2")});
  EXPECT_EQ(
      str(kernel),
      "kernel k\n  a = linear(x, to=Ci/2)\n  b = mix(a, over=c, to=(c=Ci,u=3))\n  c = linear(b, to=x1)\nreturn c\n");
}

}  // namespace
}  // namespace kasimir
