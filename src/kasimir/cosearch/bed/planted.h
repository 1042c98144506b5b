// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/sampling.h"

#include <string>
#include <vector>

/// A test bed with training: the sum of 9 functions is fitted by 9 small quantised networks, each with a choice of 2, 4
/// or 8 bits. How much each function counts is set so that the best width of each is known. What remains is how bits
/// are sampled while weights and choices are learned.
namespace kasimir {

struct PlantedOptions {
  std::size_t seeds = 5;  ///< problems, each with weights and data of its own
  std::size_t warmup_steps = 300, choice_steps = 700;
  std::size_t batch = 32;
  std::uint64_t seed = 1;
};

/// One problem: y = sum over branches of amplitude * function, and the objective
/// mean squared error + price * sum of bits.
struct PlantedProblem {
  std::vector<int> bits{2, 4, 8};
  std::vector<double> amplitude;           ///< of each branch
  std::vector<std::vector<double>> error;  ///< [branch][bits]: of a branch trained alone, before amplitudes
  std::vector<std::size_t> best;  ///< of each branch: the width of the least amplitude^2 * error + price * bits
  double price = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] double objective(const std::vector<std::size_t>& chosen) const;
};
/// Trains every branch alone with every width for as many steps as a search takes, then sets amplitudes: a third of the
/// branches with 2, 4, 8 bits best, by a factor of at least about 2.5 where the errors allow it.
PlantedProblem planted_problem(std::uint64_t seed, const PlantedOptions& options);

struct PlantedChoice {
  std::vector<std::size_t> bits;
  double entropy = 0;  ///< mean over branches, in nats
};
/// Weights and choices learned together under a mode.
PlantedChoice search_planted(const PlantedProblem& problem, const SamplingMode& mode, const PlantedOptions& options);

struct PlantedRow {
  SamplingMode mode;
  std::vector<double> wrong;   ///< of 9, for each seed
  std::vector<double> excess;  ///< objective above the optimum, as a share, for each seed
  double bias = 0;             ///< bits in total above the planted ones, mean
  double entropy = 0;          ///< at the end, mean
};
/// The named modes and variants of them: hot mixtures, tempered slopes, other rates.
std::vector<SamplingMode> planted_modes();
std::vector<PlantedRow> run_planted_bed(const std::vector<SamplingMode>& modes, const PlantedOptions& options);
/// As a table.
std::string str(const std::vector<PlantedRow>& rows, const PlantedOptions& options);

}  // namespace kasimir
