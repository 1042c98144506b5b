// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/check_engine.h"

#include "kasimir/base/files.h"
#include "kasimir/hardware/evaluate.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

const std::filesystem::path reference = KASIMIR_SOURCE_DIR "/tests/reference/hardware";

TEST(CheckEngine, AgreesWithEverythingThatIsAskedOfIt) {
  const std::vector<CheckRow> rows = check_engine(reference);
  std::vector<std::string> sets;
  for (const CheckRow& row : rows) {
    EXPECT_TRUE(row.holds) << row.set << ": asked " << row.asked << ", found " << row.found;
    sets.push_back(row.set);
  }
  EXPECT_EQ(sets,
            (std::vector<std::string>{"Timeloop counts", "Timeloop cycles", "Timeloop cycles", "Timeloop energies",
                                      "Gemmini RTL, given mappings", "Gemmini RTL, mappings of a model"}));
  EXPECT_EQ(rows[0].points, 556U);
  EXPECT_EQ(rows[1].points, 1010U);
  EXPECT_EQ(rows[4].points, 222U);
}

TEST(CheckEngine, CountsTimeloopsCasesTheSameInWholeNumbers) {
  for (const TimeloopCase& one : read_timeloop_cases(reference / "timeloop_golden_counts.txt")) {
    const Evaluation real = evaluate(one.model, one.mapping);
    BasicEvaluation<Int128> whole;
    evaluate_into(one.model, one.mapping, whole);
    ASSERT_EQ(whole.counts.count, real.counts.count) << one.name;
    for (std::size_t i = 0; i < static_cast<std::size_t>(whole.counts.count); ++i) {
      EXPECT_EQ(static_cast<double>(whole.counts.entries[i].reads), real.counts.entries[i].reads) << one.name;
      EXPECT_EQ(static_cast<double>(whole.counts.entries[i].fills), real.counts.entries[i].fills) << one.name;
      EXPECT_EQ(static_cast<double>(whole.counts.entries[i].updates), real.counts.entries[i].updates) << one.name;
    }
    EXPECT_EQ(whole.cycles, real.cycles) << one.name;
  }
}

TEST(CheckEngine, NamesAFileThatEndsEarly) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "short_counts.txt";
  write_file(file, "CASE one\n1 1 2\nBuffer 7\n2 16 0 0\n");
  try {
    read_timeloop_cases(file);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "a case of Timeloop's counts is not complete\n  " + file.string());
  }
}

TEST(CheckEngine, NamesAColumnThatIsMissing) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "no_columns.csv";
  write_file(file, "R,S\n1,1\n");
  try {
    read_dosa_runs(file);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "there is no column N here");
    ASSERT_EQ(error.notes().size(), 1U);
    EXPECT_NE(error.notes()[0].find("no_columns.csv"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace kasimir
