// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/executor.h"
#include "kasimir/train/view.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

namespace kasimir {
namespace {

at::Tensor apply_fn(Fn fn, const at::Tensor& a) {
  switch (fn) {
    case Fn::neg:
      return at::neg(a);
    case Fn::abs:
      return at::abs(a);
    case Fn::relu:
      return at::relu(a);
    case Fn::exp:
      return at::exp(a);
    case Fn::sqrt:
      return at::sqrt(a);
    case Fn::rsqrt:
      return at::rsqrt(a);
    case Fn::sin:
      return at::sin(a);
    case Fn::tanh:
      return at::tanh(a);
    case Fn::sigmoid:
      return at::sigmoid(a);
    case Fn::gelu:
      return at::gelu(a);
    case Fn::hardswish:
      return at::hardswish(a);
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::div:
    case Fn::join:
    case Fn::max:
    case Fn::min:
      break;
  }
  KASIMIR_CHECK(false, "{} takes two arguments", fn_info(fn).name);
}

at::Tensor apply_fn(Fn fn, const at::Tensor& a, const at::Tensor& b) {
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return at::add(a, b);
    case Fn::sub:
      return at::sub(a, b);
    case Fn::mul:
      return at::mul(a, b);
    case Fn::div:
      return at::div(a, b);
    case Fn::max:
      return at::maximum(a, b);
    case Fn::min:
      return at::minimum(a, b);
    case Fn::neg:
    case Fn::abs:
    case Fn::relu:
    case Fn::exp:
    case Fn::sqrt:
    case Fn::rsqrt:
    case Fn::sin:
    case Fn::tanh:
    case Fn::sigmoid:
    case Fn::gelu:
    case Fn::hardswish:
      break;
  }
  KASIMIR_CHECK(false, "{} takes one argument", fn_info(fn).name);
}

/// A number of no dimensions: it broadcasts, and takes the precision of what it meets.
at::Tensor number(const Constant& c) {
  const double value = c.value.value() * (c.half_pi ? std::numbers::pi / 2 : 1.0);
  return at::scalar_tensor(value, at::kDouble);
}

double factor_of(const BoundStage& stage) {
  return stage.root ? std::sqrt(stage.factor.value()) : stage.factor.value();
}

/// One node of an expression, ready to run.
struct Node {
  std::shared_ptr<const ReadView> view;  ///< a read ..
  int tensor = -1;
  at::Tensor constant;  ///< .. or a constant ..
  Apply apply{};        ///< .. or an application
};

/// An expression over broadcast tensors.
class Expression {
 public:
  Expression(const BoundGraph& graph, const BoundStage& stage) {
    for (const BoundNode& node : stage.nodes) {
      Node made;
      if (const auto* read = std::get_if<BoundRead>(&node)) {
        made.view = std::make_shared<ReadView>(graph, stage, *read);
        made.tensor = read->tensor;
      } else if (const auto* constant = std::get_if<Constant>(&node)) {
        made.constant = number(*constant);
      } else {
        made.apply = std::get<Apply>(node);
      }
      nodes_.push_back(std::move(made));
    }
  }

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

  /// Iterators that the node's value depends on, in `order`'s order.
  [[nodiscard]] std::vector<int> iters(int root, const std::vector<int>& order) const {
    std::vector<int> found;
    collect(root, found);
    std::vector<int> sorted;
    std::ranges::copy_if(order, std::back_inserter(sorted), [&](int i) { return std::ranges::count(found, i) > 0; });
    return sorted;
  }

  /// The value of a node with one dimension per iterator of `order`.
  [[nodiscard]] at::Tensor value(int root, const std::vector<int>& order, const Tensors& tensors) const {
    std::vector<at::Tensor> known(nodes_.size());
    return value(root, order, tensors, known);
  }

 private:
  void collect(int node, std::vector<int>& found) const {
    const Node& n = nodes_[static_cast<std::size_t>(node)];
    if (n.view) found.insert(found.end(), n.view->iters().begin(), n.view->iters().end());
    if (n.view || n.constant.defined()) return;
    collect(n.apply.a, found);
    if (n.apply.b >= 0) collect(n.apply.b, found);
  }

