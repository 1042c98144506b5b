// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/cosearch.h"

#include <string>
#include <vector>

/// A test bed without training: errors and work of every choice are given, so that the exact optimum is known by
/// enumeration, and the slopes are those that a supernet would give, with noise. What remains is the search: forms of
/// the cost, control of the target, decoding.
namespace kasimir {

/// A problem: 6 blocks x 3 operators x 3 bit widths, two blocks on each of 3 chunks.
struct TableProblem {
  ChoiceSpace space;
  ChoiceTable error;               ///< of each choice; a network's is the sum
  ChoiceTable work;                ///< cycles on one processing element
  std::vector<std::size_t> chunk;  ///< of each block
  int elements = 32;               ///< processing elements that the chunks share
};
/// `interacts`: few bits hurt small operators more. Deterministic for a seed.
TableProblem table_problem(std::uint64_t seed, bool interacts);

/// Chunks that share processing elements: cycles = work / elements of the chunk, the slowest chunk decides.
class SharedElements : public HardwareTarget {
 public:
  explicit SharedElements(TableProblem problem);

  [[nodiscard]] const ChoiceSpace& space() const override { return problem_.space; }
  [[nodiscard]] std::string unit() const override { return "cycles"; }
  /// With whole elements. Duals: each chunk's share of the elements, since min over P of max of M_c / P_c with
  /// sum P_c = P is sum M_c / P.
  Accelerator optimise(const ChoiceDesign& design) override;
  double cost(const ChoiceDesign& design) override;
  Bound bound(const ChoiceDesign& near) override;
  /// The best split of the elements for these loads.
  [[nodiscard]] std::vector<int> split(const std::vector<double>& work) const;

 private:
  [[nodiscard]] std::vector<double> work_of(const ChoiceDesign& design) const;
  [[nodiscard]] Accelerator with_elements(const std::vector<int>& elements) const;

  TableProblem problem_;
  std::size_t chunks_;
};

/// The problem as a trainer: `noise` is the standard deviation on each slope; validation gives minus the error.
ChoiceTrainer table_trainer(const TableProblem& problem, double noise, std::uint64_t seed);

/// The least error among all networks with a cost of at most `target`, by enumeration; `accelerator`: null for the
/// best one of each network.
double least_error(SharedElements& hardware, const TableProblem& problem, double target,
                   const Accelerator* accelerator);
/// The cost that this share of random networks keeps.
double cost_quantile(SharedElements& hardware, const ChoiceSpace& space, double share, const Accelerator* accelerator,
                     std::uint64_t seed);

struct TableBedOptions {
  std::size_t problems = 24;
  std::size_t steps = 600;
  double noise = 0.1;
  double quantile = 0.1;  ///< of random networks that meet the target
  std::uint64_t seed = 1;
};

/// One way to search, over all problems.
struct TableBedRow {
  std::string name;
  bool adapts = false;                        ///< the accelerator is made anew
  double likeliest_feasible = 0;              ///< share of problems where the likeliest network meets the target
  double likeliest_cost = 0;                  ///< its median cost, by the target
  double likeliest_excess = 0;                ///< its mean error above the optimum where it is feasible
  double feasible = 0;                        ///< share after constrained decoding
  double median_first = 0, mean_first = 0;    ///< error above the optimum of the decoder's first network
  double median_excess = 0, mean_excess = 0;  ///< of the best of 8
};

/// Runs every form of the cost and the original's rule, on hardware that stays and hardware that is made anew, and the
/// best of 20 random networks within the target.
std::vector<TableBedRow> run_table_bed(const TableBedOptions& options);
/// As a table with a line on what is counted.
std::string str(const std::vector<TableBedRow>& rows, const TableBedOptions& options);

}  // namespace kasimir
