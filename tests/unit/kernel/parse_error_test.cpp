// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

struct Wrong {
  std::string text;
  std::string message;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.text; }

/// A kernel of one step.
std::string step(const std::string& line) { return "kernel k\n" + line + "\nreturn a\n"; }

const Wrong wrong[] = {
    {"", "2: a kernel text begins with `kernel NAME`, found an empty text\n  at k.txt:1:1"},
    {"# only a comment\n", "2: a kernel text begins with `kernel NAME`, found an empty text\n  at k.txt:1:1"},
    {"a = conv(x, to=Co)\n", "2: a kernel text begins with `kernel NAME`\n  at k.txt:1:1: a = conv(x, to=Co)"},
    {"(\n", "2: expected `kernel NAME`, found `(`\n  at k.txt:1:1: ("},
    {"kernel\n", "2: expected the kernel's name, found the end of the line\n  at k.txt:1:7: kernel"},
    {"kernel k v2\n", "2: expected the end of the line, found `v`\n  at k.txt:1:10: kernel k v2"},
    {"kernel k\n  a = conv(x, to=Co)\n", "2: the kernel `k` has no `return`\n  at k.txt:3:1"},
    {"kernel k\nreturn x\n  a = relu(x)\n",
     "2: after `return` only lines `at SITE: x0=24` may follow\n  at k.txt:3:1: a = relu(x)"},
    {"kernel k\nreturn x y\n", "2: expected the end of the line, found `y`\n  at k.txt:2:10: return x y"},
    {"kernel k\nreturn b\n", "2: no step above is named `b`, known: x\n  at k.txt:2:8: return b"},
    {"kernel k\n  = relu(x)\n", "2: expected a step, `return` or `at`, found `=`\n  at k.txt:2:3: = relu(x)"},
    {step("  a relu(x)"), "2: expected `=`, found `r`\n  at k.txt:2:5: a relu(x)"},
    {step("  a ="), "2: expected a primitive, found the end of the line\n  at k.txt:2:6: a ="},
    {step("  a = unfld(x)"), "2: unknown primitive `unfld`, did you mean `unfold`?\n  at k.txt:2:7: a = unfld(x)"},
    {step("  a = relu x"), "2: expected `(`, found `x`\n  at k.txt:2:12: a = relu x"},
    {step("  a = relu(x"), "2: expected `)`, found the end of the line\n  at k.txt:2:13: a = relu(x"},
    {step("  a = relu()"), "2: expected an operand or a parameter, found `)`\n  at k.txt:2:12: a = relu()"},
    {step("  a = relu(x) b"), "2: expected the end of the line, found `b`\n  at k.txt:2:15: a = relu(x) b"},
    {step("  a = relu(z)"), "2: no step above is named `z`, known: x\n  at k.txt:2:12: a = relu(z)"},
    {step("  a = relu(x, x)"), "2: `relu` takes 1 operand, found 2\n  at k.txt:2:7: a = relu(x, x)"},
    {step("  a = concat(x)"), "2: `concat` takes 2 operands, found 1\n  at k.txt:2:7: a = concat(x)"},
    {step("  a = conv(to=Co, x)"), "2: operands come before parameters\n  at k.txt:2:19: a = conv(to=Co, x)"},
    {step("  a = relu(x, by=2)"), "2: `relu` has no parameters, found `by`\n  at k.txt:2:15: a = relu(x, by=2)"},
    {step("  a = conv(x, to=Co, windw=3)"),
     "2: `conv` has no parameter `windw`, did you mean `window`?\n  at k.txt:2:22: a = conv(x, to=Co, windw=3)"},
    {step("  a = conv(x, to=Co, to=Ci)"),
     "2: the parameter `to` is given twice\n  at k.txt:2:22: a = conv(x, to=Co, to=Ci)"},
    {step("  a = conv(x)"),
     "2: `conv` needs the parameter `to`: number of channels of the result\n  at k.txt:2:7: a = conv(x)"},
    {step("  a = pool(x, by=mux)"),
     "2: `by` cannot be `mux`, did you mean `max`?\n  at k.txt:2:18: a = pool(x, by=mux)"},
    {step("  a = conv(x, to=Co, window=big)"),
     "2: `window` takes whole numbers of at most 1000, found `big`\n  at k.txt:2:29: a = conv(x, to=Co, window=big)"},
    {step("  a = conv(x, to=Co, window=(3,1001))"),
     "2: `window` takes whole numbers of at most 1000, found `1001`\n"
     "  at k.txt:2:29: a = conv(x, to=Co, window=(3,1001))"},
    {step("  a = conv(x, to=Co, window=(3,3,3))"),
     "2: `window` takes one or two whole numbers, found `(3,3,3)`\n"
     "  at k.txt:2:29: a = conv(x, to=Co, window=(3,3,3))"},
    {step("  a = fold(x, axes=(h,q))"),
     "2: `q` is no axis; axes are g (group), c (channel), u v (window), h w (height, width), t (token)\n"
     "  at k.txt:2:20: a = fold(x, axes=(h,q))"},
    {step("  a = fold(x, axes=n)"),
     "2: `n` is no axis; axes are g (group), c (channel), u v (window), h w (height, width), t (token)\n"
     "  at k.txt:2:20: a = fold(x, axes=n)"},
    {step("  a = mix(x, over=c, to=c)"),
     "2: `to` takes axes with sizes such as (c=Co,u=3), found `c`\n  at k.txt:2:25: a = mix(x, over=c, to=c)"},
    {step("  a = linear(x, to=0)"), "2: a size is above 0, found `0`\n  at k.txt:2:20: a = linear(x, to=0)"},
    {step("  a = mix(x, over=c, to=(c=-4))"),
     "2: a size is above 0, found `-4`\n  at k.txt:2:25: a = mix(x, over=c, to=(c=-4))"},
    {step("  a = linear(x, to=2*N)"),
     "2: a size cannot depend on the batch `N`, found `2*N`\n  at k.txt:2:20: a = linear(x, to=2*N)"},
    {step("  a = group(x, by=g)"),
     "2: the choice symbol `g` has no value, write a line such as `given g=4` above\n"
     "  at k.txt:2:7: a = group(x, by=g)"},
    {step("  a = mix(x, over=c, to=(c=Co/r))"),
     "2: the choice symbol `r` has no value, write a line such as `given r=4` above\n"
     "  at k.txt:2:7: a = mix(x, over=c, to=(c=Co/r))"},
    {step("  x = relu(x)"), "2: the name `x` is taken already\n  at k.txt:2:1: x = relu(x)"},
    {"kernel k\n  a = relu(x)\n  a = relu(a)\nreturn a\n",
     "2: the name `a` is taken already\n  at k.txt:3:1: a = relu(a)"},
    {step("given Ci=4"), "2: `Ci` is no choice symbol; choice symbols are g, r and k\n  at k.txt:2:7: given Ci=4"},
    {step("given g=4 g=2"), "2: `g` is given twice\n  at k.txt:2:11: given g=4 g=2"},
    {step("given g"), "2: expected `=`, found the end of the line\n  at k.txt:2:8: given g"},
    {step("given g=0"), "2: expected a whole number of at least 1, found `0`\n  at k.txt:2:9: given g=0"},
    {step("given g=four"), "2: expected a whole number of at least 1, found `four`\n  at k.txt:2:9: given g=four"},
    {"kernel k\nreturn x\nat 4->4x3x3\n", "2: expected `at SITE: x0=24`\n  at k.txt:3:4: at 4->4x3x3"},
    {"kernel k\nreturn x\nat 4->4x3: x0=8\n",
     "2: site `4->4x3`: found 2 numbers after `->`, needed 3\n  at k.txt:3:4: at 4->4x3: x0=8"},
    {"kernel k\nreturn x\nat 4->4x3x3: g=8\n",
     "2: expected a free symbol with a whole number such as x0=24, found `g=8`\n  at k.txt:3:4: at 4->4x3x3: g=8"},
    {"kernel k\nreturn x\nat 4->4x3x3: x0=0\n",
     "2: expected a free symbol with a whole number such as x0=24, found `x0=0`\n  at k.txt:3:4: at 4->4x3x3: x0=0"},
};

