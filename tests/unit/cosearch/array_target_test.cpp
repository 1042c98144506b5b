// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/array_target.h"

#include "kasimir/base/text.h"
#include "kasimir/cosearch/decode.h"
#include "kasimir/hardware/evaluate.h"
#include "kasimir/hardware/format/timeloop.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using testing::thrown_by;

const ChoiceSpace space{{{"one", {"conv", "split"}}, {"two", {"conv", "skip"}}}, {4, 8}};

BlockLayers small_layers() {
  const ConvLayer conv = same_convolution("conv", 16, 16, 8, 3);
  ConvLayer stem = same_convolution("stem", 3, 16, 8, 3);
  stem.bits = {8, 8};
  return {{{{conv}, {same_convolution("dw", 16, 16, 8, 3, 1, 16), same_convolution("pw", 16, 16, 8, 1)}}, {{conv}, {}}},
          {stem}};
}

ArrayTarget small_target(Objective objective) {
  ArrayTargetOptions options;
  options.objective = objective;
  options.evaluations = 3000;
  return {space, problems_of(small_layers(), space), preset("systolic_ws"), options};
}

std::vector<ChoiceDesign> all_designs() {
  std::vector<ChoiceDesign> all;
  for (std::size_t code = 0; code < 16; ++code)
    all.push_back({{code & 1, code >> 1 & 1}, {code >> 2 & 1, code >> 3 & 1}});
  return all;
}

TEST(ArrayTarget, AddsUpWhatTheMapperFindsForEachLayer) {
  ArrayTarget target = small_target(Objective::energy);
  const Architecture architecture = preset("systolic_ws");
  const BlockProblems problems = problems_of(small_layers(), space);
  SearchOptions search;
  search.goal.objective = Objective::energy;
  search.evaluations = 3000;
  search.gap = 0.05;
  const auto energy = [&](const Problem& problem) {
    return search_mapping(CostModel(problem, architecture), "branch_and_bound", search).evaluation.energy_pj;
  };
  const double wanted = energy(problems.outside[0]) + energy(problems.choices[0][1][1][0]) +
                        energy(problems.choices[0][1][1][1]) + energy(problems.choices[1][0][0][0]);
  EXPECT_NEAR(target.cost({{1, 1}, {0, 0}}), wanted, 1e-9 * wanted);
  // Stem, dw and pw with two widths, and one convolution that both blocks have.
  EXPECT_EQ(target.different_layers(), 1U + 2U + 2U + 2U);
}

TEST(ArrayTarget, DescribesTheMachineAndItsMappings) {
  ArrayTarget target = small_target(Objective::energy_delay);
  const ChoiceDesign design{{1, 1}, {0, 0}};
  const std::vector<TargetFile> files = target.files(design);
  ASSERT_EQ(files.size(), 2 + 4U);
  EXPECT_EQ(files[0].name, "accelerator.toml");
  const Architecture architecture = parse_architecture(files[0].text, files[0].name);
  EXPECT_EQ(architecture, preset("systolic_ws"));
  ArrayTarget::Sums sums;
  // Three lines for each layer: how often, the problem, the mapping.
  std::vector<std::string> lines;
  for (const std::string& line : split(files[1].text, '\n'))
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  ASSERT_EQ(lines.size(), 3 * 4U);
  for (std::size_t i = 0; i < lines.size(); i += 3) {
    const Problem problem = parse_problem(lines[i + 1]);
    const Mapping mapping = parse_mapping(lines[i + 2], problem, architecture);
    const Evaluation found = evaluate(CostModel(problem, architecture), mapping);
    EXPECT_TRUE(found.fits());
    sums.cycles += std::stod(lines[i]) * found.cycles;
    sums.energy_pj += std::stod(lines[i]) * found.energy_pj;
    const std::string& yaml = files[2 + i / 3].text;
    const Operand& output = problem.operands[0];
    const Problem read = parse_timeloop_problem(
        yaml, "a.yaml", {problem.operands[1].bits, problem.operands[2].bits, output.bits, output.partial_bits});
    EXPECT_EQ(read.points(), problem.points());
    EXPECT_NO_THROW(parse_timeloop_mapping(yaml, "a.yaml", read, parse_timeloop_architecture(yaml, "a.yaml", read)));
  }
  EXPECT_NEAR(sums.cycles * sums.energy_pj, target.cost(design), 1e-9 * target.cost(design));
}

