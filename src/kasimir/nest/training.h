// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/nest/nest.h"

#include <vector>

namespace kasimir {

/// A program whose values come from and go to its caller: besides weights, which are `known` to it.
struct TrainingPass {
  NestProgram program;  ///< one segment over the whole batch
  std::vector<int> in;  ///< tensors that the caller gives
  std::vector<int> out; ///< tensors that the caller gets
};

/// One step of training through a kernel, without the update.
struct TrainingPrograms {
  TrainingPass forward;   ///< in: the input; out: the output, then batch statistics, then what the backward pass needs
  TrainingPass backward;  ///< in: the cotangent, the input if it is needed, what was saved; out: gradients
  int cotangent = -1;               ///< tensor of the backward pass: the gradient by the output
  std::vector<int> statistics;      ///< tensors of the forward pass, in the order of the graph's stages
  std::vector<int> gradient;        ///< per tensor of the graph: of the backward pass; -1 where there is none
  /// Images do not meet but in the gradients of weights: the batch may be run in parts whose gradients add up.
  bool images_apart = false;
};

/// Sums of products of an activation with weights read both forwards and inside: windows are counted in the direction
/// of the activation, and weights that are then read backwards or at phases of a stride are copied once.
BoundGraph plain_weights(const BoundGraph& graph);

/// Both passes for the bound graph of a kernel (at training: with batch statistics as stages). The results of sums are
/// saved for the backward pass, all else is computed again there. Rejected where a gradient is no more than a copy of
/// something that is not computed here.
Outcome<TrainingPrograms> training_programs(const BoundGraph& graph);

}  // namespace kasimir
