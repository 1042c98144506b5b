// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/nest/expression.h"
#include "kasimir/nest/passes.h"

#include <algorithm>

namespace kasimir {
namespace {

/// A node as `a * x + b`: positions in the new nodes, -1 for a factor of 1, an offset of 0, or no activation at all.
/// Without an activation the value is `b`.
struct Form {
  int x = -1;
  int a = -1;
  int b = -1;
};

class Folder {
 public:
  Folder(BoundGraph& graph, BoundStage& stage, std::vector<bool>& weights)
      : graph_(graph), stage_(stage), weights_(weights) {}

  /// Stages for what was split off, to stand before the stage.
  std::vector<BoundStage> run() {
    std::vector<Form> forms;
    for (const BoundNode& node : stage_.nodes) forms.push_back(form(node, forms));
    const int root = whole(forms.back());
    mark_weights();
    BoundNodes kept;
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
      if (splits_off(i, root)) split_off(i);
    stage_.nodes = prune(nodes_, root);
    return std::move(made_);
  }

 private:
  int node(BoundNode made) {
    nodes_.push_back(std::move(made));
    return static_cast<int>(nodes_.size()) - 1;
  }
  int apply(Fn fn, int a, int b = -1) { return node(Apply{fn, a, b}); }
  int one() { return node(Constant{Rational(1)}); }

  /// A product or a sum in which -1 stands for its neutral element.
  int times(int a, int b) { return a < 0 ? b : b < 0 ? a : apply(Fn::mul, a, b); }
  int plus(int a, int b) { return a < 0 ? b : b < 0 ? a : apply(Fn::add, a, b); }
  int minus(int a, int b) { return b < 0 ? a : a < 0 ? apply(Fn::neg, b) : apply(Fn::sub, a, b); }

  /// The value itself.
  int whole(const Form& form) { return form.x < 0 ? form.b : plus(times(form.x, form.a), form.b); }

  Form form(const BoundNode& old, const std::vector<Form>& forms) {
    if (const auto* read = std::get_if<BoundRead>(&old)) {
      const int here = node(*read);
      return weights_[static_cast<std::size_t>(read->tensor)] ? Form{-1, -1, here} : Form{here, -1, -1};
    }
    if (std::holds_alternative<Constant>(old)) return {-1, -1, node(old)};
    const Apply& of = std::get<Apply>(old);
    const Form& a = forms[static_cast<std::size_t>(of.a)];
    if (of.b < 0) return of.fn == Fn::neg && a.x >= 0 ? negated(a) : opaque(apply(of.fn, whole(a)), a.x >= 0);
    return binary(of.fn, a, forms[static_cast<std::size_t>(of.b)]);
  }
  static Form opaque(int value, bool activation) { return activation ? Form{value, -1, -1} : Form{-1, -1, value}; }
  Form negated(const Form& a) {
    const int minus_one = node(Constant{Rational(-1)});
    return {a.x, times(a.a, minus_one), a.b < 0 ? -1 : apply(Fn::neg, a.b)};
  }

  Form binary(Fn fn, const Form& a, const Form& b) {
    const bool left = a.x >= 0;
    const bool right = b.x >= 0;
    if (left != right) {
      if (fn == Fn::add) return left ? Form{a.x, a.a, plus(a.b, b.b)} : Form{b.x, b.a, plus(a.b, b.b)};
      if (fn == Fn::sub && left) return {a.x, a.a, minus(a.b, b.b)};
      if (fn == Fn::sub) {
        const Form turned = negated(b);
        return {turned.x, turned.a, plus(a.b, turned.b)};
      }
      if (fn == Fn::mul) return left ? scaled(a, b.b) : scaled(b, a.b);
      if (fn == Fn::div && left) return scaled(a, apply(Fn::div, one(), b.b));
    }
    return opaque(apply(fn, whole(a), whole(b)), left || right);
  }
  Form scaled(const Form& form, int by) { return {form.x, times(form.a, by), form.b < 0 ? -1 : times(form.b, by)}; }

