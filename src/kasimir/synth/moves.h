// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"
#include "kasimir/synth/sketch.h"

#include <span>
#include <string_view>

/// Kernels made from kernels. What comes out is one that the sampler might have drawn: legal at its sites, within its
/// limits and its budget, whatever the parents are. As after Sampler::draw(), it lies in the memory: Sampler::kernel(),
/// SampleMemory::identity(), Sampler::describe() tell more of it. It is a pure function of the sampler's seed, the
/// number and the parents.
namespace kasimir {

enum class Mutation : std::uint8_t {
  insert,   ///< a step, or a composite, between a tensor and some of its readers
  remove,   ///< a step; its readers read one of its operands
  replace,  ///< a step by one of another kind
  rewire,   ///< an operand: another tensor is read
  resize,   ///< another value of g or r; a free width becomes a given one, or the other way round
  change    ///< an argument of a step
};
inline constexpr std::size_t mutation_count = 6;
std::string_view mutation_name(Mutation mutation);

struct MoveOptions {
  /// How often each kind is tried. A removal nearly always gives a kernel, an insertion half the time: so that lengths
  /// do not drift, they are tried at other rates.
  std::array<double, mutation_count> weights{1.8, 1.0, 1.3, 1.0, 0.8, 1.2};
  int most_tries = 40;
  RepairLimits repair;
};

/// A neighbour of the parent with another normal form. Rejected by the rule that the parent breaks at the sampler's
/// sites, or by the one that most of the tries broke.
Outcome<Mutation> mutate(const Sampler& sampler, const Kernel& parent, std::uint64_t number, SampleMemory& memory,
                         const MoveOptions& options = {});

/// A kernel that computes some tensor as one parent does, and goes on from there as the other does from a tensor of a
/// like shape; its normal form is neither's. Free symbols are matched where the shapes need it. A Rejection as above.
std::optional<Rejection> cross(const Sampler& sampler, const Kernel& first, const Kernel& second, std::uint64_t number,
                               SampleMemory& memory, const MoveOptions& options = {});

/// A kernel that begins with the parent's first `kept` steps, as they stand there, and ends in another way, of any length
/// that is allowed. A Rejection as above. @pre kept is less than the parent's steps
std::optional<Rejection> regrow(const Sampler& sampler, const Kernel& parent, int kept, std::uint64_t number,
                                SampleMemory& memory, const MoveOptions& options = {});

/// The rules that tries broke, for the Rejection: the most frequent one, of equals the first.
class BrokenRules {
 public:
  void add(std::string rule, std::string with = "");
  /// @pre some were added
  [[nodiscard]] Rejection most_frequent() const;

 private:
  struct Entry {
    Rejection reason;
    int count;
  };
  std::vector<Entry> entries_;
  int tries_ = 0;
};

/// The end of every move: the kernel that lies in the memory is another one than its parents and gets sizes within the
/// budget, or why not.
std::optional<Rejection> refused_child(const Sampler& sampler, SampleMemory& memory, std::span<const Identity> parents);

}  // namespace kasimir
