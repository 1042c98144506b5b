// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/normal_form.h"
#include "kasimir/synth/semantics.h"

#include <functional>
#include <map>
#include <unordered_set>

namespace kasimir {

/// How many kernels of one length there are at a world's sites.
struct LengthCounts {
  std::uint64_t grown = 0;          ///< that end with the output's shape
  std::uint64_t idle = 0;           ///< of them, with a step that is repeated or that a neighbour makes idle, as growth
                                    ///< refuses them (NormalFormer::waste)
  std::uint64_t same_form = 0;      ///< of the rest, those with the normal form of an earlier one
  std::uint64_t same_function = 0;  ///< of the rest, those with the fingerprint of an earlier one
  std::uint64_t unidentified = 0;   ///< too large for every tiny site: they count as distinct
  std::uint64_t distinct = 0;
};

/// How many kernels of one length there are, from a sample.
struct LengthEstimate {
  std::uint64_t prefixes = 0;  ///< kernels without their last step, that can be completed: counted, not estimated
  std::uint64_t sampled = 0;   ///< of them, drawn without replacement, each as likely as the others
  std::uint64_t kernels = 0;   ///< that they were completed to
  double grown = 0.0;          ///< as LengthCounts::grown
  double grown_error = 0.0;    ///< its standard error
  double kept = 0.0;           ///< of them, neither idle nor equal to a shorter kernel that was listed before
  double kept_error = 0.0;
  /// Different functions among those are between these two, but for the error of the sample. The least: if a function
  /// has m kernels, the square of the sum of m is at most the number of functions times the sum of m * m, which pairs
  /// of equal kernels in the sample show (Cauchy's inequality). The most: kernels of different prefixes all differ.
  double least_distinct = 0.0, most_distinct = 0.0;
};

/// A kernel of an enumeration. Points to what lives until the next one.
struct EnumeratedKernel {
  int choice = 0;
  std::span<const GrownStep> steps;
  std::optional<Fingerprint> fingerprint;
};

/// Lists the kernels of a world, length by length, without budgets: every combination of what primitives offer (for
/// free growth and for closing), every pair of different operands, shape matching with them. Of the orders of
/// independent steps one is followed: a step that does not read the result before it must come after that step in an
/// order of operands and moves. Then duplicates are removed, those of shorter kernels too if these were listed before.
class Enumeration {
 public:
  struct Options {
    bool local_rules = true;  ///< kernels with an idle step are left out
    bool forms = true;        ///< one kernel for each normal form; else for each fingerprint only
  };
  /// The world must outlive it.
  Enumeration(World& world, Options options) : world_(&world), options_(options), former_(world), semantics_(world) {}

  /// All kernels of that many primitives, in a fixed order. @pre 1 <= primitives <= 8
  LengthCounts list(int primitives, const std::function<void(const EnumeratedKernel&)>& found);

  /// Estimates what list() would count: every kernel without its last step is listed, so many of them are drawn, and
  /// completed in every way. Knuth's estimator with the branches of all levels but the last known (D. E. Knuth,
  /// Estimating the efficiency of backtrack programs, Mathematics of Computation 29, 1975). Nothing becomes known by
  /// it.
  /// @pre 2 <= primitives <= 8, prefixes >= 2
  LengthEstimate estimate(int primitives, std::size_t prefixes, std::uint64_t seed);

 private:
  /// A step that some offer makes; with shape matching, as its arguments and what makes the operands fit.
  struct Candidate {
    WrittenMove written;
    std::uint8_t symbols = 0;  ///< choice symbols in its arguments, as bits
    std::optional<Substitution> matching;
  };
  struct Place {  ///< of candidates
    int primitive;
    Operands operands;
    int open;
    int choice;
    auto operator<=>(const Place&) const = default;
  };
  struct Draft {
    std::vector<GrownStep> steps;
    std::uint8_t symbols = 0;
    bool matched = false;  ///< the last step matched shapes, which changed earlier ones
  };
  struct Hash {
    std::size_t operator()(const Identity& id) const { return id.low; }
    std::size_t operator()(const Fingerprint& id) const { return id.low; }
  };

  /// What the completions of one sampled prefix were.
  struct Cluster {
    std::uint64_t grown = 0, kept = 0;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> functions;  ///< kept kernels by function
  };

  void list_all(int primitives);
  void note(const Draft& draft);
  void extend(const Draft& draft, int left);
  void extend_by(const Draft& draft, int left, const Candidate& candidate, int primitive,
                 std::array<std::int16_t, 2> operands);
  void finish(const Draft& draft);
  const std::vector<Candidate>& candidates(const Place& place);
  [[nodiscard]] bool rewrite(std::vector<GrownStep>& steps, const Substitution& by);
  [[nodiscard]] bool in_order(const Draft& draft, MoveId move, std::array<std::int16_t, 2> operands) const;
  [[nodiscard]] int least_steps(std::span<const GrownStep> steps) const;
  [[nodiscard]] bool has_idle_step(std::span<const GrownStep> steps);
  [[nodiscard]] bool has_first_choice(std::uint8_t symbols) const;
  [[nodiscard]] ShapeId shape_of(std::span<const GrownStep> steps, int tensor) const;

  World* world_;
  Options options_;
  NormalFormer former_;
  Semantics semantics_;
  std::map<Place, std::vector<Candidate>> candidates_;
  std::unordered_set<Identity, Hash> forms_;
  std::unordered_set<Fingerprint, Hash> functions_;
  const std::function<void(const EnumeratedKernel&)>* found_ = nullptr;
  LengthCounts counts_;
  int choice_ = 0;
  int stop_at_ = 0;  ///< steps left at which a draft goes to prefix_
  std::function<void(const Draft&)> prefix_;
  Cluster* cluster_ = nullptr;
};

}  // namespace kasimir
