// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/auto_nba.h"
#include "kasimir/hardware/pipeline/solver.h"

#include <vector>

namespace kasimir {

enum class CostMode { paper, sound };

/// Auto-NBA's question: the best accelerator for a network, with layers on chunks by the released rule.
struct NbaQuestion {
  NbaNetwork network;
  CostMode mode = CostMode::paper;
  bool free_mode = false;  ///< search comp_mode too (the released default fixes it at 1)
  ResourceBudget budget = auto_nba_budget();
  NbaFrame frame;                                               ///< cost mode `sound`
  double max_cycles = std::numeric_limits<double>::infinity();  ///< per frame, at most
};

struct NbaSolution {
  PipelineProblem problem;      ///< Pareto sets of the chunks
  PipelineAnswer answer;        ///< with the certificate
  NbaDesign design;             ///< the answer's shapes
  NbaCost cost;                 ///< what the evaluator says of that design
  std::size_t evaluations = 0;  ///< shapes of chunks that were costed
};

/// The exact optimum. @throws Error (input) as require_legal(NbaNetwork).
NbaSolution solve_nba(const NbaQuestion& question, const SolverLimits& limits = {});

/// What a design costs in the question's mode.
NbaCost nba_cost(const NbaQuestion& question, const NbaDesign& design);

/// Chunks of the question, each with its choices.
struct NbaChunk {
  std::string name;
  ChunkSpace space;
};
std::vector<NbaChunk> nba_chunks(const NbaQuestion& question);

}  // namespace kasimir
