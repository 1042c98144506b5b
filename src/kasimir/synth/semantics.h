// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/fingerprint.h"
#include "kasimir/synth/growth.h"

namespace kasimir {

/// Fingerprints of kernels that grow in one world: the stages of their steps evaluated over the finite field at a tiny
/// site, 7 x 8 positions, with few channels. The programs of a step are kept, so that a kernel costs microseconds.
/// One thread at a time.
class Semantics {
 public:
  /// The world must outlive it.
  explicit Semantics(const World& world);

  /// Equal for kernels that compute the same with weights of the same sizes (sizes that differ elsewhere may coincide
  /// at a tiny site); nothing if the kernel is not whole, or too large, at every tiny site.
  std::optional<Fingerprint> fingerprint(std::span<const GrownStep> steps, int open_symbols);
  /// A hash of the sizes of all weights, whatever their order and the names of free symbols: kernels with equal
  /// fingerprints have the same. Much cheaper.
  std::uint64_t weight_sizes(std::span<const GrownStep> steps);

 private:
  /// Values of the symbols at a tiny site.
  struct Place {
    Binding binding;
    bool for_free_symbols;  ///< differs from an earlier one by those only
  };
  /// What one step is there: its stages as programs.
  struct Programs {
    bool legal = false;
    std::vector<FieldProgram> stages;
    std::vector<int> outs;              ///< tensor that each stage defines
    std::vector<std::uint32_t> starts;  ///< of each tensor in the step's memory; operands have none
    std::size_t memory = 0;
    int result = 0;
    std::size_t size = 0;  ///< of the result
  };
  const Programs& programs(MoveId move, std::size_t place);
  std::uint64_t weight_sizes(MoveId move);
  std::int32_t find_or_compile(const Graph& step, const Binding& binding);
  [[nodiscard]] static Programs compile(const BoundGraph& graph);
  void run(const Programs& step, std::array<const std::uint32_t*, 2> operands, std::uint32_t* result);

  const World* world_;
  std::vector<Place> places_;
  std::vector<std::vector<std::int32_t>> known_;  ///< by place, then move: number of its programs, or -1
  std::deque<Programs> programs_;
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  std::vector<std::uint64_t> weight_sizes_;  ///< by move; `unknown`: not asked for yet
  struct Mix {
    std::size_t operator()(const Fingerprint& key) const { return key.low; }
  };
  tsl::robin_map<Fingerprint, std::int32_t, Mix> by_graph_;  ///< programs by a hash of the bound stages
  std::vector<std::uint32_t> input_, memory_, step_memory_;
  std::vector<const std::uint32_t*> pointers_, operands_;
  WeightTies ties_;
  FieldScratch scratch_;
};

}  // namespace kasimir
