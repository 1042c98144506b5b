// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/kernel.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

std::string rejection(const std::string& text, std::vector<Site> sites) {
  const Kernel kernel = parse_kernel("kernel k\n" + text, catalog());
  const auto graph = lower(kernel, SiteSet(std::move(sites), kernel.choices));
  return graph.ok() ? "legal" : graph.rejection().str();
}

const Site plain{8, 8, 4, 4, 1};
const Site wider{8, 16, 2, 4, 2};

TEST(Lower, AcceptsEqualNumbersUnderOtherNames) {
  EXPECT_EQ(rejection("  a = relu(x)\nreturn a\n", {plain}), "legal");
  EXPECT_EQ(rejection("  a = relu(x)\nreturn a\n", {plain, wider}),
            "the result has the axes c=Co, h=H, w=W (a = [c=Ci, h=H*s, w=W*s])");
}

TEST(Lower, TakesTheInputItselfForAResult) {
  const Kernel kernel = parse_kernel("kernel identity\nreturn x\n", catalog());
  const auto graph = lower_at(kernel, plain, 2);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(str(*graph), "y[n0<2, c0<8, h0<4, w0<4] = x[n0, c0, h0, w0]\n");
  EXPECT_FALSE(verify(*graph).has_value());
}

TEST(Lower, RefusesAnUnusedStep) {
  EXPECT_EQ(rejection("  a = relu(x)\n  b = tanh(x)\nreturn a\n", {plain}),
            "every step is used (`b = tanh(x)` is read by nothing)");
}

TEST(Lower, NamesTheStepWhoseExtentIsNotWhole) {
  EXPECT_EQ(rejection("  a = linear(x, to=Co/3)\n  b = linear(a, to=Co)\nreturn b\n", {plain}),
            "linear: the groups divide the new channels (to=Co/3 with g=1, in `a = linear(x, to=Co/3)`)");
  EXPECT_EQ(rejection("  a = mix(x, over=c, to=(c=Co/3))\n  b = linear(a, to=Co)\nreturn b\n", {plain}),
            "every extent is a whole number at every site (c=Co/3, in `a = mix(x, over=c, to=(c=Co/3))`)");
}

TEST(Lower, RefusesTwoAxesOfAKind) {
  EXPECT_EQ(rejection("  a = mix(x, over=c, to=(c=4,c=8))\n  b = linear(a, to=Co)\nreturn b\n", {plain}),
            "a tensor has one axis of a kind ([c=4, c=8, h=H*s, w=W*s], in `a = mix(x, over=c, to=(c=4,c=8))`)");
}

TEST(LowerAt, NeedsAValueForEveryFreeSymbol) {
  const Kernel kernel =
      parse_kernel("kernel k\n  a = linear(x, to=x0)\n  b = conv(a, to=Co)\nreturn b\nat 8->8x4x4: x0=3\n", catalog());
  ASSERT_TRUE(lower_at(kernel, plain, 1).ok());
  EXPECT_EQ(lower_at(kernel, {8, 8, 4, 5, 1}, 1).rejection().str(),
            "every free symbol has a value (x0 at Ci=8 Co=8 H=4 W=5 s=1)");
}

TEST(LowerAt, RefusesAFitThatIsNotWhole) {
  const Kernel kernel = parse_kernel(
      "kernel k\ngiven g=2\n  a = linear(x, to=x0)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\nat "
      "8->8x4x4: x0=3\n",
      catalog());
  EXPECT_EQ(lower_at(kernel, plain, 1).rejection().str(), "size is whole (x0/g = 3/2 at g=2 x0=3)");
}

TEST(LowerAt, NamesTensorsAsTheText) {
  const Kernel kernel = parse_kernel("kernel k\n  a = softmax(x, axes=c)\n  b = relu(a)\nreturn b\n", catalog());
  const auto graph = lower_at(kernel, plain, 1);
  ASSERT_TRUE(graph.ok());
  std::vector<std::string> names;
  for (const auto& tensor : graph->tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "t0", "t1", "t2", "a", "b", "y"}));
  EXPECT_EQ(graph->stages[3].step, 0);
  EXPECT_EQ(graph->stages[4].step, 1);
  EXPECT_EQ(graph->stages[5].step, -1);
}

TEST(IndependentOfResolution, SeesAWeightWithRows) {
  const auto independent = [](const std::string& text) {
    const Kernel kernel = parse_kernel("kernel k\n" + text, catalog());
    return independent_of_resolution(lower(kernel, SiteSet({plain}, kernel.choices)).value());
  };
  EXPECT_TRUE(independent("  a = linear(x, to=Co)\nreturn a\n"));
  EXPECT_FALSE(independent("  a = scale(x, axes=(c,h))\nreturn a\n"));
  EXPECT_FALSE(independent("  a = mix(x, over=(h,w), to=(h=H,w=W))\nreturn a\n"));
  EXPECT_FALSE(
      independent("  a = matmul(x, x, left=channels, right=channels)\n  b = scale(a, axes=t)\n"
                  "  c = matmul(b, x, left=token, right=positions)\nreturn c\n"));
}

}  // namespace
}  // namespace kasimir
