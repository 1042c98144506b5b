// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/from_nest.h"

#include "kasimir/hardware/evaluate.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/schedule.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "unit/hardware/oracle.h"
#include "unit/hardware/random_case.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kasimir {
namespace {

NestProgram nests_of(const Kernel& kernel, const Site& site) {
  return schedule(simplify(freeze(lower_at(kernel, site, 2).value())));
}

std::vector<std::string> problems_of(const std::string& steps, const Site& site = {8, 8, 4, 4, 1}) {
  const NestProgram program = nests_of(parse_kernel("kernel k\ngiven g=2\n" + steps, catalog()), site);
  std::vector<std::string> lines;
  const auto problems = problems_of(program);
  for (const Problem& problem : problems.value()) lines.push_back(str(problem));
  return lines;
}

TEST(FromNest, ReadsAConvolutionWithItsZeros) {
  EXPECT_EQ(problems_of("  a = unfold(x)\n  b = linear(a, to=Co)\nreturn b\n"),
            (std::vector<std::string>{
                "y[n0,c1,h2,w3] += x[n0,c4,h2+u5-1<4,w3+v6-1<4] * w0[c1,c4,u5,v6] for n0=2 c1=8 h2=4 w3=4 c4=8 u5=3 "
                "v6=3 with y:8/32 x:8 w0:8"}));
}

TEST(FromNest, ReadsPointwiseNestsSumsAndMaxima) {
  EXPECT_EQ(
      problems_of("  a = softmax(x, axes=c)\n  b = linear(a, to=Co)\nreturn b\n"),
      (std::vector<std::string>{
          "t0[n0,h1,w2] max= x[n0,c3,h1,w2] for n0=2 h1=4 w2=4 c3=8 with t0:8 x:8",
          "t1[n0,c1,h2,w3] = x[n0,c1,h2,w3] * t0[n0,h2,w3] for n0=2 c1=8 h2=4 w3=4 with t1:8 x:8 t0:8@input ops=11",
          "t2[n0,h1,w2] += t1[n0,c3,h1,w2] for n0=2 h1=4 w2=4 c3=8 with t2:8/32 t1:8",
          "a[n0,c1,h2,w3] = t1[n0,c1,h2,w3] * t2[n0,h2,w3] for n0=2 c1=8 h2=4 w3=4 with a:8 t1:8 t2:8@input",
          "y[n0,c1,h2,w3] += a[n0,c4,h2,w3] * w0[c1,c4] for n0=2 c1=8 h2=4 w3=4 c4=8 with y:8/32 a:8 w0:8"}));
}

TEST(FromNest, TakesAShiftAsItsOwnFootprint) {
  EXPECT_EQ(problems_of("  a = shift(x, axes=h, by=1)\n  b = linear(a, to=Co)\nreturn b\n"),
            (std::vector<std::string>{
                "y[n0,c1,h2,w3] += x[n0,c4,h2-1<4,w3] * w0[c1,c4] for n0=2 c1=8 h2=4 w3=4 c4=8 with y:8/32 x:8 w0:8"}));
}

TEST(FromNest, CopiesWhatWrapsAroundBeforeItIsMultiplied) {
  EXPECT_EQ(problems_of("  a = shift(x, axes=h, by=1, fill=wrap)\n  b = linear(a, to=Co)\nreturn b\n"),
            (std::vector<std::string>{
                "a[n0,c1,h2,w3] = x[n0,c1,h2,w3] for n0=2 c1=8 h2=4 w3=4 with a:8 x:8",
                "y[n0,c1,h2,w3] += a[n0,c4,h2,w3] * w0[c1,c4] for n0=2 c1=8 h2=4 w3=4 c4=8 with y:8/32 a:8 w0:8"}));
}

TEST(FromNest, RejectsMoreThanTheEvaluatorHolds) {
  NestProgram program =
      nests_of(parse_kernel("kernel k\n  a = linear(x, to=Co)\nreturn a\n", catalog()), {8, 8, 4, 4, 1});
  Nest& nest = program.run[0];
  for (int i = 0; i < 8; ++i) {
    BoundRead read = std::get<BoundRead>(nest.value[0]);
    read.at[0].offset = -1 - i;
    nest.epilogue.emplace_back(read);
  }
  const auto found = kasimir::problems_of(program);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.rejection().str(),
            "a nest that the evaluator cannot hold (the problem has 11 operands, 1 to 8 are possible)");
}

