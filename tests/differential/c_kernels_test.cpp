// SPDX-License-Identifier: Apache-2.0
#include "random_kernels.h"
#include "support/generated_c.h"
#include "support/text.h"

#include "kasimir/codegen/c_nests.h"
#include "kasimir/codegen/c_variants.h"
#include "kasimir/codegen/native.h"
#include "kasimir/codegen/network_c.h"
#include "kasimir/interp/real.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/schedule.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace kasimir {
namespace {

/// A frozen kernel with values, and what the interpreter makes of them.
struct Case {
  BoundGraph graph;
  TensorValues<double> given;  ///< input, weights and statistics, rounded to float
  std::vector<double> expected;
  double largest = 0;     ///< of the output
  double everywhere = 0;  ///< of all tensors: what rounding is relative to
};

Case case_of(const RandomKernel& drawn, std::uint64_t seed) {
  auto [graph, given] = testing::frozen_kernel(drawn.kernel, drawn.site, drawn.batch, seed);
  Case made{std::move(graph), std::move(given), {}, 0, 0};
  TensorValues<double> values = made.given;
  RealDomain numbers;
  evaluate(made.graph, numbers, values);
  made.expected = values[static_cast<std::size_t>(made.graph.output)];
  made.largest = testing::largest(made.expected);
  for (const auto& tensor : values) made.everywhere = std::max(made.everywhere, testing::largest(tensor));
  return made;
}

bool finite(const Case& made) { return std::isfinite(made.everywhere) && made.everywhere < 1e12; }

TEST(CKernels, PassesKeepWhatAKernelComputes) {
  constexpr std::uint64_t seed = 415;
  std::size_t changed = 0;
  for_random_kernels(seed, wanted_kernels(300), [&](const RandomKernel& drawn) {
    const Case made = case_of(drawn, seed + drawn.number);
    if (!finite(made)) return;
    BoundGraph graph = made.graph;
    for (const Pass& pass : passes()) {
      const std::string before = str(graph);
      graph = pass.run(graph);
      changed += str(graph) != before ? 1 : 0;
      TensorValues<double> values = made.given;
      RealDomain numbers;
      evaluate(graph, numbers, values);
      EXPECT_LE(testing::largest_difference(values[static_cast<std::size_t>(graph.output)], made.expected),
                1e-9 * made.everywhere)
          << pass.name << ", " << drawn.origin << ", site " << drawn.site.str() << '\n'
          << str(drawn.kernel) << before << "became\n"
          << str(graph);
    }
  });
  EXPECT_GT(changed, 100U);
}

/// Compiles with sanitisers or without, runs, compares. Returns the relative error.
double run_c(const Case& made, const CProgram& c, const NestProgram& program, const COptions& options,
             const std::vector<std::string>& flags, std::string& failure) {
  std::vector<std::vector<float>> values(program.tensors.size());
  for (std::size_t t = 0; t < made.given.size(); ++t) values[t].assign(made.given[t].begin(), made.given[t].end());
  const auto& input = values[static_cast<std::size_t>(program.input)];
  const auto ran = testing::difference_of_c(c, options, pack_weights(c, values), input, made.expected, flags);
  if (!ran.ok()) {
    failure = ran.rejection().str() + "\n" + c.source;
    return INFINITY;
  }
  const double worst = *ran;
  if (worst > 1e-4 * made.largest + 2e-6 * made.everywhere) failure = c.source;
  return made.largest > 0 ? worst / made.largest : worst;
}

/// Every method of every nest gets its turn over the kernels.
std::vector<Method> methods_for(const NestProgram& program, const CTarget& target, std::size_t turn) {
  std::vector<Method> methods;
  for (const auto& possible : possible_methods(program, target))
    methods.push_back(possible[turn % 2 == 0 ? 0 : (turn / 2 + methods.size()) % possible.size()]);
  return methods;
}

TEST(CKernels, GeneratedCComputesWhatTheInterpreterComputes) {
  constexpr std::uint64_t seed = 7711;
  const std::vector<CTarget> targets{host_target(), {8, 16}, {4, 16}};
  double worst = 0;
  std::size_t run = 0;
  std::set<std::string> used;
  for_random_kernels(seed, wanted_kernels(60), [&](const RandomKernel& drawn) {
    const Case made = case_of(drawn, seed + drawn.number);
    if (!finite(made)) return;
    const NestProgram program = schedule(simplify(made.graph));
    const CTarget& target = targets[drawn.number % targets.size()];
    const auto methods = methods_for(program, target, drawn.number);
    for (const Method& method : methods) used.insert(str(method).substr(0, str(method).find(' ')));
    std::string failure;
    // Every third one under the sanitisers.
    const bool careful = drawn.number % 3 == 2;
    std::vector<std::string> flags{"-std=gnu11", "-O1", "-march=native", "-ffp-contract=fast", "-w"};
    if (careful) flags.insert(flags.end(), {"-fsanitize=address,undefined", "-fno-sanitize-recover=all"});
    worst = std::max(worst, run_c(made, generate_c(program, methods, {.target = target}), program, {.target = target},
                                  flags, failure));
    ++run;
    EXPECT_EQ(failure, "") << drawn.origin << ", site " << drawn.site.str() << ", batch " << drawn.batch << '\n'
                           << str(drawn.kernel) << str(program);
  });
  std::printf("%zu kernels in C; largest error %.1e of the output's largest value\n", run, worst);
  EXPECT_GE(used.size(), 2U);
}

/// A shuffle before groups leaves the channels of a group apart in memory, fewer than a vector holds.
TEST(CKernels, ReadsNoFurtherThanTheLastOfChannelsThatLieApart) {
  const char* text =
      "kernel apart\ngiven g=4\n  a = unfold(x)\n  b = shuffle(a, by=g)\n  c = group(b, by=g)\n  d = linear(c, to=Co)\n"
      "return d\n";
  const RandomKernel written{parse_kernel(text, catalog()), {16, 16, 4, 4, 1}, 1, 0, "a text"};
  const Case made = case_of(written, 3);
  const NestProgram program = schedule(simplify(made.graph));
  const CTarget target{16, 32};
  const auto possible = possible_methods(program, target);
  ASSERT_EQ(possible.size(), 1U) << str(program);
  for (const Method& method : possible.front()) {
    std::string failure;
    COptions options;
    options.target = target;
    const CProgram c = generate_c(program, {method}, options);
    run_c(made, c, program, options,
          {"-std=gnu11", "-O1", "-march=native", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
          failure);
    EXPECT_EQ(failure, "") << str(method);
    const std::string nest = c.source.substr(c.source.find("static KSM_APART void n0("));
    EXPECT_EQ(nest.find("gather("), std::string::npos) << str(method) << " gathers whole vectors";
  }
}

/// The C of a kernel at a site with the default methods, compared with the interpreter under the sanitisers.
struct Checked {
  NestProgram program;
  CProgram c;
};
Checked checked_c(const char* text, const Site& site, const CTarget& target) {
  const Case made = case_of({parse_kernel(text, catalog()), site, 1, 0, "a text"}, 5);
  Checked result{schedule(simplify(made.graph)), {}};
  COptions options;
  options.target = target;
  result.c = generate_c(result.program, default_methods(result.program, target), options);
  std::string failure;
  run_c(made, result.c, result.program, options,
        {"-std=gnu11", "-O1", "-march=native", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
        failure);
  EXPECT_EQ(failure, "") << str(result.program);
  return result;
}

TEST(CKernels, ALastBlockOfAtMostEightChannelsTakesHalfAVector) {
  const auto text = [](int channels) {
    return fmt::format(
        "kernel few\n  a = linear(x, to=x0)\n  b = linear(a, to=Co)\nreturn b\nat Ci=8 Co=8 H=5 W=6 s=1: x0={}\n",
        channels);
  };
  for (const auto& [channels, half] :
       std::vector<std::pair<int, bool>>{{8, true}, {24, true}, {12, false}, {32, false}}) {
    const Checked made = checked_c(text(channels).c_str(), {8, 8, 5, 6, 1}, {16, 32});
    const std::string first = made.c.source.substr(made.c.source.find("static KSM_APART void n0("));
    EXPECT_EQ(first.substr(0, first.find("\n}\n")).find("hf h0") != std::string::npos, half) << channels;
  }
}

TEST(CKernels, LoopsThatContinueTheChannelsShareTheirVectors) {
  const char* text =
      "kernel mixed\ngiven g=4\n  a = mix(x, over=c, to=(g=g,u=3,v=3))\n  b = linear(a, to=Co)\nreturn b\n";
  const Checked made = checked_c(text, {16, 16, 4, 4, 1}, {16, 32});
  const FlatNest flat = flatten(made.program, made.program.run.front(), plan_memory(made.program, {}));
  const auto found = find_contraction(flat);
  ASSERT_TRUE(found.has_value()) << str(made.program);
  EXPECT_EQ(found->channels(flat), 4 * 3 * 3);
  EXPECT_EQ(packed_channels(flat, *found, {16, 32}), 40);
  EXPECT_TRUE(found->outer.empty());
}

TEST(CKernels, WhatWrapsIsCopiedBeforeAProduct) {
  const char* text =
      "kernel around\n  a = shift(x, axes=(h,w), by=-1, fill=wrap)\n  b = linear(a, to=Co)\n"
      "  c = broadcast(a, b, op=mul)\nreturn c\n";
  const Checked made = checked_c(text, {16, 16, 4, 4, 1}, {16, 32});
  const auto methods = default_methods(made.program, {16, 32});
  EXPECT_EQ(std::ranges::count_if(methods, [](const Method& m) { return std::holds_alternative<RegisterBlock>(m); }), 1)
      << str(made.program);
}

TEST(CKernels, GroupsOfAConcatenationAreReadInVectors) {
  const char* text =
      "kernel joined\ngiven g=2\n  a = shift(x, axes=w, by=1)\n  b = concat(x, a)\n  c = group(b, by=g)\n"
      "  d = conv(c, to=Co)\nreturn d\n";
  const Checked made = checked_c(text, {16, 16, 3, 7, 1}, {16, 32});
  EXPECT_EQ(made.c.source.find("SET1(*(T"), std::string::npos) << str(made.program);
}

TEST(CKernels, SumsOverChannelsAreFinishedAsManyAtOnceAsAVectorHolds) {
  const char* text =
      "kernel total\n  a = fold(x, axes=c, by=max)\n  b = tanh(a)\n  c = broadcast(b, x, op=add)\n"
      "  d = linear(c, to=Co)\nreturn d\n";
  // 21 results in a row: a whole vector of them and a part.
  const Checked made = checked_c(text, {16, 16, 3, 7, 1}, {16, 32});
  EXPECT_NE(made.c.source.find("totals[at] = max_of(acc);"), std::string::npos);
  EXPECT_EQ(made.c.source.find("SET1(max_of"), std::string::npos);
}

TEST(CKernels, OneFileForAnyProcessorComputesTheSameOnEach) {
  constexpr std::uint64_t seed = 1848;
  std::size_t levels = 0;
  for_random_kernels(seed, wanted_kernels(8), [&](RandomKernel drawn) {
    const Case made = case_of(drawn, seed + drawn.number);
    if (!finite(made)) return;
    COptions options;
    options.threads = drawn.number % 2 == 0 ? 1 : 2;
    const GraphC any = graph_as_portable_c(made.graph, options);
    for (const CTarget& target : portable_targets()) {
      if (target.lanes > host_target().lanes) continue;
      ++levels;
      std::string failure;
      // No word of this machine's processor; unused functions of the prelude are all that is not used.
      run_c(made, any.c, any.program, options,
            {"-std=gnu11", "-O1", "-ffp-contract=fast", "-Wall", "-Wextra", "-Werror", "-Wno-psabi",
             fmt::format("-DKSM_MOST_LANES={}", target.lanes)},
            failure);
      EXPECT_EQ(failure, "") << target.lanes << " lanes, " << drawn.origin << ", site " << drawn.site.str() << '\n'
                             << str(drawn.kernel);
    }
  });
  EXPECT_GE(levels, 8U);
}

TEST(CKernels, ThreadsThatShareEveryNestComputeWhatTheInterpreterComputes) {
  constexpr std::uint64_t seed = 90210;
  const std::vector<CTarget> targets{host_target(), {8, 16}, {4, 16}};
  std::size_t shared = 0;
  std::set<std::string> used;
  for_random_kernels(seed, wanted_kernels(24), [&](RandomKernel drawn) {
    drawn.batch = drawn.number % 2 == 0 ? 1 : 3;
    const Case made = case_of(drawn, seed + drawn.number);
    if (!finite(made)) return;
    const NestProgram program = schedule(simplify(made.graph));
    const COptions options{.target = targets[drawn.number % targets.size()],
                           .threads = static_cast<int>(2 + drawn.number / 2 % 2),
                           .shortest_shared_seconds = 0};
    const auto methods = methods_for(program, options.target, drawn.number);
    const CProgram c = generate_c(program, methods, options);
    // Two ends of every range, beside the function itself.
    shared += testing::count_of(c.source, "ksm_share(") - 1;
    EXPECT_EQ(c.threads, options.threads);
    // GCC 12 writes old values back over those of other threads where it may keep results in registers.
    EXPECT_EQ(c.source.find("restrict T"), std::string::npos);
    for (const Method& method : methods) used.insert(str(method).substr(0, str(method).find(' ')));
    std::string failure;
    std::vector<std::string> flags{"-std=gnu11", "-O2", "-march=native", "-ffp-contract=fast", "-w"};
    if (drawn.number % 4 == 3) flags.insert(flags.end(), {"-fsanitize=address,undefined", "-fno-sanitize-recover=all"});
    run_c(made, c, program, options, flags, failure);
    EXPECT_EQ(failure, "") << drawn.origin << ", site " << drawn.site.str() << ", batch " << drawn.batch << ", "
                           << options.threads << " threads\n"
                           << str(drawn.kernel) << str(program);
  });
  EXPECT_GE(used.size(), 2U);
  EXPECT_GE(shared, 24U);
}

}  // namespace
}  // namespace kasimir
