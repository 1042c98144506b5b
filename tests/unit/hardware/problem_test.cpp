// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/problem.h"

#include "kasimir/base/rng.h"
#include "unit/hardware/message_of.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(Problem, ReadsAConvolution) {
  const Problem problem = parse_problem(
      "O[n,k,p,q] += I[n,c,2*p+r-1<56,q*2+s-1<56] * W[k,c,r,s] for n=1 k=64 c=3 p=28 q=28 r=3 s=3 with O:8/24 W:4");
  EXPECT_EQ(problem.points(), 28.0 * 28 * 64 * 3 * 9);
  ASSERT_EQ(problem.operands.size(), 3U);
  const Operand& input = problem.operands[1];
  EXPECT_EQ(input.role, OperandRole::input);
  EXPECT_EQ(input.bits, 8);
  EXPECT_EQ(input.ranks[2].terms, (std::vector<IndexTerm>{{3, 2}, {5, 1}}));
  EXPECT_EQ(input.ranks[2].offset, -1);
  EXPECT_EQ(input.ranks[2].extent, 56);
  EXPECT_EQ(problem.operands[2].role, OperandRole::weight);
  EXPECT_EQ(problem.operands[2].bits, 4);
  EXPECT_EQ(problem.operands[0].partial_bits, 24);
  EXPECT_EQ(problem.elements(1), 3 * 56.0 * 56);
  EXPECT_TRUE(problem.relevant(1, problem.find_dim("r")));
  EXPECT_FALSE(problem.relevant(0, problem.find_dim("r")));
  EXPECT_TRUE(problem.reduces());
}

TEST(Problem, KeepsPartialSumsIn32BitsUnlessToldOtherwise) {
  EXPECT_EQ(parse_problem("O[m] += A[m,k] for m=2 k=3").operands[0].partial_bits, 32);
  EXPECT_EQ(parse_problem("O[m] += A[m,k] for m=2 k=3 with O:16").operands[0].partial_bits, 16);
  EXPECT_EQ(parse_problem("O[m] += A[m,k] for m=2 k=1").operands[0].partial_bits, 8) << "there is nothing to sum";
  EXPECT_EQ(parse_problem("O[m] max= A[m,k] for m=2 k=3").operands[0].partial_bits, 8) << "a maximum does not grow";
}

TEST(Problem, PrintsWhatItParses) {
  const std::string texts[] = {
      "O[n,k,p,q] += I[n,c,2*p+r-1<55,2*q+s-1<55] * W[k,c,r,s] for n=1 k=64 c=3 p=28 q=28 r=3 s=3 with O:8/32 I:8 W:8",
      "O[m,n] += A[m,k] * B[k,n] * C[k] for k=5 m=4 n=3 with O:8/32 A:8 B:8 C:8",
      "O[m] = A[m] for m=4 with O:16 A:16 ops=3",
      "O[m] = 0 for m=4 with O:8",
      "O[0] = A[0] for with O:8 A:8",
      "O[m] max= A[m,2,-k+3] for m=4 k=4 with O:8 A:8@weight",
      "O[3*d1+d0] = b.lifted[d1,-2+4*d0<7] for d1=2 d0=3 with O:8 b.lifted:8",
      "O[] += A[k] * B[k] for k=9 with O:32 A:8 B:8@input",
  };
  for (const std::string& text : texts) {
    const Problem problem = parse_problem(text);
    EXPECT_EQ(parse_problem(str(problem)), problem) << text << "\n" << str(problem);
  }
  EXPECT_EQ(str(parse_problem(texts[0])), texts[0]);
  EXPECT_EQ(str(parse_problem(texts[5])), texts[5]);
  EXPECT_EQ(str(parse_problem(texts[7])), texts[7]);
}

