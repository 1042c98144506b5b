// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/verify.h"

#include <algorithm>

namespace kasimir {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

Range range_of(const BoundStage& stage, const BoundCoord& coord) {
  Range range{coord.offset, coord.offset};
  for (const auto& [iter, factor] : coord.terms) {
    const std::int64_t far = factor * (stage.iters[static_cast<std::size_t>(iter)].extent - 1);
    (far < 0 ? range.first : range.second) += far;
  }
  return range;
}

class Verifier {
 public:
  explicit Verifier(const BoundGraph& graph) : graph_(graph), defined_(graph.tensors.size(), false) {}

  std::optional<Rejection> run() {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) defined_[i] = graph_.tensors[i].role != Role::between;
    for (const BoundTensor& tensor : graph_.tensors)
      if (std::ranges::any_of(tensor.axes, [](const auto& axis) { return axis.extent < 1; }))
        return Rejection{"V4: extents are at least 1", tensor.name};
    for (const BoundStage& stage : graph_.stages) {
      stage_ = &stage;
      indices();
      if (reason_) return reason_;
      iterators();
      left_side();
      for (const BoundNode& n : stage.nodes)
        if (const auto* read = std::get_if<BoundRead>(&n)) located(*read);
      if (reason_) return reason_;
      reduction();
      batch();
      join();
      definition();
      if (reason_) return reason_;
    }
    if (!is_tensor(graph_.output) || !defined_[static_cast<std::size_t>(graph_.output)])
      return Rejection{"V1: the output is defined", ""};
    stabilisers();
    return reason_;
  }

 private:
  void fail(std::string rule) {
    if (!reason_) reason_ = Rejection{std::move(rule), str(graph_, *stage_)};
  }
  [[nodiscard]] const BoundTensor& tensor(int index) const { return graph_.tensors[static_cast<std::size_t>(index)]; }

  [[nodiscard]] bool is_tensor(int index) const {
    return index >= 0 && index < static_cast<int>(graph_.tensors.size());
  }
  [[nodiscard]] bool is_iterator(int index) const {
    return index >= 0 && index < static_cast<int>(stage_->iters.size());
  }

  /// What the other rules, and the printer of their messages, may rely on.
  void indices() {
    const auto bad = [&](std::string rule) {
      if (!reason_) reason_ = Rejection{std::move(rule), fmt::format("stage {}", stage_ - graph_.stages.data())};
    };
    if (!is_tensor(stage_->out)) return bad("V1: a stage defines a tensor");
    if (stage_->nodes.empty()) return bad("V1: a stage has a value");
    const auto known = [&](int iter) { return is_iterator(iter); };
    for (const LeftAxis& axis : stage_->left)
      if (!std::ranges::all_of(axis.digits, known)) bad("V1: iterators are known");
    if (!std::ranges::all_of(stage_->reduced, known)) bad("V1: iterators are known");
    for (int i = 0; i < static_cast<int>(stage_->nodes.size()); ++i) {
      const BoundNode& n = stage_->nodes[static_cast<std::size_t>(i)];
      if (const auto* apply = std::get_if<Apply>(&n)) {
        if (apply->a < 0 || apply->a >= i || apply->b >= i || (apply->b >= 0) != (fn_info(apply->fn).arity == 2))
          bad("V1: nodes refer to earlier nodes");
      } else if (const auto* r = std::get_if<BoundRead>(&n)) {
        if (!is_tensor(r->tensor)) return bad("V1: a tensor is defined before it is read");
        if (r->at.size() != tensor(r->tensor).axes.size()) bad("V1: a read has one coordinate per axis");
        for (const BoundCoord& coord : r->at)
          if (!std::ranges::all_of(coord.terms, known, &std::pair<int, std::int64_t>::first))
            bad("V1: iterators are known");
      }
    }
  }

  void iterators() {
    std::vector<int> stands(stage_->iters.size(), 0);
    for (const LeftAxis& axis : stage_->left)
      for (int digit : axis.digits) ++stands[static_cast<std::size_t>(digit)];
    for (int r : stage_->reduced) ++stands[static_cast<std::size_t>(r)];
    if (std::ranges::any_of(stands, [](int n) { return n != 1; }))
      fail("V2: each iterator stands once, as a digit of the left side or reduced");
    for (const auto& iter : stage_->iters)
      if (iter.extent < 1) fail("V4: extents are at least 1");
  }

