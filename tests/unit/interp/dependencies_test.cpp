// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/dependencies.h"

#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"
#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

View view(const std::string& steps) {
  const Kernel kernel = parse_kernel("kernel k\ngiven g=2 r=4\n" + steps, catalog());
  return analyse(lower_at(kernel, {8, 8, 5, 6, 1}, 1).value());
}

/// What is true of the view, as words.
std::string words(const View& v) {
  std::string all;
  const auto add = [&](bool holds, const char* word) {
    if (holds) all += (all.empty() ? "" : " ") + std::string(word);
  };
  add(v.mixes_channels, "mixes");
  add(v.sees_height, "rows");
  add(v.sees_width, "columns");
  add(v.is_global, "global");
  add(v.is_blind, "blind");
  EXPECT_EQ(v.sees_neighbourhood, v.sees_height || v.sees_width);
  return all;
}

struct Known {
  const char* steps;
  const char* view;
};

void PrintTo(const Known& known, std::ostream* out) { *out << known.steps; }

const Known known[] = {
    {"return x\n", ""},
    {"  a = linear(x, to=Co)\nreturn a\n", "mixes"},
    {"  a = conv(x, to=Ci, groups=Ci)\nreturn a\n", "rows columns"},
    {"  a = conv(x, to=Co)\nreturn a\n", "mixes rows columns"},
    {"  a = conv(x, to=Co, groups=g)\nreturn a\n", "rows columns"},
    {"  a = conv(x, to=Co, window=(1,3))\nreturn a\n", "mixes columns"},
    {"  a = conv(x, to=Co, window=(3,1))\nreturn a\n", "mixes rows"},
    {"  a = conv(x, to=Co, dilation=3)\nreturn a\n", "mixes rows columns"},
    {"  a = unfold(x)\n  b = fold(a, axes=(u,v), by=max)\nreturn b\n", "rows columns"},
    {"  a = conv(x, to=Co, groups=r)\n  b = shuffle(a, by=r)\n  c = group(b, by=r)\n  d = linear(c, to=Co)\nreturn d\n",
     "rows columns"},
    {"  a = conv(x, to=Co, groups=g)\n  b = shuffle(a, by=g)\n  c = group(b, by=g)\n  d = linear(c, to=Co)\nreturn d\n",
     "mixes rows columns"},
    {"  a = shift(x, axes=w, by=1, fill=wrap)\nreturn a\n", "columns"},
    {"  a = shift(x, axes=h, by=1)\n  b = linear(a, to=Co)\n  c = broadcast(x, b)\nreturn c\n", "mixes rows"},
    // Zeros that come in at the border make no kernel blind; zeros instead of a channel do.
    {"  a = shift(x, axes=(h,w), by=(2,-1))\n  b = linear(a, to=Co)\nreturn b\n", "mixes rows columns"},
    {"  a = shift(x, axes=c, by=1)\nreturn a\n", "blind"},
    {"  a = shift(x, axes=c, by=1, fill=wrap)\nreturn a\n", ""},
    {"  a = matmul(x, x, left=channels, right=channels, softmax=yes)\n  b = matmul(a, x, left=token, right=positions)\n"
     "return b\n",
     "mixes rows columns global"},
    {"  a = matmul(x, x, left=positions, right=positions, softmax=yes)\n  b = matmul(a, x, left=token, "
     "right=channels)\n"
     "return b\n",
     "mixes rows columns global"},
    {"  a = fold(x, axes=(h,w))\n  b = broadcast(a, x, op=mul)\nreturn b\n", "rows columns global"},
    {"  a = fold(x, axes=h)\n  b = broadcast(a, x, op=mul)\nreturn b\n", "rows"},
    {"  a = fold(x, axes=c)\n  b = broadcast(a, x, op=mul)\nreturn b\n", "mixes"},
    {"  a = softmax(x, axes=c)\nreturn a\n", "mixes"},
    {"  a = softmax(x, axes=w)\nreturn a\n", "columns"},
    // At inference statistics are stored numbers: a norm looks at nothing but its own element.
    {"  a = norm(x)\nreturn a\n", ""},
    {"  a = fold(x, axes=(h,w))\n  b = norm(a)\n  c = broadcast(b, x, op=mul)\nreturn c\n", "rows columns global"},
    // A structural answer: what cancels still counts.
    {"  a = linear(x, to=Co)\n  b = broadcast(a, a, op=sub)\nreturn b\n", "mixes"},
};

class Analyse : public ::testing::TestWithParam<Known> {};

TEST_P(Analyse, SeesWhatTheKernelSees) { EXPECT_EQ(words(view(GetParam().steps)), GetParam().view); }

INSTANTIATE_TEST_SUITE_P(Kernels, Analyse, ::testing::ValuesIn(known));

TEST(AnalyseLimits, ASiteThatIsTooLargeIsAFailedCheck) {
  const Kernel kernel = parse_kernel("kernel k\n  a = linear(x, to=Co)\nreturn a\n", catalog());
  const BoundGraph graph = lower_at(kernel, {4, 4, 17, 16, 1}, 1).value();
  EXPECT_THAT(testing::thrown_by([&] { return analyse(graph).is_blind; }),
              ::testing::HasSubstr("70: internal error: 4 channels, 17 x 16 positions"));
}

}  // namespace
}  // namespace kasimir
