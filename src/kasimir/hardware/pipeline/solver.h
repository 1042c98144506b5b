// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/fpga.h"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace kasimir {

/// One way to build a chunk: cycles for its part of a frame, and what it takes.
struct ChunkOption {
  double cycles = 0;
  Resources resources;
  std::size_t shape = 0;  ///< the caller's number for it
  bool operator==(const ChunkOption&) const = default;
};

/// The options that no other one beats in cycles and all resources that `budget` limits; equal ones once (the first),
/// by growing cycles. Options that alone pass the budget are left out unless all do.
std::vector<ChunkOption> pareto_options(std::vector<ChunkOption> options, const ResourceBudget& budget);

/// Chunks that work at the same time on different frames: a frame is done every max(cycles of the chunks) cycles, but
/// no faster than the shared memory moves its bits.
struct PipelineProblem {
  std::vector<std::string> names;
  std::vector<std::vector<ChunkOption>> options;  ///< at least one for each chunk
  ResourceBudget budget = unlimited();
  /// Slower designs do not count: cycles per frame that are wanted.
  double max_cycles = std::numeric_limits<double>::infinity();
};

/// What the optimum would be without one constraint.
struct Relaxation {
  std::string constraint;  ///< "dsp", "bram18", "lut", "dram bits per cycle"
  double cycles = 0;       ///< infinity: still nothing fits
};

/// The best design, or why there is none.
struct PipelineAnswer {
  bool found = false;               ///< a design within the budget, at most max_cycles
  double cycles = 0;                ///< per frame, of `choice`
  double lower_bound = 0;           ///< certificate: no design within the budget is faster
  std::vector<std::size_t> choice;  ///< for each chunk a place in its options; the nearest design if !found
  Resources resources;              ///< of `choice`
  std::vector<Violation> violated;  ///< what `choice` breaks; empty if found
  std::vector<Relaxation> relaxed;  ///< if !found or asked for: the optimum without each constraint that binds
  std::size_t feasibility_tests = 0;
  [[nodiscard]] bool optimal() const { return found && cycles <= lower_bound * (1 + 1e-9); }
  /// Proved: `cycles` is at most (1 + gap) times the optimum.
  [[nodiscard]] double gap() const { return lower_bound > 0 ? cycles / lower_bound - 1 : 0; }
};

struct SolverLimits {
  std::size_t states = 2000;  ///< partial designs kept side by side; beyond, the answer is bounded, not exact
  bool relax = false;         ///< fill `relaxed` of a found design too
};

/// The fastest pipeline under the budget, of equally fast ones one that takes the smallest sum of shares of the budget:
/// bisection on the slowest chunk, where a test asks for the cheapest sum of options at most that slow (Pareto sets
/// merged chunk by chunk), then the shared memory. Exact while `limits.states` suffices; otherwise `lower_bound` is
/// what the sums of least resources prove. If nothing fits, `choice` is the design whose worst overshoot, as a share of
/// the budget, is least. A chunk without options is a failed check.
PipelineAnswer solve_pipeline(const PipelineProblem& problem, const SolverLimits& limits = {});

/// Lines for people: the certificate, or the constraints that bind and the nearest design.
std::string explain(const PipelineProblem& problem, const PipelineAnswer& answer);

}  // namespace kasimir
