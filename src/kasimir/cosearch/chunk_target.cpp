// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/chunk_target.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Shares of dsp, bram18, lut in the budget.
using Shares = std::array<double, 3>;

Shares shares(const Resources& used, const ResourceBudget& budget) {
  return {used.dsp / budget.dsp, used.bram18 / budget.bram18, used.lut / budget.lut};
}

double largest(const Shares& share) { return std::max({share[0], share[1], share[2]}); }

bool within(const Resources& used, const ResourceBudget& budget) {
  return used.dsp <= budget.dsp && used.bram18 <= budget.bram18 && used.lut <= budget.lut;
}

ResourceBudget left_of(const ResourceBudget& budget, const Resources& used) {
  ResourceBudget left = budget;
  left.dsp -= used.dsp;
  left.bram18 -= used.bram18;
  left.lut -= used.lut;
  return left;
}

// Whether any kind of a chunk's layers occurs.
bool is_used(const std::vector<double>& times) {
  return std::any_of(times.begin(), times.end(), [](double t) { return t > 0; });
}

// The fastest shape for one of each kind within the budget; the smallest if none fits.
std::size_t shape_within(const ChunkCosts& chunk, const ResourceBudget& left, const ResourceBudget& all) {
  const std::vector<double> once(chunk.kinds.size(), 1);
  std::size_t smallest = 0, fastest = chunk.shapes.size();
  double least = infinity, least_cycles = infinity;
  for (std::size_t s = 0; s < chunk.shapes.size(); ++s) {
    const ChunkCost cost = chunk.cost(s, once);
    if (within(cost.resources(), left) && cost.cycles() < least_cycles) {
      least_cycles = cost.cycles();
      fastest = s;
    }
    const double share = largest(shares(cost.resources(), all));
    if (share >= least) continue;
    least = share;
    smallest = s;
  }
  return fastest < chunk.shapes.size() ? fastest : smallest;
}

}  // namespace

ChunkTarget::ChunkTarget(ChoiceSpace space, const ChunkChoiceLayers& layers, const ChunkTargetOptions& options)
    : space_(std::move(space)), layers_(layers), options_(options) {
  require_legal(space_);
  const auto place = [&](const std::vector<LayerUse>& uses) {
    std::vector<LayerPlace> places;
    for (const LayerUse& use : uses) places.push_back(place_layer(chunks_, use, options_.input));
    return places;
  };
  for (const auto& block : layers.choices) {
    places_.emplace_back();
    for (const auto& op : block) {
      places_.back().emplace_back();
      for (const auto& uses : op) places_.back().back().push_back(place(uses));
    }
  }
  outside_ = place(layers.outside);
  if (chunks_.empty()) throw input_error("no operator of any block has a layer, needed: at least one");
  for (ChunkCosts& chunk : chunks_) fill_costs(chunk, options_);
  known_options_.resize(chunks_.size());
}

bool ChunkTarget::memory_limited() const { return std::isfinite(options_.budget.dram_bits_per_cycle); }

std::vector<LayerPlace> ChunkTarget::layers_of(const ChoiceDesign& design) const {
  std::vector<LayerPlace> layers = outside_;
  for (std::size_t l = 0; l < design.size(); ++l) {
    const auto& more = places_[l][design[l].op][design[l].bits];
    layers.insert(layers.end(), more.begin(), more.end());
  }
  return layers;
}

std::vector<ChunkTarget::Times> ChunkTarget::times_of(const ChoiceDesign& design) const {
  std::vector<Times> times;
  for (const ChunkCosts& chunk : chunks_) times.emplace_back(chunk.kinds.size(), 0);
  for (const LayerPlace& place : layers_of(design)) times[place.chunk][place.kind] += 1;
  return times;
}