  at::Tensor value(int node, const std::vector<int>& order, const Tensors& tensors,
                   std::vector<at::Tensor>& known) const {
    at::Tensor& result = known[static_cast<std::size_t>(node)];
    if (result.defined()) return result;
    const Node& n = nodes_[static_cast<std::size_t>(node)];
    if (n.view) {
      result = aligned(n.view->apply(tensors[static_cast<std::size_t>(n.tensor)]), n.view->iters(), order);
    } else if (n.constant.defined()) {
      result = n.constant;
    } else if (n.apply.b < 0) {
      result = apply_fn(n.apply.fn, value(n.apply.a, order, tensors, known));
    } else {
      result = apply_fn(n.apply.fn, value(n.apply.a, order, tensors, known), value(n.apply.b, order, tensors, known));
    }
    return result;
  }

  std::vector<Node> nodes_;
};

/// What is left of the reduction: dimensions for the left side's iterators only.
at::Tensor reduced(const BoundStage& stage, at::Tensor value, const std::vector<int>& order) {
  if (value.dim() == 0) value = value.reshape(std::vector<std::int64_t>(order.size(), 1));
  std::vector<std::int64_t> dims;
  for (std::size_t i = order.size(); i-- > order.size() - stage.reduced.size();) {
    const auto dim = static_cast<std::int64_t>(i);
    if (value.size(dim) == 1) {
      value = value.squeeze(dim);
    } else {
      dims.push_back(dim);
    }
  }
  // Only trailing dimensions went, so those that stay are numbered anew from the left side's end.
  for (std::size_t i = 0; i < dims.size(); ++i)
    dims[i] = static_cast<std::int64_t>(order.size() - stage.reduced.size() + i);
  if (dims.empty()) return value;
  if (stage.reduce == Reduce::sum) return at::sum(value, dims);
  if (stage.reduce == Reduce::max) return at::amax(value, dims);
  return value;
}

at::Tensor scaled(const at::Tensor& value, double factor) { return factor == 1.0 ? value : at::mul(value, factor); }

/// The factors of a product at the root; constants among them are multiplied together.
struct Product {
  std::vector<int> factors;
  double constant = 1.0;
};

void split_product(const Expression& expression, int node, Product& product) {
  const Node& n = expression.nodes()[static_cast<std::size_t>(node)];
  if (n.constant.defined()) {
    product.constant *= n.constant.item<double>();
  } else if (!n.view && n.apply.fn == Fn::mul) {
    split_product(expression, n.apply.a, product);
    split_product(expression, n.apply.b, product);
  } else {
    product.factors.push_back(node);
  }
}

char label(std::size_t i) { return static_cast<char>(i < 26 ? 'a' + i : 'A' + (i - 26)); }

std::string labels(const std::vector<int>& iters, const std::vector<int>& order) {
  std::string text;
  for (int iter : iters) text += label(static_cast<std::size_t>(std::ranges::find(order, iter) - order.begin()));
  return text;
}

/// A sum of a product as einsum. None where there is nothing to contract: factors over the same iterators are
/// multiplied and summed faster in place.
std::optional<Action> einsum_action(const BoundStage& stage, const std::shared_ptr<const Expression>& expression,
                                    const std::vector<int>& order) {
  if (stage.reduce != Reduce::sum) return std::nullopt;
  Product product;
  split_product(*expression, static_cast<int>(stage.nodes.size()) - 1, product);
  if (product.factors.size() < 2) return std::nullopt;
  std::vector<std::vector<int>> iters;
  std::string equation;
  std::vector<int> seen;
  for (int factor : product.factors) {
    iters.push_back(expression->iters(factor, order));
    equation += (equation.empty() ? "" : ",") + labels(iters.back(), order);
    seen.insert(seen.end(), iters.back().begin(), iters.back().end());
  }
  if (std::ranges::all_of(iters, [&](const auto& i) { return i == iters.front(); })) return std::nullopt;
  std::vector<int> left;
  for (int iter : left_iters(stage))
    if (std::ranges::count(seen, iter) > 0) left.push_back(iter);
  equation += "->" + labels(left, order);
  const double factor = factor_of(stage) * product.constant;
  return Action{
      "einsum", [stage, expression, iters, equation, left, factor, factors = product.factors](Tensors& tensors) {
        std::vector<at::Tensor> operands;
        for (std::size_t i = 0; i < factors.size(); ++i)
          operands.push_back(expression->value(factors[i], iters[i], tensors));
        if (factor != 1.0) {
          auto& smallest = *std::ranges::min_element(operands, {}, [](const at::Tensor& t) { return t.numel(); });
          smallest = scaled(smallest, factor);
        }
        tensors[static_cast<std::size_t>(stage.out)] = to_axes(stage, at::einsum(equation, operands), left);
      }};
}

/// `a | b` end to end along one iterator: cuts both reads to what is inside, and concatenates.
std::optional<Action> concat_action(const BoundGraph& graph, const BoundStage& stage, const std::vector<int>& order) {
  const auto* join = std::get_if<Apply>(&stage.nodes.back());
  if (stage.reduce != Reduce::none || stage.factor != Rational(1) || join == nullptr || join->fn != Fn::join)
    return std::nullopt;
  const auto* a = std::get_if<BoundRead>(&stage.nodes[static_cast<std::size_t>(join->a)]);
  const auto* b = std::get_if<BoundRead>(&stage.nodes[static_cast<std::size_t>(join->b)]);
  if (a == nullptr || b == nullptr || a->at.size() != b->at.size()) return std::nullopt;
  for (std::size_t axis = 0; axis < a->at.size(); ++axis) {
    const BoundCoord& at_a = a->at[axis];
    const BoundCoord& at_b = b->at[axis];
    const std::int64_t first = graph.tensors[static_cast<std::size_t>(a->tensor)].axes[axis].extent;
    const std::int64_t second = graph.tensors[static_cast<std::size_t>(b->tensor)].axes[axis].extent;
    if (at_a.terms != at_b.terms || at_a.terms.size() != 1 || at_a.terms[0].second != 1 || at_a.wrap || at_b.wrap)
      continue;
    const int seam = at_a.terms[0].first;
    if (at_a.offset != 0 || at_b.offset != -first ||
        stage.iters[static_cast<std::size_t>(seam)].extent != first + second)
      continue;
    BoundStage in_a = stage;
    BoundStage in_b = stage;
    in_a.iters[static_cast<std::size_t>(seam)].extent = first;
    in_b.iters[static_cast<std::size_t>(seam)].extent = second;
    BoundRead moved = *b;
    moved.at[axis].offset = 0;
    const ReadView view_a(graph, in_a, *a);
    const ReadView view_b(graph, in_b, moved);
    const auto whole = [](std::vector<int> iters, int without) {
      std::erase(iters, without);
      std::ranges::sort(iters);
      return iters;
    };
    if (whole(view_a.iters(), seam) != whole(view_b.iters(), seam)) continue;
    const auto dim = std::ranges::find(order, seam) - order.begin();
    return Action{
        "concatenation", [stage, order, view_a, view_b, dim, from = a->tensor, to = b->tensor](Tensors& tensors) {
          const at::Tensor left = aligned(view_a.apply(tensors[static_cast<std::size_t>(from)]), view_a.iters(), order);
          const at::Tensor right = aligned(view_b.apply(tensors[static_cast<std::size_t>(to)]), view_b.iters(), order);
          std::vector<at::Tensor> parts{left, right};
          tensors[static_cast<std::size_t>(stage.out)] = to_axes(stage, at::cat(parts, dim), order);
        }};
  }
  return std::nullopt;
}

}  // namespace

Action plain_action(const BoundGraph& graph, const BoundStage& stage, const Peepholes& peepholes) {
  std::vector<int> order = left_iters(stage);
  const std::vector<int> left = order;
  order.insert(order.end(), stage.reduced.begin(), stage.reduced.end());
  if (peepholes.concat)
    if (auto action = concat_action(graph, stage, order)) return *std::move(action);
  const auto expression = std::make_shared<const Expression>(graph, stage);
  if (peepholes.contraction)
    if (auto action = einsum_action(stage, expression, order)) return *std::move(action);
  return {"plain", [stage, expression, order, left](Tensors& tensors) {
            const at::Tensor value = expression->value(static_cast<int>(stage.nodes.size()) - 1, order, tensors);
            const at::Tensor kept = scaled(reduced(stage, value, order), factor_of(stage));
            tensors[static_cast<std::size_t>(stage.out)] = to_axes(stage, kept, left);
          }};
}

}  // namespace kasimir
