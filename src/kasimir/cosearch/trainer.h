// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// What the joint search asks of a network in training. A supernet answers with weights shared by all choices; tables
/// and small models answer in tests. All types are plain, so that neither side knows the other.
///
/// A network has blocks. In each, one operator of the block's list runs, and its weights and activations have one bit
/// width of the list that all blocks share. A choice is a place in these lists.
namespace kasimir {

/// What one block is.
struct BlockChoice {
  std::size_t op = 0;
  std::size_t bits = 0;
  bool operator==(const BlockChoice&) const = default;
  auto operator<=>(const BlockChoice&) const = default;
};

/// A network of the space, one entry for each block.
using ChoiceDesign = std::vector<BlockChoice>;

/// How one block is to be computed in one step:
///   y = sum over o of op_weight[o] * op_o(x; w_o), and within op_o every quantised tensor (weights, activations) is
///   q(v) = sum over j of bit_weight[o][j] * quantise_j(v).
/// Operators that are not in `active` have op_weight 0 and need not be computed; quantisers of bit_weight 0 need not
/// be computed in a weight step.
struct BlockSample {
  std::vector<std::size_t> active;              ///< operators, the one with the largest weight first
  std::vector<double> op_weight;                ///< [operator]; one of them 1 and the others 0 if sampled hard
  std::vector<std::vector<double>> bit_weight;  ///< [operator][bits]; each row adds up to 1, rows of all operators
};

/// One draw of all blocks.
struct ChoiceSample {
  std::vector<BlockSample> blocks;
};

/// Slopes of the loss of a choice step by the numbers of its ChoiceSample, as if each were free. `op`: the inner
/// product of dloss/dy with op_o(x), for every active operator, weight 0 or not. `bits`: the sum over quantised
/// tensors of <dloss/dq, quantise_j(v)>, for every j of every active operator, weight 0 or not. 0 elsewhere.
struct ChoiceSlopes {
  double loss = 0;                                     ///< mean over the batch
  std::vector<std::vector<double>> op;                 ///< [block][operator]
  std::vector<std::vector<std::vector<double>>> bits;  ///< [block][operator][bits]
};

/// The network part of a search, as functions. Calls come one at a time.
struct ChoiceTrainer {
  /// Takes a training batch, updates the weights for this sample. `progress` in 0 .. 1 of all weight steps of the run,
  /// for the learning rate. @returns the loss.
  std::function<double(const ChoiceSample&, double progress)> weight_step;
  /// Takes a batch of the part of the data that is kept for choices; the weights stay.
  std::function<ChoiceSlopes(const ChoiceSample&)> choice_step;
  /// Score of the network as it would be derived, larger is better (accuracy in 0 .. 1), with the shared weights as
  /// they are and batch norm re-estimated for it.
  std::function<double(const ChoiceDesign&)> validate;
  /// Writes and reads what the trainer needs to go on (weights, optimiser, place in the data); may be empty where runs
  /// are not resumed.
  std::function<void(const std::string& path)> save;
  std::function<void(const std::string& path)> load;
  /// What a call costs, in images x passes (forward 1, backward 2) or any one unit: how methods get equal budgets.
  /// A choice step: of one active operator per block; it counts once for each path.
  double weight_step_cost = 1, choice_step_cost = 1, validation_cost = 1;
};

/// A new trainer with first weights and an order of the data that follow from the seed.
using TrainerFactory = std::function<ChoiceTrainer(std::uint64_t seed)>;

}  // namespace kasimir
