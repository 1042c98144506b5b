// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"

#include <cstddef>
#include <vector>

namespace kasimir {

/// Inputs and targets of a batch: of each branch 12 numbers in -1 .. 1 for each example.
struct BranchBatch {
  std::size_t examples = 0;
  std::vector<std::vector<double>> inputs;  ///< [branch][example * 12 + feature]
  std::vector<std::vector<double>> wanted;  ///< [branch][example]: the branch's function there, of variance about 1
};

/// Functions to be fitted: sums of two random tanh units, one function for each branch.
class BranchTeacher {
 public:
  BranchTeacher(std::size_t branches, std::uint64_t seed);
  [[nodiscard]] BranchBatch batch(std::size_t examples, Rng& rng) const;

 private:
  std::vector<std::vector<double>> units_;  // of each branch: 2 x (12 weights, offset, factor)
  std::vector<double> scale_;
};

/// A network 12 - 12 - 1 with ReLU whose weights, inputs and hidden values are mixtures of quantised copies:
/// q = sum over j of mix[j] * quantise_j. Weights: symmetric, 2^b - 1 levels, a range for each input's weights; inputs
/// symmetric in -1 .. 1; hidden values unsigned up to a running maximum. Gradients are straight through.
class BranchNet {
 public:
  BranchNet(std::vector<int> bits, Rng& rng);

  /// Outputs for inputs [example * 12 + feature]. `training`: the running maximum moves.
  const std::vector<double>& forward(const std::vector<double>& inputs, const std::vector<double>& mix, bool training);
  /// From slopes by the outputs of the last forward: slopes by the weights are kept, and those by `mix` returned, also
  /// where the mix is 0.
  std::vector<double> backward(const std::vector<double>& slopes);
  /// One step of Adam (rate given, betas 0.9 and 0.999) with the slopes of the last backward.
  void descend(double rate);

 private:
  void quantise_weights(const std::vector<double>& mix);

  std::vector<int> bits_;
  std::vector<double> weights_;  // [input][hidden], 12 offsets, 12, 1 offset
  std::vector<double> slopes_, first_, second_;
  int steps_ = 0;
  double most_ = 0;  // of hidden values

  std::vector<double> inputs_, mixed_inputs_, mixed_weights_, hidden_, mixed_hidden_, outputs_;
  std::vector<std::vector<double>> copies_;  // of weights_, for each width
};

}  // namespace kasimir
