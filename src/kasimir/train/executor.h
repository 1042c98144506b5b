// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"
#include "kasimir/train/aten.h"
#include "kasimir/train/torch.h"

#include <functional>
#include <string>
#include <vector>

namespace kasimir {

/// One tensor per tensor of a graph; undefined until it is computed.
using Tensors = std::vector<at::Tensor>;
/// Computes one or several tensors from earlier ones.
struct Action {
  std::string name;
  std::function<void(Tensors&)> run;
};

/// Changes the operands of a weighted product (network/quantization.h) before it is computed, as quantisation does.
/// `weight` is the tensor's number in the graph.
using OperandHook = std::function<void(int weight, at::Tensor& activation, at::Tensor& weights)>;

/// A bound graph prepared to be run many times with ATen. Autograd differentiates what it runs.
class Executor {
 public:
  Executor(BoundGraph graph, const Peepholes& peepholes);

  [[nodiscard]] const BoundGraph& graph() const { return graph_; }
  /// `tensors` holds the input, the weights and stored statistics. Afterwards it holds the output and the results of
  /// statistic stages too; what lies between is released as soon as nothing reads it any more.
  void run(Tensors& tensors, const OperandHook& hook = {}) const;
  [[nodiscard]] std::vector<std::string> plan() const;  ///< the names of the actions

 private:
  struct Unit {
    Action action;
    int activation = -1;  ///< operands, if it is one weighted product
    int weight = -1;
    std::vector<int> last_reads;  ///< released afterwards
  };
  static void run_hooked(const Unit& unit, Tensors& tensors, const OperandHook& hook);
  void plan_releases(const std::vector<std::size_t>& unit_of_stage);

  BoundGraph graph_;
  std::vector<Unit> units_;
};

/// The plain evaluation of a stage: any expression, by broadcasting. Always possible.
Action plain_action(const BoundGraph& graph, const BoundStage& stage, const Peepholes& peepholes);

}  // namespace kasimir
