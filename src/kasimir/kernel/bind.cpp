// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/stage.h"

#include <algorithm>

namespace kasimir {
namespace {

/// Carries the first failure, so that binding reads as a plain translation.
class Binder {
 public:
  explicit Binder(const Binding& binding) : binding_(&binding) {}

  [[nodiscard]] bool failed() const { return reason_.has_value(); }
  [[nodiscard]] const Rejection& reason() const { return *reason_; }

  std::int64_t extent(const Size& size) {
    auto value = size.extent_at(*binding_);
    if (value.ok()) return *value;
    fail(value.rejection());
    return 1;
  }

  std::int64_t whole(const Rational& value, const std::string& text) {
    if (value.whole()) return value.num();
    fail({"coefficients and offsets are whole", fmt::format("{} = {} at {}", text, value.str(), binding_->str())});
    return 0;
  }

  BoundCoord coord(const Coord& symbolic) {
    BoundCoord bound;
    for (const auto& [iter, factor] : symbolic.terms)
      bound.terms.emplace_back(iter, whole(factor.at(*binding_), factor.str()));
    bound.offset = symbolic.offset.is_zero() ? 0 : whole(symbolic.offset.at(*binding_), symbolic.offset.str());
    if (symbolic.wrap) bound.wrap = extent(*symbolic.wrap);
    return bound;
  }

  BoundNode node(const BasicNode<Symbolic>& symbolic) {
    if (const auto* read = std::get_if<BasicRead<Symbolic>>(&symbolic)) {
      BoundRead bound{read->tensor, {}};
      bound.at.reserve(read->at.size());
      for (const Coord& c : read->at) bound.at.push_back(coord(c));
      return bound;
    }
    if (const auto* constant = std::get_if<Constant>(&symbolic)) return *constant;
    return std::get<Apply>(symbolic);
  }

  BoundStage stage(const Stage& symbolic) {
    BoundStage bound;
    bound.out = symbolic.out;
    for (const Iter& iter : symbolic.iters) bound.iters.push_back({iter.kind, extent(iter.extent)});
    bound.left = symbolic.left;
    bound.reduced = symbolic.reduced;
    bound.reduce = symbolic.reduce;
    bound.factor = symbolic.factor.at(*binding_);
    bound.root = symbolic.root;
    bound.nodes.reserve(symbolic.nodes.size());
    for (const auto& n : symbolic.nodes) bound.nodes.push_back(node(n));
    bound.stabiliser = symbolic.stabiliser;
    bound.stat = symbolic.stat;
    bound.step = symbolic.step;
    return bound;
  }

  BoundTensor tensor(const Tensor& symbolic) {
    BoundTensor bound{symbolic.name, symbolic.role, {}, symbolic.weight_role, extent(symbolic.fan_in)};
    for (const auto& axis : symbolic.axes) bound.axes.push_back({axis.kind, extent(axis.extent)});
    return bound;
  }

 private:
  void fail(Rejection reason) {
    if (!reason_) reason_ = std::move(reason);
  }
  const Binding* binding_;
  std::optional<Rejection> reason_;
};

}  // namespace

Outcome<BoundGraph> bind(const Graph& graph, const Binding& binding) {
  Binder binder(binding);
  BoundGraph bound;
  bound.input = graph.input;
  bound.output = graph.output;
  for (const Tensor& tensor : graph.tensors) bound.tensors.push_back(binder.tensor(tensor));
  for (const Stage& stage : graph.stages) bound.stages.push_back(binder.stage(stage));
  if (binder.failed()) return binder.reason();
  for (const BoundStage& stage : bound.stages) {
    const BoundTensor& out = bound.tensors[static_cast<std::size_t>(stage.out)];
    for (std::size_t a = 0; a < stage.left.size(); ++a) {
      std::int64_t product = 1;
      for (int digit : stage.left[a].digits) product *= stage.iters[static_cast<std::size_t>(digit)].extent;
      if (product != out.axes[a].extent)
        return Rejection{"an axis has as many elements as its digits name",
                         fmt::format("{} at {}", str(bound, stage), binding.str())};
    }
  }
  return bound;
}

BoundGraph freeze(const BoundGraph& graph) {
  BoundGraph frozen = graph;
  std::erase_if(frozen.stages, [&](const BoundStage& stage) {
    if (!stage.stat) return false;
    frozen.tensors[static_cast<std::size_t>(stage.out)].role = Role::stat;
    return true;
  });
  // What only fed the statistics is not needed any more.
  std::vector<bool> read(frozen.tensors.size(), false);
  read[static_cast<std::size_t>(frozen.output)] = true;
  std::vector<BoundStage> kept;
  for (auto stage = frozen.stages.rbegin(); stage != frozen.stages.rend(); ++stage) {
    if (!read[static_cast<std::size_t>(stage->out)]) continue;
    for (const BoundNode& node : stage->nodes)
      if (const auto* r = std::get_if<BoundRead>(&node)) read[static_cast<std::size_t>(r->tensor)] = true;
    kept.push_back(*stage);
  }
  std::ranges::reverse(kept);
  frozen.stages = std::move(kept);
  return frozen;
}

std::int64_t elements(const BoundTensor& tensor) {
  std::int64_t product = 1;
  for (const auto& axis : tensor.axes) product *= axis.extent;
  return product;
}

std::int64_t domain(const BoundStage& stage) {
  std::int64_t product = 1;
  for (const auto& iter : stage.iters) product *= iter.extent;
  return product;
}

}  // namespace kasimir