TEST(Problem, MakesConvolutionsAndMatrixProducts) {
  ConvolutionShape shape{.batch = 2,
                         .out_channels = 8,
                         .in_channels = 4,
                         .out_height = 5,
                         .out_width = 6,
                         .kernel_height = 3,
                         .kernel_width = 1,
                         .stride_height = 2,
                         .stride_width = 1};
  EXPECT_EQ(str(convolution(shape)),
            "O[N,K,P,Q] += I[N,C,2*P+R,Q+S] * W[K,C,R,S] for R=3 S=1 P=5 Q=6 C=4 K=8 N=2 with O:8/32 I:8 W:8");
  shape.groups = 4;
  EXPECT_EQ(str(convolution(shape, {.input = 4, .weight = 2, .output = 4, .partial = 16})),
            "O[N,G,K,P,Q] += I[N,G,C,2*P+R,Q+S] * W[G,K,C,R,S] for R=3 S=1 P=5 Q=6 C=1 K=2 N=2 G=4 with O:4/16 I:4 "
            "W:2");
  EXPECT_EQ(str(matrix_product(2, 3, 4)), "O[M,N] += I[M,K] * W[K,N] for M=2 N=3 K=4 with O:8/32 I:8 W:8");
  EXPECT_EQ(parse_problem(str(convolution(shape))), convolution(shape));
  shape.groups = 3;
  EXPECT_EQ(message_of([&] { convolution(shape); }), "4 input and 8 output channels do not divide into 3 groups");
}

TEST(Problem, SaysWhatIsWrongWithAText) {
  const auto read = [](const std::string& text) { return message_of([&] { parse_problem(text); }); };
  EXPECT_EQ(read("O[m = A[m] for m=2"),
            "expected `]` after the coordinates, found `=` at column 5\n  O[m = A[m] for m=2\n      ^");
  EXPECT_EQ(read("O m"), "expected `[` after the name of a tensor, found `m` at column 3\n  O m\n    ^");
  EXPECT_EQ(read("O[m] A[m]"),
            "expected `+=`, `max=` or `=` after the output, found `A` at column 6\n  O[m] A[m]\n       ^");
  EXPECT_EQ(read("O[m] = A[+]"),
            "expected a dimension or a number, found `+` at column 10\n  O[m] = A[+]\n           ^");
  EXPECT_EQ(read("O[m] = A[2*]"), "expected a dimension, found `]` at column 12\n  O[m] = A[2*]\n             ^");
  EXPECT_EQ(read("O[m] = A[m*]"), "expected a coefficient, found `]` at column 12\n  O[m] = A[m*]\n             ^");
  EXPECT_EQ(read("O[m] = A[m<]"),
            "expected the extent of the axis, found `]` at column 12\n  O[m] = A[m<]\n             ^");
  EXPECT_EQ(read("O[m] = A[m<0] for m=1"),
            "an axis has at least 1 element at column 13\n  O[m] = A[m<0] for m=1\n              ^");
  EXPECT_EQ(read("O[m] = A[m] for m=2 x=3"), "size of x, which no tensor uses\n  known: m");
  EXPECT_EQ(read("O[m] = A[m] for m=2 m=3"), "dimension m is given two sizes");
  EXPECT_EQ(read("O[m] = A[m] for m 2"),
            "expected `=` after a dimension, found `2` at column 19\n  O[m] = A[m] for m 2\n"
            "                    ^");
  EXPECT_EQ(read("O[m] = A[m]"), "dimension m has no size\n  add m=SIZE after `for`");
  EXPECT_EQ(read("O[m] = A[m] for m=0"), "dimension m has size 0, at least 1 is needed");
  EXPECT_EQ(
      read("O[m] = A[m] for m=99999999999999"),
      "a size is too large at column 33\n  O[m] = A[m] for m=99999999999999\n                                  ^");
  EXPECT_EQ(read("O[m] = A[m,k] for m=2 k=3"), "dimension k is not in the output: write += to sum over it, or max=");
  EXPECT_EQ(read("O[m] = A[m] for m=2 with B:8"), "bits of B, which is not a tensor\n  known: ops, O, A");
  EXPECT_EQ(read("O[m] = A[m] for m=2 with A:8 A:4"), "A is given twice after `with`");
  EXPECT_EQ(read("O[m] = A[m] for m=2 with A:99"), "operand A has elements of 99 bits, 1 to 64 are possible");
  EXPECT_EQ(read("O[m] = A[m] for m=2 with A:8/9"), "operand A is read only and has no partial sums of 9 bits");
  EXPECT_EQ(read("O[m] = A[m] for m=2 with A:8@kernel"),
            "expected input or weight after `@`, found `k` at column 30\n  O[m] = A[m] for m=2 with A:8@kernel\n"
            "                               ^");
  EXPECT_EQ(read("O[m] = A[m] for m=2 with ops=0"), "the problem has 0 operations per point, at least 1 is needed");
  EXPECT_EQ(read("O[m] = A[m+m] for m=2"), "operand A names m twice in one coordinate");
  EXPECT_EQ(read("O[m] = A[0*m] for m=2"), "operand A multiplies m by 0");
  EXPECT_EQ(read("O[m] = O[m] for m=2"), "operand O is named twice");
  EXPECT_EQ(read("O[m] = A[-m-1] for m=2"), "operand A is read before its first element only");
  EXPECT_EQ(
      read("O[m] = A[m] for m=2 !"),
      "expected `for`, `with` or the end, found `!` at column 21\n  O[m] = A[m] for m=2 !\n                      ^");
}

