// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/block_layers.h"
#include "kasimir/cosearch/chunk_costs.h"
#include "kasimir/cosearch/target.h"
#include "kasimir/hardware/pipeline/nba_search.h"
#include "kasimir/hardware/pipeline/pipeline_toml.h"

#include <map>
#include <string>
#include <vector>

namespace kasimir {

/// An FPGA with a pipeline of chunks (Auto-NBA's template): layers go to chunks by type, size of the map and bits, as
/// the released rule has it; chunks work at the same time on different frames, and the exact solver shapes them within
/// the budget. Costs are cycles per frame.
class ChunkTarget : public HardwareTarget {
 public:
  /// `layers`: of each choice and of what is outside all blocks. @throws Error (input) if no choice has a layer.
  ChunkTarget(ChoiceSpace space, const ChunkChoiceLayers& layers, const ChunkTargetOptions& options);

  [[nodiscard]] const ChoiceSpace& space() const override { return space_; }
  [[nodiscard]] std::string unit() const override { return "cycles per frame"; }
  /// The solver's shapes for the design; chunks that it does not use take the fastest shape that fits in what is left
  /// of the budget. Duals: from solving again with each chunk's cycles raised by a tenth; of an unused chunk its share
  /// of the budget.
  Accelerator optimise(const ChoiceDesign& design) override;
  /// Infinity if no shapes fit in the budget.
  double cost(const ChoiceDesign& design) override;
  /// Infinity if the design's layers need more memory on these shapes than the budget has.
  double cost_on(const Accelerator& accelerator, const ChoiceDesign& design) override;
  /// Of each chunk the cycles on each layer's fastest shape, and of all chunks the priced bound: for prices of the
  /// resources that add up to 1 as shares of the budget, cycles >= sum over layers of min over shapes of cycles x
  /// priced share, since a chunk is as large as its most demanding layer needs. Prices are best for `near`.
  Bound bound(const ChoiceDesign& near) override;

  [[nodiscard]] std::size_t affordable_looks() const override { return 100; }
  /// `accelerator.toml` (pipeline_toml.h), and for each layer its chunk in Timeloop's words. None in cost mode `paper`.
  std::vector<TargetFile> files(const ChoiceDesign& design) override;
  /// The pipeline for the design, with its layers. @throws Error (input) in cost mode `paper`.
  PipelineDescription describe(const ChoiceDesign& design);

  /// An accelerator with given shapes. @throws Error (input) for a chunk with layers but without a shape.
  Accelerator with_shapes(const NbaDesign& shapes);
  /// Amounts that a design takes on an accelerator of this target.
  [[nodiscard]] Resources resources_of(const Accelerator& accelerator, const ChoiceDesign& design) const;

 private:
  /// How often each kind of a chunk's layers occurs.
  using Times = std::vector<double>;
  [[nodiscard]] std::vector<LayerPlace> layers_of(const ChoiceDesign& design) const;
  [[nodiscard]] std::vector<Times> times_of(const ChoiceDesign& design) const;
  const std::vector<ChunkOption>& options_of(std::size_t chunk, const Times& times);
  [[nodiscard]] PipelineProblem problem_of(const std::vector<Times>& times, std::vector<std::size_t>& used);
  [[nodiscard]] Accelerator with_places(const std::vector<std::size_t>& places) const;
  [[nodiscard]] std::vector<double> duals_of(const PipelineProblem& problem, double cycles,
                                             const std::vector<std::size_t>& used) const;
  [[nodiscard]] std::string text_of(const std::vector<std::size_t>& places, const std::vector<Times>& times) const;
  [[nodiscard]] bool memory_limited() const;

  ChoiceSpace space_;
  ChunkChoiceLayers layers_;
  ChunkTargetOptions options_;
  std::vector<ChunkCosts> chunks_;
  std::vector<std::vector<std::vector<std::vector<LayerPlace>>>> places_;  // [block][operator][bits]
  std::vector<LayerPlace> outside_;
  std::vector<std::map<Times, std::vector<ChunkOption>>> known_options_;
  std::map<ChoiceDesign, double> known_costs_;
};

/// The FBNet space of the paper: 22 blocks, 9 operators.
struct NbaTargetOptions {
  NbaInput input = NbaInput::cifar;
  CostMode mode = CostMode::sound;
  bool free_mode = false;
  std::vector<int> bits{4, 6, 8};
  ResourceBudget budget = auto_nba_budget();
  NbaFrame frame{};                 ///< cost mode `sound`
  std::size_t solver_states = 200;  ///< as in ChunkTargetOptions
};
/// Operators of each block, in the order of the paper's code.
const std::vector<std::string>& nba_operators();
ChoiceSpace nba_choice_space(const std::vector<int>& bits);
/// The network that a design is.
NbaNetwork nba_network(const ChoiceDesign& design, const ChoiceSpace& space, NbaInput input);
/// In cost mode `paper`, without the fault that a skipped block passes its bits on to the next: costs are then sums
/// over blocks. paper_reading gives the design that the released code counts.
ChunkTarget nba_target(const NbaTargetOptions& options);
/// The design whose blocks have the bits that the released code gives them: a skipped block does not use up its own.
ChoiceDesign paper_reading(const ChoiceDesign& design, const ChoiceSpace& space);

/// @throws Error (input) if the lists do not fit the space or a layer is not legal.
ChunkTarget chunk_target(const ChoiceSpace& space, const BlockLayers& layers, const ChunkTargetOptions& options);

}  // namespace kasimir
