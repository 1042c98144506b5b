// SPDX-License-Identifier: Apache-2.0
#include "unit/hardware/oracle.h"
#include "unit/hardware/random_case.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

/// Whether instances side by side lie between two passes of a loop that moves the operand's tile: the evaluator then
/// credits fewer overlaps than a set does.
bool passes_lie_apart(const CostModel& model, const Mapping& mapping, int operand) {
  for (int i = 0; i < mapping.count; ++i) {
    const auto& loop = mapping.loops[static_cast<std::size_t>(i)];
    if (loop.kind != LoopKind::temporal && loop.bound > 1 &&
        (model.operand[static_cast<std::size_t>(operand)].sliding >> static_cast<unsigned>(loop.dim) & 1U) != 0)
      return true;
  }
  return false;
}

std::string told(const CostModel& model, const Mapping& mapping, std::uint64_t seed, std::uint64_t stream, int i) {
  return fmt::format("seed {}, stream {}, entry {}\n{}\n{}", seed, stream, i, str(model.problem),
                     nested_loops(mapping, model.problem, model.architecture));
}

struct Tally {
  int equal = 0;
  int bounded = 0;
};

Tally compare(const RandomCase& made, const EvaluationOptions& options, std::uint64_t seed, std::uint64_t stream) {
  const CostModel model(made.problem, made.architecture, options);
  const Evaluation found = evaluate(model, made.mapping);
  const std::vector<OracleCount> walked = Oracle(model, made.mapping).counts();
  Tally tally;
  EXPECT_EQ(static_cast<std::size_t>(found.counts.count), walked.size());
  for (int i = 0; i < found.counts.count; ++i) {
    const BasicCount<double>& entry = found.counts.entries[static_cast<std::size_t>(i)];
    const OracleCount& one = walked[static_cast<std::size_t>(i)];
    // boxes around digits that are far apart overlap, and hold more than the tensor
    if (options.footprint == FootprintRule::bounding_box && entry.operand == 0 && model.operand[0].sliding != 0)
      continue;
    SCOPED_TRACE(told(model, made.mapping, seed, stream, i));
    EXPECT_EQ(entry.level, static_cast<int>(one.level));
    EXPECT_EQ(entry.operand, static_cast<int>(one.operand));
    EXPECT_EQ(entry.footprint, one.footprint);
    EXPECT_EQ(entry.distinct, one.distinct);
    if (options.halo != HaloRule::none && passes_lie_apart(model, made.mapping, entry.operand)) {
      EXPECT_GE(entry.reads, one.reads);
      EXPECT_GE(entry.fills, one.fills);
      EXPECT_GE(entry.updates, one.updates);
      ++tally.bounded;
      continue;
    }
    EXPECT_EQ(entry.reads, one.reads);
    EXPECT_EQ(entry.fills, one.fills);
    EXPECT_EQ(entry.updates, one.updates);
    ++tally.equal;
  }
  return tally;
}

class EveryRule : public testing::TestWithParam<std::pair<FootprintRule, HaloRule>> {};

TEST_P(EveryRule, CountsWhatAWalkOverAllIterationsCounts) {
  constexpr std::uint64_t seed = 2026;
  EvaluationOptions options;
  options.footprint = GetParam().first;
  options.halo = GetParam().second;
  Tally all;
  for (std::uint64_t stream = 0; stream < 1500 && !HasFailure(); ++stream) {
    Rng rng(seed, stream);
    const Tally one = compare(random_case(rng, stream % 2 == 0 ? 0 : 0.3), options, seed, stream);
    all.equal += one.equal;
    all.bounded += one.bounded;
  }
  EXPECT_GT(all.equal, 5000) << "most counts must be compared for equality";
}

std::string rule_name(const testing::TestParamInfo<std::pair<FootprintRule, HaloRule>>& test) {
  constexpr std::array<const char*, 3> halos{"None", "Innermost", "Full"};
  return std::string(test.param.first == FootprintRule::exact ? "Exact" : "Box") +
         halos[static_cast<std::size_t>(test.param.second)];
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule,
                         testing::Values(std::pair{FootprintRule::exact, HaloRule::none},
                                         std::pair{FootprintRule::exact, HaloRule::innermost},
                                         std::pair{FootprintRule::exact, HaloRule::full},
                                         std::pair{FootprintRule::bounding_box, HaloRule::none},
                                         std::pair{FootprintRule::bounding_box, HaloRule::innermost}),
                         rule_name);

}  // namespace
}  // namespace kasimir