TEST(Problem, RefusesWhatTheEvaluatorCannotHold) {
  Problem problem = matrix_product(2, 3, 4);
  problem.dims.push_back({"x", 2});
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "no operand depends on dimension x");
  problem = matrix_product(2, 3, 4);
  problem.dims[1].name = "M";
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "dimension M is named twice");
  problem = matrix_product(2, 3, 4);
  problem.operands[0].role = OperandRole::input;
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "operand O: the first operand is the output, and no other");
  problem = matrix_product(2, 3, 4);
  problem.operands[1].ranks.resize(13);
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "operand I has 13 axes, at most 12 are possible");
  problem = matrix_product(2, 3, 4);
  problem.operands[1].ranks[0].extent = 0;
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "operand I has an axis of 0 elements");
  problem = matrix_product(2, 3, 4);
  problem.operands[1].ranks[0].terms[0].dim = 7;
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "operand I names dimension 7 of 3");
  problem = matrix_product(2, 3, 4);
  problem.operands.clear();
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "the problem has 0 operands, 1 to 8 are possible");
  problem = matrix_product(2, 3, 4);
  problem.operands[0].ranks.clear();
  for (int d = 3; d < 26; ++d) {
    problem.dims.push_back({fmt::format("x{}", d), 2});
    if (d < 24) problem.operands[0].ranks.push_back({{{d, 1}}, 0, 2});
  }
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "the problem has 26 dimensions, at most 24 are possible");
  problem.dims.resize(24);
  OperandRank all;
  for (int d = 0; d < 24; ++d) all.terms.push_back({d, 1});
  problem.operands[0].ranks = {all, {{{0, 1}}, 0, 2}};
  EXPECT_EQ(message_of([&] { check_problem(problem); }), "operand O has 25 terms, at most 24 are possible");
}

TEST(Problem, RandomProblemsSurviveTheirText) {
  constexpr std::uint64_t seed = 11;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Rng rng(seed, i);
    Problem problem;
    const auto dims = static_cast<int>(rng.between(1, 7));
    for (int d = 0; d < dims; ++d) problem.dims.push_back({fmt::format("d{}", d), rng.between(1, 9)});
    problem.combine = Combine::sum;
    problem.operations = static_cast<int>(rng.between(1, 4));
    const auto operands = static_cast<int>(rng.between(1, 4));
    for (int t = 0; t < operands; ++t) {
      Operand operand;
      operand.name = fmt::format("T{}", t);
      operand.bits = operand.partial_bits = static_cast<int>(rng.between(1, 16));
      operand.role = t == 0 ? OperandRole::output : rng.chance(0.5) ? OperandRole::input : OperandRole::weight;
      for (int d = 0; d < dims; ++d) {
        if (t > 0 && !rng.chance(0.6)) continue;
        OperandRank rank{{{d, rng.between(1, 3) * (rng.chance(0.2) ? -1 : 1)}}, rng.between(-3, 3), 0};
        if (rng.chance(0.4) && dims > 1) rank.terms.push_back({(d + 1) % dims, rng.between(1, 4)});
        rank.extent = rng.chance(0.5) ? std::max<std::int64_t>(1, reach(problem, rank)) : rng.between(1, 20);
        operand.ranks.push_back(rank);
      }
      problem.operands.push_back(operand);
    }
    check_problem(problem);
    EXPECT_EQ(parse_problem(str(problem)), problem) << "seed " << seed << ", stream " << i << "\n" << str(problem);
  }
}

}  // namespace
}  // namespace kasimir
