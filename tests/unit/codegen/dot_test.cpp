// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/dot.h"

#include "kasimir/primitive/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/thrown.h"

namespace kasimir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Kernel gate() {
  return parse_kernel(
      "kernel gate\n"
      "  a = unfold(x, window=5, dilation=2)\n"
      "  b = linear(a, to=Co)\n"
      "  c = sigmoid(b)\n"
      "  d = broadcast(c, b, op=mul)\n"
      "return d\n",
      catalog());
}

const SiteSet& one_site() {
  static const SiteSet sites({Site::parse("16->32x8x8")}, Binding());
  return sites;
}

TEST(Dot, DrawsStepsParametersShapesAndFamilies) {
  EXPECT_EQ(to_dot(gate(), one_site()), R"(digraph "gate" {
  graph [rankdir=TB, bgcolor=transparent, nodesep=0.3, ranksep=0.35];
  node [fontname="Helvetica,Arial,sans-serif", fontsize=12, margin="0.15,0.08"];
  edge [fontname="Helvetica,Arial,sans-serif", fontsize=11, arrowsize=0.8];
  x [label="input x", shape=oval, style=filled, fillcolor="#FFFFFF"];
  a [label="unfold\nwindow=5\ndilation=2", shape=box, style="filled", fillcolor="#56B4E9", penwidth=1];
  b [label="linear\nto=Co", shape=box, style="filled,rounded", fillcolor="#E69F00", penwidth=3];
  c [label="sigmoid", shape=box, style="filled,rounded", fillcolor="#E69F00", penwidth=1];
  d [label="broadcast\nop=mul", shape=octagon, style="filled", fillcolor="#009E73", penwidth=1];
  y [label="output", shape=oval, style=filled, fillcolor="#FFFFFF"];
  x -> a [label=" [c=Ci, h=H*s, w=W*s] "];
  a -> b [label=" [c=Ci, h=H*s, w=W*s, u=5, v=5] "];
  b -> c [label=" [c=Co, h=H*s, w=W*s] "];
  c -> d [label=" 1: [c=Co, h=H*s, w=W*s] "];
  b -> d [label=" 2: [c=Co, h=H*s, w=W*s] "];
  d -> y [label=" [c=Co, h=H*s, w=W*s] "];
}
)");
}

TEST(Dot, QuotesWhatDotWouldRead) {
  Kernel kernel = gate();
  kernel.name = "a\"b\\c";
  EXPECT_THAT(to_dot(kernel, one_site()), StartsWith("digraph \"a\\\"b\\\\c\" {\n"));
}

TEST(Dot, NamesTheRuleAndTheStepOfAKernelWithoutShapes) {
  const Kernel kernel = parse_kernel("kernel broken\n  a = linear(x, to=Co/5)\nreturn a\n", catalog());
  EXPECT_EQ(testing::thrown_by([&] { return to_dot(kernel, one_site()); }),
            "2: kernel broken cannot be drawn: linear: the groups divide the new channels (to=Co/5 with g=1, in `a = "
            "linear(x, to=Co/5)`)");
}

TEST(Svg, IsOneElementThatMayBePutIntoAPage) {
  const std::string svg = to_svg(to_dot(gate(), one_site()));
  EXPECT_THAT(svg, StartsWith("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>"));
  EXPECT_THAT(svg, HasSubstr(">window=5</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(" id=")));
  EXPECT_THAT(svg, Not(HasSubstr("<!")));
  EXPECT_THAT(svg, Not(HasSubstr("<?xml")));
}

TEST(Svg, DrawsGraphsLargerThanAPipe) {
  std::string dot = "digraph {\n";
  for (int i = 0; i < 3000; ++i) dot += fmt::format("  \"a node with a rather long name, number {}\";\n", i);
  ASSERT_GT(dot.size(), 128U << 10);
  EXPECT_THAT(to_svg(dot + "}\n"), HasSubstr("number 2999<"));
}

TEST(Svg, SaysWhatToInstallWhereTheProgramIsMissing) {
  EXPECT_EQ(testing::thrown_by([] { return to_svg("digraph {}", "no-such-dot"); }),
            "4: cannot run `no-such-dot`, which draws graphs: No such file or directory\n"
            "  install the Debian package graphviz");
}

TEST(Svg, PassesOnWhatTheProgramSays) {
  EXPECT_THAT(testing::thrown_by([] { return to_svg("digraph {"); }),
              StartsWith("2: `dot` refused the graph (exit code 1): Error: <stdin>: syntax error in line 1"));
}

TEST(Svg, RefusesAProgramThatDrawsNothing) {
  EXPECT_EQ(testing::thrown_by([] { return to_svg("digraph {}", "true"); }), "4: `true` gave no <svg> element");
}

TEST(Families, HaveDistinctColours) {
  EXPECT_EQ(family_colour(Family::rearranging), "#56B4E9");
  EXPECT_EQ(family_colour(Family::arithmetic), "#E69F00");
  EXPECT_EQ(family_colour(Family::blending), "#009E73");
}

}  // namespace
}  // namespace kasimir
