// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/block_layers.h"
#include "kasimir/cosearch/target.h"
#include "kasimir/hardware/search/search.h"

#include <functional>
#include <string>
#include <vector>

namespace kasimir {

/// Problems of each choice [block][operator][bits], and of what is outside all blocks: what nests or layers pose.
struct BlockProblems {
  std::vector<std::vector<std::vector<std::vector<Problem>>>> choices;
  std::vector<Problem> outside;
};
/// Of convolutions: inputs and results have the activation's bits, sums `partial_bits`.
/// @throws Error (input) as require_fit.
BlockProblems problems_of(const BlockLayers& layers, const ChoiceSpace& space, int partial_bits = 32);

struct ArrayTargetOptions {
  Objective objective = Objective::energy_delay;  ///< latency, energy or energy_delay
  std::string engine = "branch_and_bound";
  std::uint64_t evaluations = 20000;  ///< of each search for a mapping
  double gap = 0.05;                  ///< a search ends when its mapping is proved this close to the best
  std::uint64_t seed = 1;
  EvaluationOptions evaluation{};
  /// Of the searches for mappings, each different problem once.
  std::function<void(std::size_t done, std::size_t of)> progress;
};

/// One accelerator that runs layer after layer (an ASIC preset): cycles and energies add up. Each different layer is
/// mapped once when the target is made. For energy_delay each layer has up to three mappings, for the least cycles,
/// energy and product, and a network takes those whose sums have the least product.
class ArrayTarget : public HardwareTarget {
 public:
  /// @throws Error (input) if the lists do not fit the space or the objective is `weighted`; Error (unsolved) if a
  /// layer has no mapping.
  ArrayTarget(ChoiceSpace space, const BlockProblems& problems, const Architecture& architecture,
              const ArrayTargetOptions& options);

  [[nodiscard]] const ChoiceSpace& space() const override { return space_; }
  [[nodiscard]] std::string unit() const override;
  Accelerator optimise(const ChoiceDesign& design) override;
  double cost(const ChoiceDesign& design) override;
  Bound bound(const ChoiceDesign& near) override;
  /// `accelerator.toml` (the architecture), `mappings.txt`, and for each different layer of the design its problem, the
  /// architecture and its mapping in Timeloop's words.
  std::vector<TargetFile> files(const ChoiceDesign& design) override;
  [[nodiscard]] bool adapts() const override { return options_.objective == Objective::energy_delay; }

  /// Sums over a network with its best mappings.
  struct Sums {
    double cycles = 0, energy_pj = 0;
  };
  [[nodiscard]] Sums sums_of(const ChoiceDesign& design) const;
  [[nodiscard]] std::size_t different_layers() const { return mapped_.size(); }

 private:
  struct MappedSums : Sums {
    Mapping mapping;
  };
  /// A layer's mappings, by growing cycles and falling energy.
  using Mapped = std::vector<MappedSums>;
  [[nodiscard]] Mapped map_layer(const Problem& problem, const std::string& where) const;
  static Mapped front_of(Mapped points);
  static const MappedSums& cheapest(const Mapped& points, double price);
  [[nodiscard]] std::vector<std::size_t> layers_of(const ChoiceDesign& design) const;
  [[nodiscard]] Sums at_price(const std::vector<std::size_t>& layers, double price) const;
  [[nodiscard]] double best_price(const std::vector<std::size_t>& layers) const;
  template <typename Loads>
  [[nodiscard]] LoadTable table(const Loads& loads) const;

  ChoiceSpace space_;
  ArrayTargetOptions options_;
  Architecture architecture_;
  std::vector<Mapped> mapped_;     // the different layers
  std::vector<Problem> problems_;  // of the different layers
  std::vector<std::vector<std::vector<std::vector<std::size_t>>>> places_;
  std::vector<std::size_t> outside_;
};

}  // namespace kasimir
