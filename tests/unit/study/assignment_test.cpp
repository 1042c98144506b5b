// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/assignment.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir::study {
namespace {

TEST(Assignment, ReadsWhatItWrites) {
  const Assignment assignment = {{"stage1.conv1", 3}, {"/layer = 2/Conv", 0}, {"stage2.conv1", 12}};
  const std::string text = str(assignment);
  EXPECT_EQ(text, "assignment\n  stage1.conv1 = trial 3\n  /layer = 2/Conv = original\n  stage2.conv1 = trial 12\n");
  EXPECT_TRUE(is_assignment(text));
  EXPECT_EQ(parse_assignment(text), assignment);
  EXPECT_FALSE(is_assignment(""));
  EXPECT_FALSE(is_assignment("kernel assignment\n  a = stride(x)\nreturn a\n"));
}

TEST(Assignment, NamesTheLineThatItCannotRead) {
  for (const std::string line : {"  conv1", "  conv1 = trial", "  conv1 = trial three", "  conv1 = kernel 3"}) {
    try {
      parse_assignment("assignment\n" + line + "\n");
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), fmt::format("assignment: the line `{}` is none of `SITE = trial NUMBER` and `SITE = "
                                             "original`",
                                             line));
    }
  }
}

using Sites = std::vector<std::vector<SiteOption>>;

/// Every choice, by counting through them.
std::vector<AssignmentPoint> every_choice(const Sites& sites) {
  std::vector<AssignmentPoint> all;
  std::vector<int> options(sites.size(), 0);
  for (;;) {
    AssignmentPoint point{0, 0, options};
    for (std::size_t i = 0; i < sites.size(); ++i) {
      point.latency += sites[i][static_cast<std::size_t>(options[i])].latency;
      point.drop += sites[i][static_cast<std::size_t>(options[i])].drop;
    }
    all.push_back(point);
    std::size_t i = 0;
    while (i < sites.size() && ++options[i] == static_cast<int>(sites[i].size())) options[i++] = 0;
    if (i == sites.size()) return all;
  }
}

TEST(AssignmentFront, IsThatOfAllChoices) {
  const std::uint64_t seed = 11;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  for (std::uint64_t round = 0; round < 300; ++round) {
    Rng rng(seed, round);
    Sites sites(1 + rng.below(6));
    for (auto& options : sites) {
      options.resize(1 + rng.below(4));
      // Whole numbers: sums are exact, and there are ties.
      for (SiteOption& option : options)
        option = {static_cast<double>(rng.below(9)) - 6, static_cast<double>(rng.below(7)) - 1};
    }
    const auto front = assignment_front(sites);
    const auto all = every_choice(sites);
    for (const AssignmentPoint& point : front) {
      AssignmentPoint sums;
      for (std::size_t i = 0; i < sites.size(); ++i) {
        sums.latency += sites[i].at(static_cast<std::size_t>(point.options.at(i))).latency;
        sums.drop += sites[i].at(static_cast<std::size_t>(point.options.at(i))).drop;
      }
      EXPECT_EQ(sums.latency, point.latency) << round;
      EXPECT_EQ(sums.drop, point.drop) << round;
    }
    for (int budget = -40; budget <= 40; ++budget) {
      double best = INFINITY;
      for (const AssignmentPoint& point : all)
        if (point.latency <= budget) best = std::min(best, point.drop);
      double found = INFINITY;
      for (const AssignmentPoint& point : front)
        if (point.latency <= budget) found = std::min(found, point.drop);
      EXPECT_EQ(found, best) << "round " << round << ", budget " << budget;
    }
    for (std::size_t i = 1; i < front.size(); ++i) {
      EXPECT_LT(front[i - 1].latency, front[i].latency) << round;
      EXPECT_GT(front[i - 1].drop, front[i].drop) << round;
    }
  }
}

TEST(AssignmentFront, TakesFortySites) {
  Rng rng(1);
  Sites sites(40);
  for (auto& options : sites) {
    options = {{0, 0}};
    for (int k = 0; k < 3; ++k) options.push_back({-rng.unit(), rng.unit()});
  }
  const auto front = assignment_front(sites);
  EXPECT_EQ(front.back().drop, 0) << "the original is the slowest of the front";
  EXPECT_GT(front.size(), 100U);
}

TEST(AssignmentFront, OfNoSitesIsOnePoint) { EXPECT_EQ(assignment_front({}).size(), 1U); }

}  // namespace
}  // namespace kasimir::study
