// SPDX-License-Identifier: Apache-2.0
// Which shortcut is taken for what: the matchers recognise what the primitives emit.
#include "kasimir/nest/inline_copies.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/aten.h"

#include "kasimir/kernel/kernel.h"

#include <gmock/gmock.h>

namespace kasimir {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> plan(std::string_view steps, const Peepholes& peepholes = {}, bool frozen = false) {
  const Kernel kernel = parse_kernel("kernel k\ngiven g=2\n" + std::string(steps), catalog());
  BoundGraph graph = lower_at(kernel, {8, 4, 4, 4, 2}, 3).value();
  if (frozen) graph = freeze(graph);
  return execution_plan(inline_copies(graph), peepholes);
}

TEST(Plan, TakesWindowsAndLinearMapsForOneConvolution) {
  const auto one = ElementsAre("convolution");
  EXPECT_THAT(plan("  a = conv(x, to=Co, stride=yes)\nreturn a\n"), one);
  EXPECT_THAT(plan("  a = unfold(x)\n  b = stride(a)\n  c = linear(b, to=Co)\nreturn c\n"), one);
  EXPECT_THAT(plan("  a = stride(x)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\n"), one);
  EXPECT_THAT(plan("  a = stride(x)\n  b = group(a, by=g)\n  c = transpose(b)\n  d = linear(c, to=Co)\nreturn d\n"),
              one);
  // A strided copy that is read outside or wrapped stays a copy; the shift itself becomes the convolution's offset.
  const auto after_copy = ElementsAre("plain", "convolution");
  EXPECT_THAT(plan("  a = stride(x)\n  b = shift(a, axes=(h,w), by=1)\n  c = linear(b, to=Co)\nreturn c\n"),
              after_copy);
  EXPECT_THAT(plan("  a = stride(x)\n  b = shift(a, axes=h, by=1, fill=wrap)\n  c = linear(b, to=Co)\nreturn c\n"),
              after_copy);
}

TEST(Plan, TakesTheThreeStagesOfANormForOneOperation) {
  const std::string_view steps = "  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\nreturn b\n";
  EXPECT_THAT(plan(steps), ElementsAre("convolution", "batch norm"));
  EXPECT_THAT(plan(steps, {}, true), ElementsAre("convolution", "batch norm"));
  EXPECT_THAT(plan("  a = stride(x)\n  b = group(a, by=g)\n  c = norm(b)\n  d = linear(c, to=Co)\nreturn d\n"),
              ElementsAre("batch norm", "convolution"));
}

TEST(Plan, TakesTheFourStagesOfASoftmaxForOneOperation) {
  EXPECT_THAT(plan("  a = conv(x, to=Co, stride=yes)\n  b = softmax(a, axes=(h,w))\nreturn b\n"),
              ElementsAre("convolution", "softmax"));
  EXPECT_THAT(
      plan("  a = stride(x)\n  b = linear(a, to=Co)\n  c = matmul(b, b, left=channels, right=channels, softmax=yes)\n"
           "  d = matmul(c, b, left=token, right=positions)\nreturn d\n"),
      ElementsAre("convolution", "einsum", "softmax", "einsum", "plain"));
}

TEST(Plan, PoolsAndConcatenates) {
  EXPECT_THAT(plan("  a = pool(x)\n  b = linear(a, to=Co)\nreturn b\n"), ElementsAre("pooling", "convolution"));
  EXPECT_THAT(plan("  a = stride(x)\n  b = concat(a, a)\n  c = linear(b, to=Co)\nreturn c\n"),
              ElementsAre("plain", "concatenation", "convolution"));
}

TEST(Plan, TakesNoShortcutThatIsSwitchedOff) {
  const std::string_view steps =
      "  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\n  c = softmax(b, axes=c)\nreturn c\n";
  EXPECT_THAT(plan(steps, Peepholes::none()), ::testing::Each("plain"));
  EXPECT_THAT(plan(steps, Peepholes::none()), ::testing::SizeIs(1 + 3 + 4));
}

}  // namespace
}  // namespace kasimir