  void left_side() {
    const auto& axes = tensor(stage_->out).axes;
    if (stage_->left.size() != axes.size()) return fail("V3: the left side has the tensor's axes");
    for (std::size_t a = 0; a < axes.size(); ++a) {
      std::int64_t product = 1;
      for (int digit : stage_->left[a].digits) product *= stage_->iters[static_cast<std::size_t>(digit)].extent;
      if (product != axes[a].extent || stage_->left[a].kind != axes[a].kind)
        fail("V3: an axis has as many elements as its digits name");
    }
  }

  void located(const BoundRead& read) {
    if (!defined_[static_cast<std::size_t>(read.tensor)]) return fail("V1: a tensor is defined before it is read");
    for (std::size_t a = 0; a < read.at.size(); ++a) coordinate(read.at[a], tensor(read.tensor).axes[a].extent);
  }

  void coordinate(const BoundCoord& coord, std::int64_t extent) {
    if (coord.wrap) {
      const bool plain = coord.terms.size() == 1 && (coord.terms[0].second == 1 || coord.terms[0].second == -1);
      if (!plain || *coord.wrap != extent ||
          stage_->iters[static_cast<std::size_t>(coord.terms[0].first)].extent != extent)
        fail("V7: a wrap is over one iterator of the axis's own extent");
      return;
    }
    const Range range = range_of(*stage_, coord);
    if (range.second < 0 || range.first >= extent) fail("V11: no read is outside its tensor for all iterations");
  }

  void reduction() {
    std::vector<bool> read(stage_->iters.size(), false);
    int reads = 0;
    for (const BoundNode& n : stage_->nodes) {
      const auto* r = std::get_if<BoundRead>(&n);
      if (r == nullptr) continue;
      ++reads;
      for (const BoundCoord& c : r->at)
        for (const auto& term : c.terms) read[static_cast<std::size_t>(term.first)] = true;
    }
    for (int r : stage_->reduced)
      if (!read[static_cast<std::size_t>(r)]) fail("V5: every reduced iterator occurs in the expression");
    if ((stage_->reduce == Reduce::none) != stage_->reduced.empty())
      fail("V5: a stage reduces exactly if it has reduced iterators");
    if (stage_->reduce == Reduce::max && (stage_->nodes.size() != 1 || reads != 1 || stage_->factor != Rational(1)))
      fail("V6: a max reduces one plain read with factor 1");
  }

