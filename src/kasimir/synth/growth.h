// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/composite.h"
#include "kasimir/synth/successors.h"

#include <algorithm>
#include <span>

namespace kasimir {

/// What may be sampled.
struct GrowthLimits {
  int min_primitives = 3;
  int max_primitives = 12;
  int max_width = 3;               ///< tensors that are still to be read, at once
  std::vector<std::string> allow;  ///< only these primitives; empty: all
  std::vector<std::string> forbid;
  std::vector<std::string> require;  ///< each occurs at least once
  bool weights_may_depend_on_resolution = false;
  bool local_rules = true;   ///< no step that a neighbour makes idle (NormalFormer::waste)
  double composites = 0.05;  ///< how often each composite is tried, if a primitive of weight 1 is tried once; 0: never

  /// Of the free draws, the share that first draws a tensor and then a primitive that is known to follow what made it.
  double successor_share = 0.0;
  std::vector<Successor> successors;  ///< which those are; empty: default_successors()

  static constexpr int most_primitives = 40;
  static constexpr int most_width = 8;
  static constexpr double most_composites = 1000.0;

  /// @throws Error (input) on an unknown primitive, with near names, or on impossible numbers.
  void check(Catalog catalog) const;
};

/// One step of a kernel that grows: operands are tensor numbers as in Step, -1 where there is none.
struct GrownStep {
  WrittenMove written;
  std::array<std::int16_t, 2> operands{-1, -1};
};

/// A budget's limits as rows of World::lanes() numbers, in the order of Move::bounds.
struct CostLines {
  std::vector<float> high;  ///< MACs, then parameters: what must not be exceeded at each site
  std::vector<float> low;   ///< what must be reached
  std::vector<float> count;
  std::array<float, 2> total_high{};  ///< absolute limits, on the sum over the sites by count
  std::array<float, 2> total_low{};

  CostLines(std::span<const SiteLoad> loads, const Budget& budget, int lanes);
};

class NormalFormer;

/// Grows kernels step by step, legal by construction: a primitive, then its operands, then its arguments; a step is
/// taken only if every size stays whole at every site, no tensor is too large, the least possible cost stays within the
/// budget, and the output's shape can still be reached in the steps that are left. Keeps its memory from kernel to
/// kernel.
class Growth {
 public:
  /// `pairs` judges neighbours, if the limits ask for that.
  Growth(World& world, const GrowthLimits& limits, const CostLines& lines, NormalFormer& pairs);

  /// Whether a kernel without values for its free symbols was grown; else failure() is the rule that stopped it.
  bool run(Rng& rng);
  /// Takes back the last steps of a kernel that was grown and found wanting, and grows others; false after a few times.
  bool again(Rng& rng);

  // Kernels that somebody else puts together, step by step.
  /// The input alone; `choice` is one of World::Options::choices.
  void begin(int choice);
  /// Takes the step if it is legal, not idle by the sign of its operand, no repetition, and within the limits on width
  /// and cost; else last_refusal() is the rule. Neighbours are not judged: has_idle_pair() does that at the end.
  bool append(WrittenMove written, std::array<std::int16_t, 2> operands);
  /// Grows so many steps more, the last of which makes the output.
  bool complete(Rng& rng, int steps);
  /// Steps that surely lead to the output; 0 if it is there and has what is required.
  [[nodiscard]] int steps_to_end() const;
  /// Some step's operand, which nothing else reads, and the step leave one another idle, where the limits ask.
  [[nodiscard]] bool has_idle_pair() const;
  [[nodiscard]] std::int32_t last_refusal() const { return last_refusal_; }
  /// A primitive by weight, or a composite: numbers from the catalog's size on, of composites().
  int draw_kind(Rng& rng) const { return rng.pick(kinds_); }
  [[nodiscard]] const CompositeSet& composites() const { return composites_; }

  [[nodiscard]] World& world() const { return *world_; }
  [[nodiscard]] const GrowthLimits& limits() const { return *limits_; }
  [[nodiscard]] std::span<const GrownStep> steps() const {
    return {state_.steps.data(), static_cast<std::size_t>(state_.nodes) - 1};
  }
  [[nodiscard]] int choice() const { return choice_; }                    ///< of World::Options::choices
  [[nodiscard]] int open_symbols() const { return state_.open_symbols; }  ///< x0 .. x(n-1) are in use
  [[nodiscard]] std::int32_t failure() const { return failure_; }
  [[nodiscard]] std::string failure_example() const;
  /// How often each rule refused a step that was tried, by rule of the world; for the reader to reset.
  [[nodiscard]] std::vector<std::int64_t>& refused() { return refused_; }
  /// Steps that were drawn from those that lead to the end, since the start.
  [[nodiscard]] std::int64_t forced_steps() const { return forced_steps_; }
  /// Steps that came with composites, since the start.
  [[nodiscard]] std::int64_t composite_steps() const { return composite_steps_; }

 private:
  using Tensors = std::array<std::int16_t, 2>;
  struct Node {
    ShapeId shape;
    std::int8_t least_steps, sure_steps;
    bool full;
    bool nonnegative;  ///< known of its values, if the limits ask for local rules
  };
  /// A kernel as far as it has grown; flat, so that a copy is cheap.
  struct State {
    std::array<Node, GrowthLimits::most_primitives + 1> node;
    std::array<GrownStep, GrowthLimits::most_primitives> steps;
    std::array<std::int16_t, GrowthLimits::most_width + 1> open;
    int nodes = 0;
    int opens = 0;
    int open_symbols = 0;
    std::uint64_t missing = 0;  ///< of required_, as bits
    int nearest_full[2] = {0, 0};
  };