const std::vector<ChunkOption>& ChunkTarget::options_of(std::size_t chunk, const Times& times) {
  const auto known = known_options_[chunk].find(times);
  if (known != known_options_[chunk].end()) return known->second;
  std::vector<ChunkOption> options;
  for (std::size_t s = 0; s < chunks_[chunk].shapes.size(); ++s) {
    const ChunkCost cost = chunks_[chunk].cost(s, times);
    options.push_back({cost.cycles(), cost.resources(), s});
  }
  return known_options_[chunk][times] = pareto_options(std::move(options), options_.budget);
}

PipelineProblem ChunkTarget::problem_of(const std::vector<Times>& times, std::vector<std::size_t>& used) {
  PipelineProblem problem;
  problem.budget = options_.budget;
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    if (!is_used(times[c])) continue;
    used.push_back(c);
    problem.names.push_back(chunks_[c].name);
    problem.options.push_back(options_of(c, times[c]));
  }
  return problem;
}

double ChunkTarget::cost(const ChoiceDesign& design) {
  const auto known = known_costs_.find(design);
  if (known != known_costs_.end()) return known->second;
  std::vector<std::size_t> used;
  const PipelineProblem problem = problem_of(times_of(design), used);
  double cycles = 0;  // a network of skips only
  if (!used.empty()) {
    const PipelineAnswer answer = solve_pipeline(problem, {.states = options_.solver_states});
    cycles = answer.found ? answer.cycles : infinity;
  }
  known_costs_[design] = cycles;
  return cycles;
}

Accelerator ChunkTarget::optimise(const ChoiceDesign& design) {
  const std::vector<Times> times = times_of(design);
  std::vector<std::size_t> used, places(chunks_.size(), 0);
  const PipelineProblem problem = problem_of(times, used);
  std::vector<double> duals(chunks_.size() + (memory_limited() ? 1 : 0), 0);
  Resources taken;
  if (!used.empty()) {
    const PipelineAnswer answer = solve_pipeline(problem, {.states = options_.solver_states});
    for (std::size_t i = 0; i < used.size(); ++i) places[used[i]] = problem.options[i][answer.choice[i]].shape;
    taken = answer.resources;
    const std::vector<double> found = duals_of(problem, answer.cycles, used);
    for (std::size_t i = 0; i < used.size(); ++i) duals[used[i]] = found[i];
    if (memory_limited()) duals.back() = found.back();
  }
  const ResourceBudget left = left_of(options_.budget, taken);
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    if (std::find(used.begin(), used.end(), c) != used.end()) continue;
    places[c] = shape_within(chunks_[c], left, options_.budget);
    const Times once(chunks_[c].kinds.size(), 1);
    duals[c] = std::min(1.0, largest(shares(chunks_[c].cost(places[c], once).resources(), options_.budget)));
  }
  double sum = 0;
  for (const double dual : duals) sum += dual;
  for (double& dual : duals) dual = sum > 0 ? dual / sum : 1.0 / static_cast<double>(duals.size());
  Accelerator result = with_places(places);
  result.duals = std::move(duals);
  result.text = text_of(places, times);
  return result;
}

// Elasticities, adding up to 1; one more for the shared memory where it is limited.
std::vector<double> ChunkTarget::duals_of(const PipelineProblem& problem, double cycles,
                                          const std::vector<std::size_t>& used) const {
  constexpr double raise = 1.1;
  std::vector<double> duals(used.size() + (memory_limited() ? 1 : 0), 0);
  double sum = 0;
  const auto solved = [&](const PipelineProblem& harder, double& dual) {
    const PipelineAnswer answer = solve_pipeline(harder, {.states = options_.solver_states});
    if (answer.found) dual = std::max(0.0, std::log(answer.cycles / cycles) / std::log(raise));
    sum += dual;
  };
  for (std::size_t i = 0; i < used.size(); ++i) {
    PipelineProblem harder = problem;
    for (ChunkOption& option : harder.options[i]) option.cycles *= raise;
    solved(harder, duals[i]);
  }
  if (memory_limited()) {
    PipelineProblem harder = problem;
    harder.budget.dram_bits_per_cycle /= raise;
    solved(harder, duals.back());
  }
  if (sum <= 0) return std::vector<double>(duals.size(), 1.0 / static_cast<double>(duals.size()));
  for (double& dual : duals) dual /= sum;
  return duals;
}