TEST(ArrayTarget, TheTableOfAnAcceleratorHoldsTheCostOfItsDesign) {
  for (const Objective objective : {Objective::latency, Objective::energy, Objective::energy_delay}) {
    ArrayTarget target = small_target(objective);
    for (const ChoiceDesign& design : all_designs()) {
      const double cost = target.cost(design);
      EXPECT_NEAR(cost_of(target.optimise(design).loads, design), cost, 1e-9 * cost);
      EXPECT_LE(cost_of(target.bound(design).loads, design), cost * (1 + 1e-9));
    }
  }
}

TEST(ArrayTarget, NoOtherDesignsMappingsMakeTheProductSmaller) {
  ArrayTarget target = small_target(Objective::energy_delay);
  for (const ChoiceDesign& mapped_for : all_designs()) {
    const Accelerator accelerator = target.optimise(mapped_for);
    for (const ChoiceDesign& design : all_designs())
      EXPECT_GE(cost_of(accelerator.loads, design), target.cost(design) * (1 - 1e-9));
  }
}

TEST(ArrayTarget, FewerBitsCostNoMoreEnergy) {
  ArrayTarget target = small_target(Objective::energy);
  EXPECT_LT(target.cost({{0, 0}, {0, 0}}), target.cost({{0, 1}, {0, 1}}));
  EXPECT_LT(target.cost({{0, 1}, {1, 1}}), target.cost({{0, 1}, {0, 1}}));
  EXPECT_EQ(target.unit(), "pJ");
}

TEST(ArrayTarget, IsDecodedWithinItsLimit) {
  ArrayTarget target = small_target(Objective::energy_delay);
  ChoiceTable scores = choice_table(space);
  for (auto& block : scores) block = {{1, 2}, {0.2, 0.4}};
  const double limit = 0.8 * target.cost({{0, 1}, {0, 1}});
  double best = -1;
  for (const ChoiceDesign& design : all_designs())
    if (target.cost(design) <= limit) best = std::max(best, sum_of(scores, design));
  const DecodeAnswer answer = decode(scores, adapted_limit(target, limit, ChoiceDesign(2)));
  ASSERT_FALSE(answer.designs.empty());
  EXPECT_LE(answer.designs.front().cost, limit);
  EXPECT_NEAR(answer.designs.front().score, best, 1e-12);
}

TEST(ArrayTarget, RefusesWhatItCannotAnswer) {
  ArrayTargetOptions options;
  options.objective = Objective::weighted;
  const BlockProblems problems = problems_of(small_layers(), space);
  EXPECT_EQ(thrown_by([&] { return ArrayTarget(space, problems, preset("gemmini"), options).unit(); }),
            "2: objective weighted, needed: latency, energy or edp");
  BlockLayers wide = small_layers();
  wide.outside[0].bits = {16, 16};
  EXPECT_TRUE(
      thrown_by([&] { return ArrayTarget(space, problems_of(wide, space), preset("systolic_ws"), {}).unit(); })
          .starts_with("3: outside the blocks: no mapping fits: 100 % of those that were looked at break the limit "
                       "of capacity of register"));
  EXPECT_EQ(thrown_by([&] { return ArrayTarget(space, {}, preset("gemmini"), {}).unit(); }),
            "2: problems that do not fit the space, needed: a list for each block, operator and width");
}

}  // namespace
}  // namespace kasimir
