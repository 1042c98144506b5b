// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/training.h"

#include "kasimir/nest/adjoint.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/schedule.h"

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

/// A last stage that reads every result, under a wrap and twice, so that no pass moves a result into it and all see
/// that the result is read.
BoundGraph with_sink(BoundGraph graph, const std::vector<int>& results) {
  BoundStage sink;
  BoundTensor nothing;
  nothing.name = "results";
  for (int result : results) {
    BoundRead read{result, {}};
    for (std::size_t a = 0; a < graph.tensors[static_cast<std::size_t>(result)].axes.size(); ++a)
      read.at.push_back({{}, 0, 1});
    for (int twice = 0; twice < 2; ++twice) {
      sink.nodes.emplace_back(read);
      const int last = static_cast<int>(sink.nodes.size()) - 1;
      if (last > 0) sink.nodes.emplace_back(Apply{Fn::add, last - 1, last});
    }
  }
  graph.tensors.push_back(std::move(nothing));
  sink.out = graph.output = static_cast<int>(graph.tensors.size()) - 1;
  graph.stages.push_back(std::move(sink));
  return graph;
}

Outcome<TrainingPass> pass_of(const BoundGraph& graph, std::vector<int> in, std::vector<int> out) {
  TrainingPass made{schedule(plain_weights(simplify(with_sink(graph, out)))), std::move(in), std::move(out)};
  made.program.run.pop_back();
  made.program.segments.back().end = made.program.run.size();
  made.program.input = made.in.front();
  made.program.output = made.out.front();
  for (int result : made.out) {
    const bool written = std::ranges::any_of(made.program.run, [&](const Nest& nest) { return nest.out == result; });
    if (!written)
      return Rejection{"a training pass computes its results",
                       made.program.tensors[static_cast<std::size_t>(result)].name};
  }
  return made;
}

/// The batch meets in a sum.
bool sums_over_batch(const BoundStage& stage) {
  return std::ranges::any_of(stage.reduced, [&](int iter) {
    return stage.iters[static_cast<std::size_t>(iter)].kind == AxisKind::batch;
  });
}

/// What the backward pass computes of the forward pass again, and what it is given.
class Split {
 public:
  Split(const Adjoint& adjoint, const std::vector<int>& wanted)
      : graph_(adjoint.graph), stage_of_(graph_.tensors.size(), -1) {
    for (std::size_t i = 0; i < graph_.stages.size(); ++i)
      stage_of_[static_cast<std::size_t>(graph_.stages[i].out)] = static_cast<int>(i);
    forward_ = adjoint.forward_stages;
    for (int tensor : wanted) need(tensor);
  }
  [[nodiscard]] const std::set<int>& stages() const { return stages_; }
  /// In order of their numbers: the input and the cotangent may be among them.
  [[nodiscard]] const std::set<int>& given() const { return given_; }

 private:
  void need(int tensor) {
    const int index = stage_of_[static_cast<std::size_t>(tensor)];
    if (index < 0) {
      if (graph_.tensors[static_cast<std::size_t>(tensor)].role == Role::input) given_.insert(tensor);
      return;
    }
    const BoundStage& stage = graph_.stages[static_cast<std::size_t>(index)];
    if (static_cast<std::size_t>(index) < forward_ && stage.reduce == Reduce::sum) {
      given_.insert(tensor);
      return;
    }
    if (!stages_.insert(index).second) return;
    for (const BoundNode& node : stage.nodes)
      if (const auto* read = std::get_if<BoundRead>(&node)) need(read->tensor);
  }

  const BoundGraph& graph_;
  std::vector<int> stage_of_;
  std::size_t forward_ = 0;
  std::set<int> stages_;
  std::set<int> given_;
};

}  // namespace

Outcome<TrainingPrograms> training_programs(const BoundGraph& graph) {
  const Adjoint adjoint = differentiate(graph);
  TrainingPrograms made;
  made.cotangent = adjoint.cotangent;
  made.gradient.assign(graph.tensors.size(), -1);
  made.images_apart = std::ranges::none_of(graph.stages, sums_over_batch);
  std::vector<int> wanted;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Role role = graph.tensors[t].role;
    if (adjoint.gradient[t] < 0 || (role != Role::input && role != Role::weight)) continue;
    made.gradient[t] = adjoint.gradient[t];
    wanted.push_back(adjoint.gradient[t]);
  }
  const Split split(adjoint, wanted);
  if (split.given().empty())
    return Rejection{"a training pass reads something", "no gradient of the kernel depends on an image"};

  BoundGraph forward = graph;
  std::vector<int> results{graph.output};
  for (BoundStage& stage : forward.stages) {
    if (stage.stat) made.statistics.push_back(stage.out);
    stage.stat.reset();
  }
  results.insert(results.end(), made.statistics.begin(), made.statistics.end());
  for (int tensor : split.given())
    if (tensor != graph.input && tensor != adjoint.cotangent && std::ranges::count(results, tensor) == 0)
      results.push_back(tensor);
  auto there = pass_of(forward, {graph.input}, std::move(results));
  if (!there.ok()) return there.rejection();

  BoundGraph backward = adjoint.graph;
  backward.stages.clear();
  for (int stage : split.stages()) backward.stages.push_back(adjoint.graph.stages[static_cast<std::size_t>(stage)]);
  for (int tensor : split.given()) backward.tensors[static_cast<std::size_t>(tensor)].role = Role::input;
  // The cotangent first: it has the axes of images.
  std::vector<int> given{adjoint.cotangent};
  for (int tensor : split.given())
    if (tensor != adjoint.cotangent) given.push_back(tensor);
  auto back = pass_of(backward, std::move(given), std::move(wanted));
  if (!back.ok()) return back.rejection();
  made.forward = *std::move(there);
  made.backward = *std::move(back);
  return made;
}

}  // namespace kasimir