TEST(FromNest, EveryNestOfSampledKernelsCostsSomethingOnEveryMachine) {
  constexpr std::uint64_t seed = 3;
  std::vector<Sampled> found;
  sample(Sampler(catalog(), testing::resnet8_loads(), {}, seed), 200, 20'000, 1,
         [&](const Sampled& sampled) { found.push_back(sampled); });
  ASSERT_EQ(found.size(), 200U);
  std::size_t nests = 0;
  std::size_t without_products = 0;
  for (const Sampled& sampled : found) {
    const NestProgram program = nests_of(sampled.kernel, {16, 32, 16, 16, 2});
    for (const Nest& nest : program.run) {
      const auto problem = problem_of(program, nest);
      ASSERT_TRUE(problem.ok()) << str(sampled.kernel) << problem.rejection().str();
      EXPECT_EQ(parse_problem(str(*problem)), *problem) << str(*problem);
      EXPECT_EQ(static_cast<double>(nest.points()) / problem->points(),
                std::round(static_cast<double>(nest.points()) / problem->points()));
      without_products += static_cast<std::size_t>(problem->operands.size() == 2);
      for (const std::string name : {"gemmini", "systolic_os", "vector_unit"}) {
        Rng rng(seed, nests);
        const Architecture architecture = preset(name);
        const Mapping mapping = random_mapping(rng, *problem, architecture, 0.2);
        const Evaluation result = evaluate(CostModel(*problem, architecture), mapping);
        SCOPED_TRACE(fmt::format("{}, seed {}, nest {}\n{}\n{}", name, seed, nests, str(*problem),
                                 nested_loops(mapping, *problem, architecture)));
        EXPECT_GT(result.cycles, 0);
        EXPECT_GT(result.energy_pj, 0);
        EXPECT_GE(result.stall_cycles(), 0);
        for (std::size_t i = 0; i < static_cast<std::size_t>(result.counts.count); ++i) {
          const auto& entry = result.counts.entries[i];
          EXPECT_LE(entry.footprint, problem->elements(entry.operand));
          EXPECT_GE(entry.reads, 0);
        }
      }
      ++nests;
    }
  }
  EXPECT_GT(nests, 300U);
  EXPECT_GT(without_products, 20U) << "sums, maxima and copies are there too";
}

TEST(FromNest, SampledNestsNeverTakeMoreThanAWalkOverThem) {
  constexpr std::uint64_t seed = 4;
  std::vector<Sampled> found;
  sample(Sampler(catalog(), testing::resnet8_loads(), {}, seed), 40, 20'000, 1,
         [&](const Sampled& sampled) { found.push_back(sampled); });
  int compared = 0;
  for (const Sampled& sampled : found) {
    const auto graph = lower_at(sampled.kernel, {8, 8, 4, 4, 1}, 1);
    if (!graph) continue;
    const NestProgram program = schedule(simplify(freeze(*graph)));
    for (const Nest& nest : program.run) {
      const auto problem = problem_of(program, nest);
      ASSERT_TRUE(problem.ok()) << problem.rejection().str();
      if (problem->points() > 4000 || problem->points() < 2) continue;
      Rng rng(seed, static_cast<std::uint64_t>(compared));
      const Architecture architecture = random_architecture(rng);
      const Mapping mapping = random_mapping(rng, *problem, architecture, 0.1);
      EvaluationOptions options;
      options.halo = HaloRule::full;
      const CostModel model(*problem, architecture, options);
      const Evaluation result = evaluate(model, mapping);
      const std::vector<OracleCount> walked = Oracle(model, mapping).counts();
      for (std::size_t i = 0; i < walked.size(); ++i) {
        SCOPED_TRACE(fmt::format("seed {}, nest {}, entry {}\n{}\n{}", seed, compared, i, str(*problem),
                                 nested_loops(mapping, *problem, architecture)));
        // zeros outside a map are not fetched; the evaluator credits that to whole tiles only
        EXPECT_GE(result.counts.entries[i].fills, walked[i].fills);
        EXPECT_GE(result.counts.entries[i].reads, walked[i].reads);
        EXPECT_GE(result.counts.entries[i].updates, walked[i].updates);
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 10);
}

TEST(FromNest, PlainNamesMakeEqualWhatDiffersInNamesOnly) {
  const Problem named = parse_problem("y[m,n] += a[m,k] * w3[k,n] * b[n] for m=4 n=8 k=2");
  const Problem plain = parse_problem("O[m,n] += I[m,k] * W[k,n] * I2[n] for m=4 n=8 k=2");
  EXPECT_NE(named, plain);
  EXPECT_EQ(with_plain_names(named), plain);
}

}  // namespace
}  // namespace kasimir
