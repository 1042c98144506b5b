// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/field.h"
#include "kasimir/interp/field_program.h"

/// Hashes of what graphs compute, by evaluation over the finite field. fingerprint() of field.h does it all for one
/// graph; a caller that keeps programs runs them one at a time and uses the parts below.
namespace kasimir {

/// Of an array with field_room().
Fingerprint hash_values(const std::uint32_t* values, std::size_t size, const FieldVector& vector = field_vector());

/// Random elements of the field, a function of the seed; `out` has field_room() and is made to end with a zero.
void fill_values(std::uint64_t seed, std::uint32_t* out, std::size_t size, const FieldVector& vector = field_vector());

/// Ties weights and stored statistics to what they are used with: a weight is drawn from the values of the stage's
/// other operands, as far as the weight's own iterators tell them apart (FieldProgram::hash_operands), from its place
/// in the stage's expression and its size, and from the number of earlier weights of the same key. So equal operands
/// meet equal weights however they were built: behind a grouping or an unfolding, before or after a mean of positions,
/// beside a branch that cancels. Two maps of one operand differ; which is which, the order of the calls decides.
class WeightTies {
 public:
  explicit WeightTies(std::uint64_t seed) : seed_(seed) {}

  /// Starts the next graph.
  void clear() { keys_.clear(); }
  /// The seed for fill_values() of the program's weights()[i], whose operands hash to `operands`.
  std::uint64_t draw(const FieldProgram& program, std::size_t i, std::uint64_t operands);

 private:
  std::uint64_t seed_;
  std::vector<std::uint64_t> keys_;
};

/// The seed for fill_values() of a graph's inputs, from 0 on.
std::uint64_t input_seed(std::uint64_t seed, std::uint64_t number);

}  // namespace kasimir