  void mark_weights() {
    known_.assign(nodes_.size(), true);
    reads_.assign(nodes_.size(), false);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (const auto* read = std::get_if<BoundRead>(&nodes_[i])) {
        known_[i] = weights_[static_cast<std::size_t>(read->tensor)];
        reads_[i] = true;
      }
      const auto* of = std::get_if<Apply>(&nodes_[i]);
      if (of == nullptr) continue;
      for (int operand : {of->a, of->b}) {
        if (operand < 0) continue;
        known_[i] = known_[i] && known_[static_cast<std::size_t>(operand)];
        reads_[i] = reads_[i] || reads_[static_cast<std::size_t>(operand)];
      }
    }
  }

  /// A known expression over weights that something unknown reads.
  [[nodiscard]] bool splits_off(int i, int root) const {
    const auto at = static_cast<std::size_t>(i);
    if (!known_[at] || !reads_[at] || !std::holds_alternative<Apply>(nodes_[at]) || i == root) return false;
    for (std::size_t user = at + 1; user < nodes_.size(); ++user) {
      const auto* of = std::get_if<Apply>(&nodes_[user]);
      if (of != nullptr && (of->a == i || of->b == i) && !known_[user]) return true;
    }
    return false;
  }

  void split_off(int i) {
    BoundStage stage;
    stage.step = stage_.step;
    std::map<int, int> renamed;
    BoundTensor tensor;
    tensor.name = fmt::format("{}.{}", graph_.tensors[static_cast<std::size_t>(stage_.out)].name, made_.size());
    BoundRead read;
    append(stage.nodes, nodes_, i, [&](const BoundRead& of) {
      BoundRead changed = of;
      for (BoundCoord& coord : changed.at)
        for (auto& term : coord.terms) {
          const BoundIter& iter = stage_.iters[static_cast<std::size_t>(term.first)];
          const auto [known, added] = renamed.emplace(term.first, static_cast<int>(stage.iters.size()));
          if (added) {
            stage.iters.push_back(iter);
            stage.left.push_back({iter.kind, {known->second}});
            tensor.axes.push_back({iter.kind, iter.extent});
            read.at.push_back({{{term.first, 1}}, 0, {}});
          }
          term.first = known->second;
        }
      return changed;
    });
    graph_.tensors.push_back(std::move(tensor));
    weights_.push_back(true);
    stage.out = read.tensor = static_cast<int>(graph_.tensors.size()) - 1;
    made_.push_back(std::move(stage));
    nodes_[static_cast<std::size_t>(i)] = std::move(read);
  }

  BoundGraph& graph_;
  BoundStage& stage_;
  std::vector<bool>& weights_;
  BoundNodes nodes_;
  std::vector<bool> known_;  ///< per node: depends on no activation
  std::vector<bool> reads_;  ///< per node: depends on some tensor
  std::vector<BoundStage> made_;
};

}  // namespace

std::vector<bool> weight_only(const BoundGraph& graph) {
  std::vector<bool> weights(graph.tensors.size());
  for (std::size_t t = 0; t < weights.size(); ++t)
    weights[t] = graph.tensors[t].role == Role::weight || graph.tensors[t].role == Role::stat;
  for (const BoundStage& stage : graph.stages)
    weights[static_cast<std::size_t>(stage.out)] = std::ranges::all_of(stage.nodes, [&](const BoundNode& node) {
      const auto* read = std::get_if<BoundRead>(&node);
      return read == nullptr || weights[static_cast<std::size_t>(read->tensor)];
    });
  return weights;
}

BoundGraph fold_weights(const BoundGraph& graph) {
  BoundGraph result = graph;
  result.stages.clear();
  std::vector<bool> weights = weight_only(graph);
  for (BoundStage stage : graph.stages) {
    if (!weights[static_cast<std::size_t>(stage.out)])
      for (BoundStage& made : Folder(result, stage, weights).run()) result.stages.push_back(std::move(made));
    result.stages.push_back(std::move(stage));
  }
  return result;
}

}  // namespace kasimir
