// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/fingerprint.h"

#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace kasimir {
namespace {

Fingerprint print(const std::string& steps) {
  const Kernel kernel = parse_kernel("kernel k\ngiven g=2 r=4\n" + steps, catalog());
  return fingerprint(lower_at(kernel, {8, 8, 5, 6, 1}, 1).value(), 1);
}

struct Twins {
  const char* name;
  const char* one;
  const char* other;
};

void PrintTo(const Twins& twins, std::ostream* out) { *out << twins.name; }

const Twins equal[] = {
    {"conv and unfold with linear", "  a = conv(x, to=Co)\nreturn a\n",
     "  a = unfold(x)\n  b = linear(a, to=Co)\nreturn b\n"},
    {"conv along H", "  a = conv(x, to=Co, window=(5,1), dilation=2)\nreturn a\n",
     "  a = unfold(x, axes=h, window=5, dilation=2)\n  b = linear(a, to=Co)\nreturn b\n"},
    {"grouped conv and group with linear", "  a = conv(x, to=Co, groups=g)\nreturn a\n",
     "  a = unfold(x)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\n"},
    {"depthwise conv", "  a = conv(x, to=Ci, groups=Ci)\nreturn a\n",
     "  a = group(x, by=Ci)\n  b = unfold(a)\n  c = linear(b, to=Ci)\nreturn c\n"},
    {"linear and mix", "  a = linear(x, to=Co)\nreturn a\n", "  a = mix(x, over=c, to=(c=Co))\nreturn a\n"},
    {"order of a sum", "  a = tanh(x)\n  b = broadcast(x, a)\nreturn b\n",
     "  a = tanh(x)\n  b = broadcast(a, x)\nreturn b\n"},
    {"order of a product", "  a = tanh(x)\n  b = broadcast(x, a, op=mul)\nreturn b\n",
     "  a = tanh(x)\n  b = broadcast(a, x, op=mul)\nreturn b\n"},
    {"order of a maximum", "  a = tanh(x)\n  b = broadcast(x, a, op=max)\nreturn b\n",
     "  a = tanh(x)\n  b = broadcast(a, x, op=max)\nreturn b\n"},
    {"order of a difference, negated", "  a = tanh(x)\n  b = broadcast(x, a, op=sub)\nreturn b\n",
     "  a = tanh(x)\n  b = broadcast(a, x, op=sub)\n  c = neg(b)\nreturn c\n"},
    {"relu twice", "  a = relu(x)\nreturn a\n", "  a = relu(x)\n  b = relu(a)\nreturn b\n"},
    {"relu of an exponential", "  a = exp(x)\nreturn a\n", "  a = exp(x)\n  b = relu(a)\nreturn b\n"},
    {"square of the negative", "  a = square(x)\nreturn a\n", "  a = neg(x)\n  b = square(a)\nreturn b\n"},
    {"negative of an odd function", "  a = neg(x)\n  b = tanh(a)\nreturn b\n",
     "  a = tanh(x)\n  b = neg(a)\nreturn b\n"},
    {"merge of group", "  a = relu(x)\nreturn a\n", "  a = group(x, by=g)\n  b = relu(a)\n  c = merge(b)\nreturn c\n"},
    {"transpose twice", "  a = relu(x)\nreturn a\n",
     "  a = group(x, by=g)\n  b = transpose(a)\n  c = relu(b)\n  d = transpose(c)\n  e = merge(d)\nreturn e\n"},
    {"shuffle by transposing", "  a = shuffle(x, by=g)\nreturn a\n",
     "  a = group(x, by=g)\n  b = transpose(a)\n  c = merge(b)\nreturn c\n"},
    {"shuffle and its inverse", "  a = relu(x)\nreturn a\n",
     "  a = shuffle(x, by=g)\n  b = shuffle(a, by=r)\n  c = relu(b)\nreturn c\n"},
    {"wrapped shifts add up", "  a = shift(x, axes=h, by=3, fill=wrap)\nreturn a\n",
     "  a = shift(x, axes=h, by=1, fill=wrap)\n  b = shift(a, axes=h, by=2, fill=wrap)\nreturn b\n"},
    {"zero shifts of one sign add up", "  a = shift(x, axes=h, by=3)\nreturn a\n",
     "  a = shift(x, axes=h, by=1)\n  b = shift(a, axes=h, by=2)\nreturn b\n"},
    {"mean over rows, then columns", "  a = fold(x, axes=(h,w))\n  b = broadcast(a, x)\nreturn b\n",
     "  a = fold(x, axes=h)\n  b = fold(a, axes=w)\n  c = broadcast(b, x)\nreturn c\n"},
    {"maximum over rows, then columns", "  a = fold(x, axes=(h,w), by=max)\n  b = broadcast(a, x)\nreturn b\n",
     "  a = fold(x, axes=w, by=max)\n  b = fold(a, axes=h, by=max)\n  c = broadcast(b, x)\nreturn c\n"},
    {"linear before a fold of positions",
     "  a = linear(x, to=Co)\n  b = fold(a, axes=(h,w))\n  c = broadcast(b, x)\nreturn c\n",
     "  a = fold(x, axes=(h,w))\n  b = linear(a, to=Co)\n  c = broadcast(b, x)\nreturn c\n"},
    {"stride that is 1", "  a = relu(x)\nreturn a\n", "  a = stride(x)\n  b = relu(a)\nreturn b\n"},
    {"products of a transposed map",
     "  a = matmul(x, x, left=channels, right=channels)\n"
     "  b = matmul(a, x, left=token, right=positions)\nreturn b\n",
     "  a = matmul(x, x, left=channels, right=channels)\n  b = matmul(x, a, left=positions, right=token)\nreturn b\n"},
    {"attention without softmax in either order",
     "  a = matmul(x, x, left=channels, right=channels)\n"
     "  b = matmul(a, x, left=token, right=positions)\nreturn b\n",
     "  a = matmul(x, x, left=positions, right=positions)\n  b = matmul(a, x, left=token, right=channels)\nreturn b\n"},
    {"a norm behind both ways to convolve", "  a = conv(x, to=Co)\n  b = norm(a)\nreturn b\n",
     "  a = unfold(x)\n  b = linear(a, to=Co)\n  c = norm(b)\nreturn c\n"},
    {"a grouping before a dense map", "  a = linear(x, to=Co)\nreturn a\n",
     "  a = group(x, by=g)\n  b = mix(a, over=(g,c), to=(c=Co))\nreturn b\n"},
    {"a dense map from groups to groups", "  a = linear(x, to=Co)\nreturn a\n",
     "  a = group(x, by=g)\n  b = mix(a, over=(g,c), to=(g=g,c=Co/g))\n  c = merge(b)\nreturn c\n"},
    {"a shuffle undone before a dense map", "  a = linear(x, to=Co)\nreturn a\n",
     "  a = shuffle(x, by=g)\n  b = shuffle(a, by=r)\n  c = linear(b, to=Co)\nreturn c\n"},
    {"weights in another order", "  a = linear(x, to=Co)\n  b = conv(x, to=Co)\n  c = broadcast(a, b)\nreturn c\n",
     "  a = conv(x, to=Co)\n  b = linear(x, to=Co)\n  c = broadcast(a, b)\nreturn c\n"},
    {"weights of a norm and a scale in another order",
     "  a = norm(x)\n  b = scale(x, axes=c)\n  c = broadcast(a, b, op=sub)\nreturn c\n",
     "  a = scale(x, axes=c)\n  b = norm(x)\n  c = broadcast(b, a, op=sub)\nreturn c\n"},
    {"a scale of channels and one of groups of channels", "  a = scale(x, axes=c)\nreturn a\n",
     "  a = group(x, by=g)\n  b = scale(a, axes=(g,c))\n  c = merge(b)\nreturn c\n"},
    {"a scale and a linear of single channels", "  a = scale(x, axes=c)\nreturn a\n",
     "  a = group(x, by=Ci)\n  b = linear(a, to=Ci)\nreturn b\n"},
    {"a norm of groups", "  a = norm(x)\nreturn a\n",
     "  a = group(x, by=g)\n  b = norm(a)\n  c = merge(b)\nreturn c\n"},
    {"a branch with weights that cancels", "  a = conv(x, to=Ci, groups=Ci)\nreturn a\n",
     "  a = linear(x, to=Co)\n  b = conv(x, to=Ci, groups=Ci)\n  c = broadcast(a, b)\n"
     "  d = broadcast(c, a, op=sub)\nreturn d\n"},
    {"what is added and taken away", "  a = conv(x, to=Co)\n  b = tanh(a)\nreturn b\n",
     "  a = tanh(x)\n  b = broadcast(a, x)\n  c = broadcast(b, a, op=sub)\n  d = conv(c, to=Co)\n  e = tanh(d)\n"
     "return e\n"},
};

class EqualFunctions : public ::testing::TestWithParam<Twins> {};

TEST_P(EqualFunctions, Meet) { EXPECT_EQ(print(GetParam().one), print(GetParam().other)); }

INSTANTIATE_TEST_SUITE_P(Fingerprint, EqualFunctions, ::testing::ValuesIn(equal));

/// All of these differ from one another, and all the more from the identity.
const char* const different[] = {
    "return x\n",
    "  a = neg(x)\nreturn a\n",
    "  a = relu(x)\nreturn a\n",
    "  a = abs(x)\nreturn a\n",
    "  a = gelu(x)\nreturn a\n",
    "  a = hardswish(x)\nreturn a\n",
    "  a = hardswish(x)\n  b = hardswish(a)\nreturn b\n",
    "  a = sigmoid(x)\nreturn a\n",
    "  a = tanh(x)\nreturn a\n",
    "  a = sin(x)\nreturn a\n",
    "  a = exp(x)\nreturn a\n",
    "  a = sqrt(x)\nreturn a\n",
    "  a = square(x)\nreturn a\n",
    "  a = norm(x)\nreturn a\n",
    "  a = scale(x, axes=c)\nreturn a\n",
    "  a = shuffle(x, by=g)\nreturn a\n",
    "  a = shuffle(x, by=r)\nreturn a\n",
    "  a = shift(x, axes=h, by=1)\nreturn a\n",
    "  a = shift(x, axes=h, by=-1)\nreturn a\n",
    "  a = shift(x, axes=w, by=1)\nreturn a\n",
    "  a = shift(x, axes=h, by=1, fill=wrap)\nreturn a\n",
    "  a = shift(x, axes=h, by=1)\n  b = shift(a, axes=h, by=-1)\nreturn b\n",
    "  a = softmax(x, axes=c)\nreturn a\n",
    "  a = softmax(x, axes=(h,w))\nreturn a\n",
    "  a = linear(x, to=Co)\nreturn a\n",
    "  a = linear(x, to=Co)\n  b = linear(a, to=Co)\nreturn b\n",
    "  a = conv(x, to=Co)\nreturn a\n",
    "  a = conv(x, to=Co, dilation=2)\nreturn a\n",
    "  a = conv(x, to=Co, window=(3,1))\nreturn a\n",
    "  a = conv(x, to=Co, window=(1,3))\nreturn a\n",
    "  a = conv(x, to=Co, window=5)\nreturn a\n",
    "  a = conv(x, to=Co, groups=g)\nreturn a\n",
    "  a = conv(x, to=Co, groups=Ci)\nreturn a\n",
    // Operand order of a difference.
    "  a = tanh(x)\n  b = broadcast(x, a, op=sub)\nreturn b\n",
    "  a = tanh(x)\n  b = broadcast(a, x, op=sub)\nreturn b\n",
    "  a = tanh(x)\n  b = broadcast(a, x, op=add)\nreturn b\n",
    "  a = tanh(x)\n  b = broadcast(a, x, op=mul)\nreturn b\n",
    "  a = tanh(x)\n  b = broadcast(a, x, op=max)\nreturn b\n",
    "  a = tanh(x)\n  b = broadcast(a, x, op=min)\nreturn b\n",
    // With and without a softmax.
    "  a = matmul(x, x, left=channels, right=channels)\n  b = matmul(a, x, left=token, right=positions)\nreturn b\n",
    ("  a = matmul(x, x, left=channels, right=channels, softmax=yes)\n"
     "  b = matmul(a, x, left=token, right=positions)\nreturn b\n"),
    "  a = matmul(x, x, left=positions, right=positions)\n  b = matmul(x, a, left=channels, right=channels)\n"
    "  c = mix(b, over=t, to=(c=Co))\nreturn c\n",
    // Maps over groups and over channels of the same extent.
    "  a = group(x, by=g)\n  b = group(x, by=g)\n  c = mix(a, over=g, to=(g=g))\n  d = broadcast(c, b)\n  e = "
    "merge(d)\nreturn e\n",
    "  a = group(x, by=g)\n  b = group(x, by=g)\n  c = mix(a, over=c, to=(c=Ci/g))\n  d = broadcast(c, b)\n  e = "
    "merge(d)\nreturn e\n",
    // One map used twice, and two maps.
    "  a = linear(x, to=Co)\n  b = relu(a)\n  c = broadcast(a, b, op=mul)\nreturn c\n",
    "  a = linear(x, to=Co)\n  b = linear(x, to=Co)\n  c = relu(b)\n  d = broadcast(a, c, op=mul)\nreturn d\n",
    "  a = linear(x, to=Co)\n  b = linear(x, to=Co)\n  c = broadcast(a, b)\nreturn c\n",
    "  a = linear(x, to=Co)\n  b = broadcast(a, a)\nreturn b\n",
    "  a = linear(x, to=Co)\n  b = linear(x, to=Co)\n  c = broadcast(a, b, op=mul)\nreturn c\n",
    "  a = linear(x, to=Co)\n  b = broadcast(a, a, op=mul)\nreturn b\n",
    "  a = scale(x, axes=c)\n  b = scale(x, axes=c)\n  c = broadcast(a, b, op=sub)\nreturn c\n",
    "  a = norm(x)\n  b = norm(x)\n  c = broadcast(a, b)\nreturn c\n",
    "  a = norm(x)\n  b = broadcast(a, a)\nreturn b\n",
    // Grouped and dense maps behind one grouping.
    "  a = group(x, by=g)\n  b = linear(a, to=Co)\nreturn b\n",
    // What is folded, and how.
    "  a = fold(x, axes=(h,w))\n  b = broadcast(a, x, op=mul)\nreturn b\n",
    "  a = fold(x, axes=(h,w), by=max)\n  b = broadcast(a, x, op=mul)\nreturn b\n",
    "  a = fold(x, axes=(h,w), by=sum)\n  b = broadcast(a, x, op=mul)\nreturn b\n",
    "  a = fold(x, axes=h)\n  b = broadcast(a, x, op=mul)\nreturn b\n",
    "  a = fold(x, axes=c)\n  b = broadcast(a, x, op=mul)\nreturn b\n",
    // A norm of one number per channel: the statistics of one image alone would hide what it was given.
    "  a = fold(x, axes=(h,w))\n  b = norm(a)\n  c = broadcast(b, x)\nreturn c\n",
    "  a = fold(x, axes=(h,w))\n  b = tanh(a)\n  c = norm(b)\n  d = broadcast(c, x)\nreturn d\n",
    "  a = fold(x, axes=(h,w), by=max)\n  b = norm(a)\n  c = broadcast(b, x)\nreturn c\n",
    // The order of a concatenation.
    "  a = relu(x)\n  b = concat(x, a)\n  c = linear(b, to=Co)\nreturn c\n",
    "  a = relu(x)\n  b = concat(a, x)\n  c = linear(b, to=Co)\nreturn c\n",
};

TEST(Fingerprint, TellsDifferentFunctionsApart) {
  std::map<Fingerprint, std::string> seen;
  for (const char* text : different) {
    const auto [other, is_new] = seen.emplace(print(text), text);
    EXPECT_TRUE(is_new) << text << "meets\n" << other->second;
  }
}

TEST(Fingerprint, DependsOnTheSeed) {
  const Kernel kernel = parse_kernel("kernel k\n  a = linear(x, to=Co)\nreturn a\n", catalog());
  const BoundGraph graph = lower_at(kernel, {4, 4, 2, 2, 1}, 1).value();
  EXPECT_EQ(fingerprint(graph, 1), fingerprint(graph, 1));
  EXPECT_NE(fingerprint(graph, 1), fingerprint(graph, 2));
}

/// Known limits: a search then looks at both; nothing is lost.
TEST(Fingerprint, MissesTwinWeightsInAnotherOrderAndMapsMovedThroughAShift) {
  EXPECT_NE(print("  a = linear(x, to=Co)\n  b = linear(x, to=Co)\n  c = relu(a)\n  d = broadcast(b, c)\nreturn d\n"),
            print("  a = linear(x, to=Co)\n  b = linear(x, to=Co)\n  c = relu(b)\n  d = broadcast(a, c)\nreturn d\n"));
  EXPECT_NE(print("  a = linear(x, to=Co)\n  b = shift(a, axes=h, by=1)\nreturn b\n"),
            print("  a = shift(x, axes=h, by=1)\n  b = linear(a, to=Co)\nreturn b\n"));
}

TEST(Fingerprint, PrintsAllOfItsDigits) {
  EXPECT_EQ((Fingerprint{0x12, 0xabcdef}.str()), "00000000000000120000000000abcdef");
}

class Values : public ::testing::Test {
 protected:
  static std::vector<std::uint32_t> filled(std::uint64_t seed, std::size_t size) {
    std::vector<std::uint32_t> values(field_room(size));
    fill_values(seed, values.data(), size);
    return values;
  }
};

TEST_F(Values, AreElementsOfTheFieldThatEndWithAZero) {
  const auto values = filled(5, 10'000);
  EXPECT_EQ(values[10'000], 0U);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 10'000; ++i) {
    EXPECT_LT(values[i], FieldDomain::prime);
    sum += values[i];
  }
  const double mean = static_cast<double>(sum) / 10'000 / static_cast<double>(FieldDomain::prime);
  EXPECT_NEAR(mean, 0.5, 0.015);  // five standard deviations
  EXPECT_EQ(std::set<std::uint32_t>(values.begin(), values.begin() + 1000).size(), 1000U);
}

TEST_F(Values, ThatDifferInOneElementInOrderOrInNumberHashApart) {
  auto values = filled(6, 100);
  std::set<Fingerprint> seen{hash_values(values.data(), 100)};
  for (std::size_t i = 0; i < 100; ++i) {
    values[i] ^= 1;
    EXPECT_TRUE(seen.insert(hash_values(values.data(), 100)).second);
    values[i] ^= 1;
  }
  EXPECT_FALSE(seen.insert(hash_values(values.data(), 100)).second);
  std::swap(values[3], values[4]);
  EXPECT_TRUE(seen.insert(hash_values(values.data(), 100)).second);
  EXPECT_TRUE(seen.insert(hash_values(values.data(), 99)).second);
  EXPECT_TRUE(seen.insert(hash_values(filled(7, 100).data(), 100)).second);
  const std::vector<std::uint32_t> zeros(field_room(101));
  EXPECT_NE(hash_values(zeros.data(), 100), hash_values(zeros.data(), 101));
}

/// As a caller with programs of its own does it.
TEST(Ties, StepByStepGiveTheGraphsFingerprint) {
  constexpr std::uint64_t seed = 8;
  const Kernel kernel = parse_kernel(
      "kernel k\n  a = linear(x, to=Co)\n  b = linear(x, to=Co)\n  c = norm(b)\n  d = broadcast(a, c)\nreturn d\n",
      catalog());
  const BoundGraph graph = freeze(lower_at(kernel, {4, 6, 3, 2, 1}, 1).value());
  std::vector<std::vector<std::uint32_t>> values;
  for (const BoundTensor& tensor : graph.tensors)
    values.emplace_back(field_room(static_cast<std::size_t>(elements(tensor))));
  fill_values(input_seed(seed, 0), values[0].data(), 24);
  WeightTies ties(0);
  FieldScratch scratch;
  const auto run = [&] {
    for (const BoundStage& stage : graph.stages) {
      const FieldProgram program(graph, stage);
      std::vector<const std::uint32_t*> operands;
      for (int tensor : program.reads()) operands.push_back(values[static_cast<std::size_t>(tensor)].data());
      const std::uint64_t hash = program.hash_operands(operands);
      for (std::size_t i = 0; i < program.weights().size(); ++i) {
        const FieldWeight& weight = program.weights()[i];
        fill_values(ties.draw(program, i, hash),
                    values[static_cast<std::size_t>(program.reads()[weight.operand])].data(), weight.size);
      }
      program.run(operands, values[static_cast<std::size_t>(stage.out)].data(), scratch);
    }
    return hash_values(values[static_cast<std::size_t>(graph.output)].data(), 36);
  };
  ties = WeightTies(seed);
  EXPECT_EQ(run(), fingerprint(graph, seed));
  EXPECT_NE(run(), fingerprint(graph, seed));  // every weight is a twin of the first run's
  ties.clear();
  EXPECT_EQ(run(), fingerprint(graph, seed));
}

}  // namespace
}  // namespace kasimir
