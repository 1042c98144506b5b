// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/growth.h"
#include "kasimir/synth/rewrite.h"

/// One identity per kernel: equal for kernels that differ in the order of independent steps, in the names of free
/// symbols, or by the rules of rewrite.h; by accident only for others. Sizes count by their values at the sites.
/// What no rule says (that x + y - y is x, that an unfold and a matrix are a convolution) is left to fingerprints.
namespace kasimir {

/// Identities of kernels that grow in one world. Works out a step's facts at first use; then it uses no heap memory.
/// One thread at a time.
class NormalFormer {
 public:
  /// The world must outlive the former.
  explicit NormalFormer(const World& world) : world_(&world), steps_(world.sites()) {}

  /// Of the kernel whose result the last step makes.
  [[nodiscard]] Identity identity(std::span<const GrownStep> steps);

  /// Why one of the two steps could be left out, or they should stand in another order, if nothing but the consumer
  /// reads what the producer makes; nothing if the pair is well made. Remembered by pair.
  [[nodiscard]] std::optional<Rewrite> waste(MoveId producer, MoveId consumer);
  [[nodiscard]] bool wastes(MoveId producer, MoveId consumer) { return waste(producer, consumer).has_value(); }

  [[nodiscard]] const StepFacts& facts(MoveId move) { return steps_[step(move)]; }
  /// How often each rule was applied by identity().
  [[nodiscard]] const RewriteCounts& fired() const { return fired_; }

 private:
  struct Mix {
    std::size_t operator()(std::uint64_t key) const { return mix_bits(key); }
  };
  StepId step(MoveId move);
  StepId work_out(MoveId move);

  const World* world_;
  StepTable steps_;
  HugeVector<StepId> of_move_;  ///< -1: not worked out yet
  /// Of steps with one operand, by primitive, arguments and the operand's axes: those that such steps touch; and by
  /// that and these axes' extents, the step.
  tsl::robin_map<std::uint64_t, AxisMask, Mix> touched_;
  tsl::robin_map<std::uint64_t, StepId, Mix> by_touched_;
  tsl::robin_map<std::uint64_t, std::int8_t, Mix, std::equal_to<std::uint64_t>,
                 HugePageAllocator<std::pair<std::uint64_t, std::int8_t>>>
      wastes_;  ///< -1: none
  RewriteCounts fired_{};
};

/// The identity that a grown kernel with these steps has in a world of these sites; `families`: by all rules, else by
/// the exact ones only. @pre every step is legal there. @throws Error (input) if it has more than 62 steps.
Identity identity(const Kernel& kernel, const SiteSet& sites, bool families = true);

struct Normalised {
  Kernel kernel;
  std::vector<int> sources;  ///< of each step, which step of the original it was
  RewriteCounts fired{};     ///< how often each rule was applied
};

/// A kernel with the same identity, without what the rules drop and with its steps in the order of the normal form.
/// Only rules that leave each step as it was written are applied. By exact rules the result computes the same with the
/// same weights (their axes may be in another order); by rules of families it can compute the same. Normalising twice
/// changes nothing. @pre as for identity().
Normalised normalise(const Kernel& kernel, const SiteSet& sites, bool families = true);

}  // namespace kasimir