Accelerator ChunkTarget::with_places(const std::vector<std::size_t>& places) const {
  std::vector<std::string> parts;
  for (const ChunkCosts& chunk : chunks_) parts.push_back(chunk.name);
  if (memory_limited()) parts.emplace_back("shared memory");
  Accelerator result{load_table(space_, Aggregate::max, parts), std::vector<double>(parts.size(), 0), {}, places};
  const auto add = [&](const LayerPlace& place, std::vector<PartLoad>& loads) {
    const ChunkLayerCost& cost = chunks_[place.chunk].costs[places[place.chunk]][place.kind];
    const auto load = [&](std::size_t part, double value) {
      const auto at = std::find_if(loads.begin(), loads.end(), [&](const PartLoad& one) { return one.part == part; });
      if (at == loads.end())
        loads.push_back({part, value});
      else
        at->load += value;
    };
    load(place.chunk, cost.cycles);
    if (memory_limited()) load(chunks_.size(), cost.resources.dram_bits / options_.budget.dram_bits_per_cycle);
  };
  for (std::size_t l = 0; l < places_.size(); ++l)
    for (std::size_t o = 0; o < places_[l].size(); ++o)
      for (std::size_t j = 0; j < places_[l][o].size(); ++j)
        for (const LayerPlace& place : places_[l][o][j]) add(place, result.loads.loads[l][o][j]);
  std::vector<PartLoad> base;
  for (const LayerPlace& place : outside_) add(place, base);
  for (const PartLoad& one : base) result.loads.base[one.part] = one.load;
  return result;
}

std::string ChunkTarget::text_of(const std::vector<std::size_t>& places, const std::vector<Times>& times) const {
  std::string text;
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    if (!is_used(times[c])) continue;
    const ChunkShape& s = chunks_[c].shapes[places[c]];
    const ChunkCost cost = chunks_[c].cost(places[c], times[c]);
    text +=
        fmt::format("{}: mode {}, tile {}x{}x{}x{}, unrolled {}x{}x{}x{}, {:.0f} cycles, {:.6g} dsp, {:.0f} bram18\n",
                    chunks_[c].name, s.mode, s.tile_rows, s.tile_cols, s.tile_out, s.tile_in, s.rows, s.cols, s.out,
                    s.in, cost.cycles(), cost.resources().dsp, cost.resources().bram18);
  }
  return text;
}

Resources ChunkTarget::resources_of(const Accelerator& accelerator, const ChoiceDesign& design) const {
  const std::vector<Times> times = times_of(design);
  Resources sum;
  for (std::size_t c = 0; c < chunks_.size(); ++c)
    if (is_used(times[c])) sum = sum + chunks_[c].cost(accelerator.shape[c], times[c]).resources();
  return sum;
}

double ChunkTarget::cost_on(const Accelerator& accelerator, const ChoiceDesign& design) {
  KASIMIR_CHECK(accelerator.shape.size() == chunks_.size(), "{} shapes", accelerator.shape.size());
  if (!within(resources_of(accelerator, design), options_.budget)) return infinity;
  return cost_of(accelerator.loads, design);
}

Accelerator ChunkTarget::with_shapes(const NbaDesign& shapes) {
  std::vector<std::size_t> places;
  for (ChunkCosts& chunk : chunks_) {
    const auto given = shapes.find(chunk.name);
    if (given == shapes.end())
      throw input_error("no shape for chunk `{}`, needed: one for each chunk that a choice may use", chunk.name);
    auto at = std::find(chunk.shapes.begin(), chunk.shapes.end(), given->second);
    places.push_back(static_cast<std::size_t>(at - chunk.shapes.begin()));
    if (at != chunk.shapes.end()) continue;
    // It was dropped because another one beats it.
    chunk.costs.push_back(costs_on(chunk, given->second));
    chunk.shapes.push_back(given->second);
  }
  return with_places(places);
}

}  // namespace kasimir