  struct Snapshot {
    State state;
    std::vector<float> bounds;
    int left = 0;  ///< steps that were left then
  };

  [[nodiscard]] std::span<const std::int16_t> open() const {
    return {state_.open.data(), static_cast<std::size_t>(state_.opens)};
  }
  [[nodiscard]] bool is_open(std::int16_t tensor) const { return std::ranges::find(open(), tensor) != open().end(); }
  /// Visits the open tensors that a step with these operands leaves open.
  template <typename Visit>
  void for_each_left(Tensors operands, Visit visit) const {
    for (const std::int16_t tensor : open())
      if (tensor != operands[0] && tensor != operands[1]) visit(tensor, state_.node[static_cast<std::size_t>(tensor)]);
  }
  void clear(std::uint64_t missing);
  void save(Snapshot& to) const;
  void restore(const Snapshot& from);
  bool grow(Rng& rng, int left);
  int retreat(int left);
  int grow_step(Rng& rng, int left);
  [[nodiscard]] std::int16_t draw_tensor(Rng& rng) const;
  bool try_one(Rng& rng, int primitive, int left);
  bool try_successor(Rng& rng, int left);
  bool try_with(Rng& rng, int primitive, Tensors operands, int left);
  void prepare_successors(const std::vector<double>& weights);
  int try_composite(Rng& rng, std::size_t number, int left);
  static constexpr std::size_t most_closing = 80;
  std::size_t closing_operands(Rng& rng, std::array<Tensors, most_closing>& all) const;
  bool try_closing(Rng& rng, int left);
  bool consider(WrittenMove written, Tensors operands, int left);
  bool substitute_and_consider(std::span<const Substitution> by, int primitive, ArgumentsId arguments, Tensors operands,
                               int left);
  void take(WrittenMove written, const Move& move, Tensors operands);
  void take(const GrownStep& step, const Move& move, const Node& result);
  void push(const Node& node);
  [[nodiscard]] const Move& known(MoveId id) const;
  [[nodiscard]] bool wastes(MoveId producer, MoveId consumer) const;
  [[nodiscard]] bool nonnegative(MoveId id, Tensors operands) const;
  [[nodiscard]] Operands shapes_of(Tensors operands) const;
  [[nodiscard]] int distance(bool careful, const Move* next, Tensors consumed) const;
  [[nodiscard]] std::int32_t too_dear(const Move& move) const;
  [[nodiscard]] bool dear_enough(const Move& move) const;
  template <typename Ends>
  [[nodiscard]] bool any_last_step(ShapeId result, Tensors operands, int opens, Ends ends) const;
  [[nodiscard]] bool may_end(ShapeId result, Tensors operands, int slack) const;
  template <typename Broken>
  [[nodiscard]] std::int32_t cannot_end_now(const Move& move, Tensors operands, int opens, const Broken& broken);
  [[nodiscard]] std::int32_t cannot_end(MoveId id, Tensors operands, int left, int slack);
  [[nodiscard]] bool idles_by_sign(MoveId id, Tensors operands) const;
  [[nodiscard]] bool idles_by_pair(MoveId id, Tensors operands) const;
  [[nodiscard]] int width_after(Tensors operands) const;
  [[nodiscard]] std::uint64_t missing_after(const Move& move) const;
  [[nodiscard]] bool repeats(const Move& move, MoveId id, Tensors operands) const;
  bool refuse(std::int32_t rule) {
    last_refusal_ = rule;
    ++refused_[static_cast<std::size_t>(rule)];
    return false;
  }

  static constexpr std::size_t most_asked = 32768;  ///< a quarter of a megabyte: they stay in the second-level cache

  World* world_;
  const GrowthLimits* limits_;
  const CostLines* lines_;
  NormalFormer* pairs_;
  /// By a hash of the pair: Move::step of both in 31 bits each, then whether they waste.
  mutable std::vector<std::uint64_t> asked_pairs_ = std::vector<std::uint64_t>(most_asked, ~std::uint64_t{0});
  CompositeSet composites_;
  std::vector<std::uint8_t> kinds_;                    ///< primitives, then composites, as often as their weights say
  std::vector<std::vector<std::uint8_t>> successors_;  ///< the same by producer: the input, then the primitives
  std::vector<std::uint8_t> operand_counts_;
  std::vector<int> required_;  ///< primitives that must occur
  State state_;
  std::vector<float> bounds_;  ///< sums of Move::bounds
  std::vector<float> scratch_, none_;
  std::array<Snapshot, 8> snapshots_;  ///< before the last step, the one before it, ..
  Snapshot before_, before_composite_;
  int choice_ = 0;
  int wanted_ = 0;
  int retreats_ = 0;
  std::int32_t failure_ = no_id;
  std::int32_t last_refusal_ = no_id;
  std::int64_t forced_steps_ = 0;
  std::int64_t composite_steps_ = 0;
  std::vector<std::int64_t> refused_;
  struct Rules {
    std::int32_t repeat, idle, reach, width, macs, params, low, end, stuck, channels, room, length, successor;
  } rules_{};
};

/// The kernel that was grown, in choice symbols as far as they are used; in numbers where they cannot express it.
Kernel to_kernel(const World& world, int choice, std::span<const GrownStep> steps);

}  // namespace kasimir
