// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/nba_search.h"

#include "kasimir/base/error.h"

namespace kasimir {
namespace {

template <typename Layer>
NbaSolution solve(const std::vector<ChunkWork<Layer>>& chunks, const NbaQuestion& question,
                  const SolverLimits& limits) {
  NbaSolution solution;
  solution.problem.budget = question.budget;
  solution.problem.max_cycles = question.max_cycles;
  std::vector<std::vector<ChunkShape>> shapes;
  for (const ChunkWork<Layer>& chunk : chunks) {
    shapes.push_back(effective_shapes(nba_space(chunk.name, question.network.input, question.free_mode)));
    std::vector<ChunkOption> options;
    options.reserve(shapes.back().size());
    for (std::size_t i = 0; i < shapes.back().size(); ++i) {
      const ChunkCost cost = chunk_cost(chunk, shapes.back()[i]);
      options.push_back({cost.cycles(), cost.resources(), i});
    }
    solution.evaluations += options.size();
    solution.problem.names.push_back(chunk.name);
    solution.problem.options.push_back(pareto_options(std::move(options), question.budget));
  }
  solution.answer = solve_pipeline(solution.problem, limits);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const ChunkOption& option = solution.problem.options[c][solution.answer.choice[c]];
    solution.design[chunks[c].name] = shapes[c][option.shape];
  }
  solution.cost = nba_cost(question, solution.design);
  return solution;
}

}  // namespace

NbaCost nba_cost(const NbaQuestion& question, const NbaDesign& design) {
  if (question.mode == CostMode::paper) return paper_cost(question.network, design, question.budget);
  return sound_cost(question.network, design, question.budget, question.frame);
}

NbaSolution solve_nba(const NbaQuestion& question, const SolverLimits& limits) {
  if (question.mode == CostMode::paper) {
    const auto chunks = paper_chunks(question.network);
    if (chunks.empty()) throw input_error("all 22 blocks are skipped, needed: at least one layer");
    return solve(chunks, question, limits);
  }
  return solve(sound_chunks(question.network, question.frame), question, limits);
}

std::vector<NbaChunk> nba_chunks(const NbaQuestion& question) {
  std::vector<NbaChunk> chunks;
  const auto add = [&](const std::string& name) {
    chunks.push_back({name, nba_space(name, question.network.input, question.free_mode)});
  };
  if (question.mode == CostMode::paper) {
    for (const auto& work : paper_chunks(question.network)) add(work.name);
  } else {
    for (const auto& work : sound_chunks(question.network, question.frame)) add(work.name);
  }
  return chunks;
}

}  // namespace kasimir