  void batch() {
    const bool reduces_batch = std::ranges::any_of(
        stage_->reduced, [&](int r) { return stage_->iters[static_cast<std::size_t>(r)].kind == AxisKind::batch; });
    if (reduces_batch && !stage_->stat) fail("V8: only a statistic reduces over the batch");
    const auto is_batch = [&](int iter) {
      return stage_->iters[static_cast<std::size_t>(iter)].kind == AxisKind::batch;
    };
    for (const LeftAxis& axis : stage_->left)
      if (axis.kind != AxisKind::batch && std::ranges::any_of(axis.digits, is_batch))
        fail("V8: the batch is an axis of its own");
    for (const BoundNode& n : stage_->nodes) {
      const auto* r = std::get_if<BoundRead>(&n);
      if (r == nullptr) continue;
      const auto& axes = tensor(r->tensor).axes;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        const BoundCoord& c = r->at[a];
        if (axes[a].kind != AxisKind::batch) {
          if (std::ranges::any_of(c.terms, is_batch, &std::pair<int, std::int64_t>::first))
            fail("V8: the batch is an axis of its own");
          continue;
        }
        const bool plain = c.terms.size() == 1 && c.terms[0].second == 1 && c.offset == 0 && !c.wrap &&
                           stage_->iters[static_cast<std::size_t>(c.terms[0].first)].kind == AxisKind::batch;
        if (tensor(r->tensor).role == Role::weight || !plain)
          fail("V8: activations are read at the batch's own index, weights have no batch");
      }
    }
  }

  /// Some axis keeps the operands of `|` apart: its coordinates are never inside both tensors at once.
  void join() {
    for (const BoundNode& n : stage_->nodes) {
      const auto* apply = std::get_if<Apply>(&n);
      if (apply == nullptr || apply->fn != Fn::join) continue;
      const auto* a = std::get_if<BoundRead>(&stage_->nodes[static_cast<std::size_t>(apply->a)]);
      const auto* b = std::get_if<BoundRead>(&stage_->nodes[static_cast<std::size_t>(apply->b)]);
      if (a == nullptr || b == nullptr || !apart(*a, *b)) fail("V9: the operands of | are never inside together");
    }
  }

  /// Axes are compared each with each: the operands may have theirs in another order.
  [[nodiscard]] bool apart(const BoundRead& a, const BoundRead& b) const {
    for (std::size_t i = 0; i < a.at.size(); ++i) {
      for (std::size_t j = 0; j < b.at.size(); ++j) {
        if (a.at[i].terms != b.at[j].terms || a.at[i].wrap || b.at[j].wrap) continue;
        const std::int64_t ahead = a.at[i].offset - b.at[j].offset;  // a's coordinate minus b's
        if (ahead >= tensor(a.tensor).axes[i].extent || -ahead >= tensor(b.tensor).axes[j].extent) return true;
      }
    }
    return false;
  }

  void definition() {
    auto defined = defined_[static_cast<std::size_t>(stage_->out)];
    if (defined) fail("V12: each tensor is written once, and never the input or a weight");
    defined_[static_cast<std::size_t>(stage_->out)] = true;
  }

  void stabilisers() {
    for (const BoundStage& stage : graph_.stages) {
      stage_ = &stage;
      if (stage.stabiliser && stage.reduce != Reduce::max) fail("V10: a stabiliser is a maximum");
      for (std::size_t i = 0; i < stage.nodes.size(); ++i) {
        const auto* r = std::get_if<BoundRead>(&stage.nodes[i]);
        if (r == nullptr || !is_stabiliser(r->tensor)) continue;
        if (!only_in_exponent(stage, static_cast<int>(i), operand_of(r->tensor)))
          fail("V10: a stabiliser is read as exp(. - m) only, beside its own operand");
      }
    }
  }

  [[nodiscard]] bool is_stabiliser(int index) const {
    return std::ranges::any_of(graph_.stages, [&](const BoundStage& s) { return s.stabiliser && s.out == index; });
  }

  /// The tensor whose maximum that stabiliser is.
  [[nodiscard]] int operand_of(int stabiliser) const {
    const auto stage = std::ranges::find(graph_.stages, stabiliser, &BoundStage::out);
    const auto* r = std::get_if<BoundRead>(&stage->nodes.front());
    return r == nullptr ? -1 : r->tensor;
  }

  /// Every use of the node is what is taken from the operand, and every use of that is an exponential.
  static bool only_in_exponent(const BoundStage& stage, int read, int operand) {
    return only_used(stage, read, [&](int i, const Apply& user) {
      const auto* from = std::get_if<BoundRead>(&stage.nodes[static_cast<std::size_t>(user.a)]);
      return user.fn == Fn::sub && user.b == read && from != nullptr && from->tensor == operand &&
             only_used(stage, i, [](int, const Apply& outer) { return outer.fn == Fn::exp; });
    });
  }

  /// Whether the node has uses, of this sort only; to be the stage's value is another one.
  template <typename Sort>
  static bool only_used(const BoundStage& stage, int node, Sort sort) {
    if (node + 1 == static_cast<int>(stage.nodes.size())) return false;
    for (int i = node + 1; i < static_cast<int>(stage.nodes.size()); ++i) {
      const auto* user = std::get_if<Apply>(&stage.nodes[static_cast<std::size_t>(i)]);
      if (user != nullptr && (user->a == node || user->b == node) && !sort(i, *user)) return false;
    }
    return true;
  }

  const BoundGraph& graph_;
  std::vector<bool> defined_;
  const BoundStage* stage_ = nullptr;
  std::optional<Rejection> reason_;
};

}  // namespace

std::optional<Rejection> verify(const BoundGraph& graph) { return Verifier(graph).run(); }

bool independent_of_resolution(const Graph& graph) {
  return std::ranges::none_of(graph.tensors, [](const Tensor& tensor) {
    return tensor.role == Role::weight && std::ranges::any_of(tensor.axes, [](const auto& axis) {
             return is_spatial(axis.kind) || axis.extent.has(Symbol::H) || axis.extent.has(Symbol::W);
           });
  });
}

}  // namespace kasimir
