// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/fingerprint.h"
#include "kasimir/synth/growth.h"

namespace kasimir {

/// Fingerprints of kernels that grow in one world: the stages of their steps evaluated over the finite field at a tiny
/// site, 7 x 8 positions, with few channels: the smallest at which all sizes of the kernel are whole. The programs of a
/// step are kept, so that a kernel costs microseconds. One thread at a time.
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

  /// What a kernel has in vain, by evaluation with some values replaced and all weights as they were.
  struct Waste {
    bool blind = false;     ///< some output channel does not depend on the input
    int idle_step = no_id;  ///< the output stays the same if this step's readers get an operand of its shape instead
    [[nodiscard]] bool none() const { return !blind && idle_step == no_id; }
  };
  /// What was seen not to be in vain is not; the rest was in vain in `rounds` draws of weights and inputs, at a second
  /// tiny site with more channels if there is one. Nothing in vain is found where nothing can be evaluated.
  Waste waste(std::span<const GrownStep> steps, int open_symbols);
  static constexpr int rounds = 7;

 private:
  static constexpr std::size_t most_channels = 6;  ///< numbers of channels that are tried
  static constexpr std::size_t most_values = 15;   ///< values that are tried for a free symbol
  /// What one step is at a tiny site: its stages as programs.
  struct Programs {
    bool legal = false;
    std::vector<FieldProgram> stages;
    std::vector<int> outs;              ///< tensor that each stage defines
    std::vector<std::uint32_t> starts;  ///< of each tensor in the step's memory; operands have none
    std::size_t memory = 0;
    int result = 0;
    std::size_t size = 0;  ///< of the result
  };
  /// What a move asks of a site, and its programs where it was asked for them.
  struct MoveSizes {
    std::vector<Size> sizes;                             ///< that must be whole
    std::uint8_t symbols = 0;                            ///< free symbols that occur, as bits
    std::uint64_t weights = 0;                           ///< hash of the weights' sizes
    std::optional<Graph> graph;                          ///< until it is compiled
    std::array<std::int32_t, most_channels> programs{};  ///< without free symbols: numbers, or -1
    /// By channels: values of its only symbol that were tried, and those at which all is whole; without symbols, bit 0.
    std::array<std::uint16_t, most_channels> tried{}, whole{};
  };
  /// Values of the symbols at a tiny site.
  struct Place {
    Binding binding;
    std::size_t channels = 0;
    std::array<std::uint8_t, World::most_open> values{};  ///< indices
    [[nodiscard]] std::uint64_t key(std::uint8_t symbols) const;
  };

  MoveSizes& sizes(MoveId move);
  bool is_whole(MoveSizes& move, const Place& place);
  bool find_place(std::span<const GrownStep> steps, int open_symbols, std::size_t least_channels);
  bool choose(std::span<const GrownStep> steps, int symbol, int open_symbols, bool distinct);
  bool take(std::span<const GrownStep> steps);
  std::int32_t programs(MoveId move);
  std::int32_t find_or_compile(const Graph& step);
  [[nodiscard]] Programs compile(const BoundGraph& graph);
  void evaluate(std::span<const GrownStep> steps, std::uint64_t seed, bool even_input);
  [[nodiscard]] bool is_evaluated(std::span<const GrownStep> steps) const;
  void run(std::size_t step, std::array<const std::uint32_t*, 2> operands, std::uint32_t* result, bool again);
  [[nodiscard]] std::size_t input_size() const;
  /// What the rounds leave of a suspicion; it is an operand that may stand for a step's result.
  struct Bypass {
    int step;
    int operand;
  };
  using Tensors = std::array<const std::uint32_t*, GrowthLimits::most_primitives + 1>;
  [[nodiscard]] std::vector<Bypass> bypasses(std::span<const GrownStep> steps) const;
  Waste waste_here(std::span<const GrownStep> steps);
  bool changes_nothing(std::span<const GrownStep> steps, const Bypass& bypass);
  const std::uint32_t* run_again(std::span<const GrownStep> steps, Tensors& now, std::size_t first);
  bool sees_input(std::span<const GrownStep> steps, std::uint64_t seed, std::vector<bool>& sees);

  const World* world_;
  std::array<std::pair<std::int64_t, std::int64_t>, most_channels> channels_{};  ///< Ci and Co
  Place place_;                                                                  ///< of the kernel at hand
  std::optional<Place> other_than_;  ///< free symbols get other values than there
  std::array<const Programs*, GrowthLimits::most_primitives> chosen_{};
  std::size_t result_memory_ = 0;    ///< of all its steps
  std::vector<std::int32_t> known_;  ///< by move: number of its sizes, or -1
  std::deque<MoveSizes> sizes_;
  std::deque<Programs> programs_;
  struct Mix {
    std::size_t operator()(const Fingerprint& key) const { return key.low; }
    std::size_t operator()(std::uint64_t key) const { return mix_bits(key); }
  };
  tsl::robin_map<Fingerprint, std::int32_t, Mix> by_graph_;    ///< programs by a hash of the bound stages
  tsl::robin_map<std::uint64_t, std::int32_t, Mix> by_place_;  ///< of moves with free symbols
  std::vector<GrownStep> evaluated_;  ///< what was evaluated for a fingerprint, if nothing was since
  Place evaluated_at_;
  Tensors tensors_{};                 ///< of the kernel at hand: the input and the steps' results
  std::vector<std::uint64_t> seeds_;  ///< of its weights, in the order of their use
  std::array<std::size_t, GrowthLimits::most_primitives> first_seed_{};
  std::vector<std::uint32_t> input_, memory_, step_memory_, other_input_, other_memory_;
  std::vector<const std::uint32_t*> pointers_, operands_;
  WeightTies ties_;
  FieldScratch scratch_;
  FieldTables tables_;
};

}  // namespace kasimir