class ParseError : public ::testing::TestWithParam<Wrong> {};

TEST_P(ParseError, SaysWhatAndWhere) {
  EXPECT_EQ(testing::thrown_by([] { return parse_kernel(GetParam().text, catalog(), "k.txt"); }), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Kernel, ParseError, ::testing::ValuesIn(wrong));

TEST(ParseErrors, OfASizeKeepTheSizesOwnMessage) {
  const std::string thrown =
      testing::thrown_by([] { return parse_kernel(step("  a = linear(x, to=Co/q)"), catalog(), "k.txt"); });
  EXPECT_EQ(thrown,
            testing::thrown_by([] { return Size::parse("Co/q"); }) + "\n  at k.txt:2:20: a = linear(x, to=Co/q)");
}

TEST(ParseErrors, NameTheTextByItsDefault) {
  EXPECT_EQ(testing::thrown_by([] { return parse_kernel("", catalog()); }),
            "2: a kernel text begins with `kernel NAME`, found an empty text\n  at kernel:1:1");
}

const SiteSet& sites() {
  static const SiteSet two({{64, 64, 8, 8, 1}, {64, 96, 4, 4, 2}}, {});
  return two;
}

TEST(ParseAndCheck, NamesTheRuleAndTheStep) {
  EXPECT_EQ(testing::thrown_by([] {
              return parse_and_check(
                  "kernel k\ngiven g=5\n  a = stride(x)\n  b = group(a, by=g)\n"
                  "  c = linear(b, to=Co)\nreturn c\n",
                  catalog(), sites(), "k.txt");
            }),
            "2: the kernel `k` in k.txt is not legal: group: the factor divides the channels\n"
            "  c=Ci by g, in `b = group(a, by=g)`");
}

TEST(ParseAndCheck, RefusesAResultOfAnotherShape) {
  EXPECT_EQ(testing::thrown_by([] {
              return parse_and_check("kernel k\n  a = stride(x)\n  b = linear(a, to=Co/2)\nreturn b\n", catalog(),
                                     sites(), "k.txt");
            }),
            "2: the kernel `k` in k.txt is not legal: the result has the axes c=Co, h=H, w=W\n"
            "  b = [c=Co/2, h=H, w=W]");
}

TEST(ParseAndCheck, RefusesAStepThatNothingReads) {
  EXPECT_EQ(testing::thrown_by([] {
              return parse_and_check("kernel k\n  a = conv(x, to=Co, stride=yes)\n  b = relu(a)\nreturn a\n", catalog(),
                                     sites(), "k.txt");
            }),
            "2: the kernel `k` in k.txt is not legal: every step is used\n  `b = relu(a)` is read by nothing");
}

TEST(ParseAndCheck, KnowsTheChoicesOfTheText) {
  const Kernel kernel = parse_and_check("kernel k\ngiven g=32\n  a = conv(x, to=Co, groups=g, stride=yes)\nreturn a\n",
                                        catalog(), sites());
  EXPECT_EQ(kernel.choices[Symbol::g], 32);
}

}  // namespace
}  // namespace kasimir
