// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/sampler_source.h"

#include <filesystem>
#include <vector>

namespace kasimir {

/// Kernels that were all trained alike, on the first rung of one study, so that strategies can be compared without any
/// training. As a file: one JSON object per line, the first of which says what was asked of the study.
struct StrategyTable {
  struct Row {
    int trial = 0;
    study::Point point;
    std::string kernel;     ///< its text
    nlohmann::json beside;  ///< scores and later rungs' accuracies, for whoever reads the file
  };
  nlohmann::json spec;  ///< of the study, as SearchSpec::to_json(), with `input`, `classes` and `command`
  study::Point original;
  std::vector<Row> rows;

  /// @throws Error (input) if the study has no original or no candidates on its first rung.
  static StrategyTable from_study(const study::Store& store);
  /// @throws Error (input) with file and line.
  static StrategyTable read(const std::filesystem::path& file);
  [[nodiscard]] std::string str() const;
  /// What it holds of its rows; no kernel is scored anew. The table must outlive it.
  [[nodiscard]] StudyFacts facts() const;

 private:
  [[nodiscard]] const Row& row_of(int trial) const;
};

/// Gives rows of a table in place of kernels, each once: a drawn one is any that is left; one that is bred from a row
/// is the row left whose features are nearest to those of the kernel that the sampler breeds.
class TableSource final : public IdeaSource {
 public:
  /// All must outlive it. `breed` breeds from the table's rows by their trials.
  TableSource(const StrategyTable& table, SamplerSource& breed, std::uint64_t seed);

  Outcome<Idea> drawn(std::uint64_t attempt) override;
  Outcome<Idea> mutated(int trial, std::uint64_t attempt) override { return nearest(breed_->mutated(trial, attempt)); }
  Outcome<Idea> crossed(int first, int second, std::uint64_t attempt) override {
    return nearest(breed_->crossed(first, second, attempt));
  }
  Outcome<Idea> regrown(int trial, int kept, std::uint64_t attempt) override {
    return nearest(breed_->regrown(trial, kept, attempt));
  }
  const std::vector<std::string>& steps(int trial) override { return breed_->steps(trial); }
  const std::optional<std::vector<double>>& features(int trial) override { return breed_->features(trial); }
  std::optional<std::vector<double>> features(const Idea& idea) override { return features(row(idea).trial); }
  const Scores& scores(int trial) override { return breed_->scores(trial); }
  Scores scores(const Idea& idea) override { return scores(row(idea).trial); }
  study::Point counts(const Idea& idea) override;

  [[nodiscard]] const StrategyTable::Row& row(const Idea& idea) const;
  /// The row is not given again.
  void take(const Idea& idea);

 private:
  [[nodiscard]] static Idea idea_of(std::size_t row);
  [[nodiscard]] Outcome<Idea> nearest(const Outcome<Idea>& bred) const;

  const StrategyTable* table_;
  SamplerSource* breed_;
  std::uint64_t seed_;
  std::vector<std::size_t> left_;
  std::vector<double> scale_;  ///< deviations of the features over the table, 0 where all are equal
};

}  // namespace kasimir
