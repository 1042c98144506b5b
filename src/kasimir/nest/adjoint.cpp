// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/adjoint.h"

#include "kasimir/base/error.h"
#include "kasimir/nest/gather.h"

#include <algorithm>
#include <map>

namespace kasimir {
namespace {

/// What divisors do not go below; what is nearer to zero counts as zero.
const Rational smallest(1, std::int64_t{1} << 62U);

/// Adds nodes to an expression.
class Writer {
 public:
  explicit Writer(BoundNodes& nodes) : nodes_(nodes) {}
  int node(BoundNode made) {
    nodes_.push_back(std::move(made));
    return static_cast<int>(nodes_.size()) - 1;
  }
  int number(Rational value) { return node(Constant{value}); }
  int apply(Fn fn, int a, int b = -1) { return node(Apply{fn, a, b}); }
  int mul(int a, int b) { return apply(Fn::mul, a, b); }
  int add(int a, int b) { return apply(Fn::add, a, b); }
  int sub(int a, int b) { return apply(Fn::sub, a, b); }
  /// 1 where the node is above 0, else 0: x / x, with a denominator that is never 0.
  int positive(int a) {
    const int above = apply(Fn::relu, a);
    return apply(Fn::div, above, apply(Fn::max, above, number(smallest)));
  }

 private:
  BoundNodes& nodes_;
};

/// 1 where a > b, 1/2 where they are equal.
int step(Writer& to, int a, int b) {
  const int more = to.positive(to.sub(a, b));
  const int less = to.positive(to.sub(b, a));
  return to.mul(to.add(to.number(1), to.sub(more, less)), to.number(Rational(1, 2)));
}

/// 1 / sqrt(2 pi) to as many digits as a double has.
const Rational inverse_root_two_pi(39894228040143268, 100000000000000000);

/// The normal distribution: gelu(a) = a * cdf(a), and cdf(-a) = 1 - cdf(a).
int normal_cdf(Writer& to, int x) {
  const int a = to.apply(Fn::max, to.apply(Fn::abs, x), to.number(smallest));
  const int above = to.apply(Fn::div, to.apply(Fn::gelu, a), a);
  const int below = to.sub(to.number(1), above);
  return to.add(below, to.mul(to.positive(x), to.sub(above, below)));
}

/// The derivative of a function of one argument: x is the argument's node, y the value's.
int slope(Writer& to, Fn fn, int x, int y) {
  switch (fn) {
    case Fn::neg:
      return to.number(-1);
    case Fn::abs:
      return to.sub(to.positive(x), to.positive(to.apply(Fn::neg, x)));
    case Fn::relu:
      return to.positive(x);
    case Fn::exp:
      return y;
    case Fn::sqrt:
      return to.apply(Fn::div, to.number(Rational(1, 2)), y);
    case Fn::rsqrt:
      return to.mul(to.number(Rational(-1, 2)), to.mul(y, to.mul(y, y)));
    case Fn::sin:
      return to.apply(Fn::sin, to.add(x, to.node(Constant{1, true})));
    case Fn::tanh:
      return to.sub(to.number(1), to.mul(y, y));
    case Fn::sigmoid:
      return to.mul(y, to.sub(to.number(1), y));
    case Fn::gelu: {
      const int bell = to.apply(Fn::exp, to.mul(to.mul(x, x), to.number(Rational(-1, 2))));
      return to.add(normal_cdf(to, x), to.mul(x, to.mul(bell, to.number(inverse_root_two_pi))));
    }
    case Fn::hardswish: {
      // 0 up to -3, (2x + 3) / 6 up to 3, then 1.
      const int three = to.number(3);
      const int below = to.positive(to.sub(three, x));
      const int inner = to.mul(to.add(to.add(x, x), three), to.number(Rational(1, 6)));
      const int upper = to.sub(to.number(1), below);
      return to.mul(to.positive(to.add(x, three)), to.add(to.mul(below, inner), upper));
    }
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::div:
    case Fn::join:
    case Fn::max:
    case Fn::min:
      break;
  }
  KASIMIR_CHECK(false, "{} has no derivative here", fn_info(fn).name);
}

/// What an application passes back to its operands, given what arrives at it.
std::pair<int, int> pass_back(Writer& to, const Apply& of, int value, int arrived) {
  switch (of.fn) {
    case Fn::add:
    case Fn::join:
      return {arrived, arrived};
    case Fn::sub:
      return {arrived, to.apply(Fn::neg, arrived)};
    case Fn::mul:
      return {to.mul(arrived, of.b), to.mul(arrived, of.a)};
    case Fn::div: {
      const int a = to.apply(Fn::div, arrived, of.b);
      return {a, to.apply(Fn::neg, to.mul(a, value))};
    }
    case Fn::max:
      return {to.mul(arrived, step(to, of.a, of.b)), to.mul(arrived, step(to, of.b, of.a))};
    case Fn::min:
      return {to.mul(arrived, step(to, of.b, of.a)), to.mul(arrived, step(to, of.a, of.b))};
    case Fn::neg:
      return {to.apply(Fn::neg, arrived), -1};
    case Fn::exp:
    case Fn::abs:
    case Fn::relu:
    case Fn::sqrt:
    case Fn::rsqrt:
    case Fn::sin:
    case Fn::tanh:
    case Fn::sigmoid:
    case Fn::gelu:
    case Fn::hardswish:
      break;
  }
  return {to.mul(arrived, slope(to, of.fn, of.a, value)), -1};
}

class Differentiator {
 public:
  explicit Differentiator(const BoundGraph& graph) : graph_(made_.graph), stabiliser_(graph.tensors.size(), false) {
    graph_ = graph;
    for (BoundStage& stage : graph_.stages) {
      stage.stat.reset();
      stabiliser_[static_cast<std::size_t>(stage.out)] = stage.stabiliser;
    }
    made_.forward_stages = graph_.stages.size();
    terms_.resize(graph.tensors.size());
    made_.gradient.assign(graph.tensors.size(), -1);
    made_.cotangent = tensor("d." + graph.tensors[static_cast<std::size_t>(graph.output)].name,
                             graph.tensors[static_cast<std::size_t>(graph.output)].axes);
    graph_.tensors.back().role = Role::input;
    terms_[static_cast<std::size_t>(graph.output)].push_back(made_.cotangent);
    for (std::size_t i = made_.forward_stages; i-- > 0;) pass_stage(i);
    for (std::size_t t = 0; t < made_.gradient.size(); ++t)
      if (graph.tensors[t].role == Role::weight || graph.tensors[t].role == Role::input) finished(static_cast<int>(t));
  }
  Adjoint take() { return std::move(made_); }

 private:
  int tensor(std::string name, std::vector<BasicAxis<Bound>> axes) {
    BoundTensor made;
    made.name = std::move(name);
    made.axes = std::move(axes);
    graph_.tensors.push_back(std::move(made));
    return static_cast<int>(graph_.tensors.size()) - 1;
  }
  [[nodiscard]] const BoundTensor& at(int index) const { return graph_.tensors[static_cast<std::size_t>(index)]; }

  /// A stage with one iterator per axis of a tensor, and that place in it.
  std::pair<BoundStage, BoundRead> over(int of) const {
    BoundStage stage;
    BoundRead read{of, {}};
    for (const auto& axis : at(of).axes) {
      const int iter = static_cast<int>(stage.iters.size());
      stage.iters.push_back({axis.kind, axis.extent});
      stage.left.push_back({axis.kind, {iter}});
      read.at.push_back({{{iter, 1}}, 0, {}});
    }
    return {std::move(stage), std::move(read)};
  }

  /// The tensor that holds the whole gradient by a tensor: the sum of its terms; -1 where nothing was passed back.
  int finished(int of) {
    int& gradient = made_.gradient[static_cast<std::size_t>(of)];
    const std::vector<int>& terms = terms_[static_cast<std::size_t>(of)];
    if (gradient >= 0 || terms.empty()) return gradient;
    if (terms.size() == 1) return gradient = terms[0];
    auto [stage, read] = over(of);
    Writer to(stage.nodes);
    int sum = -1;
    for (int term : terms) {
      read.tensor = term;
      const int next = to.node(read);
      sum = sum < 0 ? next : to.add(sum, next);
    }
    gradient = stage.out = tensor("d." + at(of).name, at(of).axes);
    graph_.stages.push_back(std::move(stage));
    return gradient;
  }

  /// A tensor of so many ones.
  int ones(std::int64_t extent) {
    int& known = ones_.emplace(extent, -1).first->second;
    if (known >= 0) return known;
    known = tensor("ones" + std::to_string(extent), {{AxisKind::token, extent}});
    auto [stage, read] = over(known);
    stage.out = known;
    stage.nodes = {Constant{1}};
    graph_.stages.push_back(std::move(stage));
    return known;
  }

  /// Where the stage's result stands, in its own iterators.
  static std::vector<BoundCoord> place_of(const BoundStage& stage) {
    std::vector<BoundCoord> place;
    for (const LeftAxis& axis : stage.left) {
      BoundCoord coord;
      for (int digit : axis.digits) {
        for (auto& term : coord.terms) term.second *= stage.iters[static_cast<std::size_t>(digit)].extent;
        coord.terms.emplace_back(digit, 1);
      }
      place.push_back(std::move(coord));
    }
    return place;
  }

  [[nodiscard]] bool differs(const BoundRead& read) const {
    const auto t = static_cast<std::size_t>(read.tensor);
    return at(read.tensor).role != Role::stat && t < stabiliser_.size() && !stabiliser_[t];
  }

  /// 1 where the stage's expression, node `value`, is the maximum `y`.
  static int is_largest(Writer& to, int value, int y) {
    return to.sub(to.number(1), to.positive(to.sub(y, value)));
  }

  /// For a maximum: what each of the largest gets, `dout / how many they are`.
  int share_of(const BoundStage& stage, int dout) {
    BoundStage count = stage;
    count.reduce = Reduce::sum;
    Writer to(count.nodes);
    const int value = static_cast<int>(stage.nodes.size()) - 1;
    is_largest(to, value, to.node(BoundRead{stage.out, place_of(stage)}));
    count.out = tensor(at(stage.out).name + ".ties", at(stage.out).axes);
    const int ties = count.out;
    graph_.stages.push_back(std::move(count));
    auto [share, read] = over(dout);
    Writer of(share.nodes);
    const int a = of.node(read);
    read.tensor = ties;
    of.apply(Fn::div, a, of.node(read));
    share.out = tensor(at(stage.out).name + ".share", at(stage.out).axes);
    graph_.stages.push_back(std::move(share));
    return graph_.stages.back().out;
  }

  void pass_stage(std::size_t index) {
    const BoundStage stage = graph_.stages[index];
    if (stage.stabiliser) return;
    int dout = finished(stage.out);
    if (dout < 0) return;
    const bool largest = stage.reduce == Reduce::max;
    if (largest) dout = share_of(stage, dout);

    BoundNodes nodes = stage.nodes;
    Writer to(nodes);
    std::vector<int> arrived(stage.nodes.size(), -1);
    const int root = static_cast<int>(stage.nodes.size()) - 1;
    int start = to.node(BoundRead{dout, place_of(stage)});
    if (largest) start = to.mul(start, is_largest(to, root, to.node(BoundRead{stage.out, place_of(stage)})));
    arrived[static_cast<std::size_t>(root)] = start;
    const std::vector<bool> needed = needs_gradient(stage, index);
    for (int i = root; i >= 0; --i) {
      const int here = arrived[static_cast<std::size_t>(i)];
      if (here < 0 || !needed[static_cast<std::size_t>(i)]) continue;
      const BoundNode& node = stage.nodes[static_cast<std::size_t>(i)];
      if (const auto* read = std::get_if<BoundRead>(&node)) add_term(stage, *read, prune(nodes, here), dout);
      const auto* apply = std::get_if<Apply>(&node);
      if (apply == nullptr) continue;
      const auto [a, b] = pass_back(to, *apply, i, here);
      const auto arrive = [&](int operand, int value) {
        if (operand < 0 || !needed[static_cast<std::size_t>(operand)]) return;
        int& sum = arrived[static_cast<std::size_t>(operand)];
        sum = sum < 0 ? value : to.add(sum, value);
      };
      arrive(apply->a, a);
      arrive(apply->b, b);
    }
  }

  /// Per node: some tensor with a gradient is read below it.
  [[nodiscard]] std::vector<bool> needs_gradient(const BoundStage& stage, std::size_t index) const {
    std::vector<bool> needed(stage.nodes.size(), false);
    const int mean = least_at(stage, index);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (const auto* read = std::get_if<BoundRead>(&stage.nodes[i]))
        needed[i] = differs(*read) && read->tensor != mean;
      if (const auto* apply = std::get_if<Apply>(&stage.nodes[i]))
        needed[i] = needed[static_cast<std::size_t>(apply->a)] ||
                    (apply->b >= 0 && needed[static_cast<std::size_t>(apply->b)]);
    }
    return needed;
  }

  /// A sum of `(x - m) * (x - m)` is least where m is the mean of the same x: the derivative by m is zero there. The
  /// tensor m, or -1 where the stage is no such sum.
  [[nodiscard]] int least_at(const BoundStage& stage, std::size_t index) const {
    if (stage.reduce != Reduce::sum || stage.nodes.size() != 4) return -1;
    const auto* x = std::get_if<BoundRead>(&stage.nodes[0]);
    const auto* m = std::get_if<BoundRead>(&stage.nodes[1]);
    const auto* difference = std::get_if<Apply>(&stage.nodes[2]);
    const auto* square = std::get_if<Apply>(&stage.nodes[3]);
    if (x == nullptr || m == nullptr || difference == nullptr || square == nullptr) return -1;
    if (!(*difference == Apply{Fn::sub, 0, 1}) || !(*square == Apply{Fn::mul, 2, 2})) return -1;
    for (std::size_t i = 0; i < index; ++i) {
      const BoundStage& mean = graph_.stages[i];
      if (mean.out != m->tensor) continue;
      const bool same = mean.reduce == Reduce::sum && mean.factor == stage.factor && !mean.root && !stage.root &&
                        mean.iters == stage.iters && mean.left == stage.left && mean.reduced == stage.reduced &&
                        mean.nodes == std::vector<BoundNode>{*x} && m->at == place_of(stage) && is_count(mean);
      return same ? m->tensor : -1;
    }
    return -1;
  }
  /// The factor is 1 over the number of terms.
  static bool is_count(const BoundStage& stage) {
    std::int64_t count = 1;
    for (int iter : stage.reduced) count *= stage.iters[static_cast<std::size_t>(iter)].extent;
    return stage.factor == Rational(1, count);
  }

  void add_term(const BoundStage& stage, const BoundRead& read, BoundNodes nodes, int dout) {
    Gathered made = gather(graph_, stage, read, std::move(nodes), dout);
    for (const OnesRead& of : made.ones) std::get<BoundRead>(made.stage.nodes[of.node]).tensor = ones(of.extent);
    auto& terms = terms_[static_cast<std::size_t>(read.tensor)];
    std::string name = "d." + at(read.tensor).name;
    if (!terms.empty()) name += "." + std::to_string(terms.size());
    made.stage.out = tensor(std::move(name), at(read.tensor).axes);
    terms.push_back(made.stage.out);
    graph_.stages.push_back(std::move(made.stage));
  }

  Adjoint made_;
  BoundGraph& graph_;
  std::vector<bool> stabiliser_;        ///< per tensor of the graph
  std::vector<std::vector<int>> terms_; ///< per tensor of the graph: the terms of its gradient
  std::map<std::int64_t, int> ones_;    ///< by extent
};

}  // namespace

Adjoint differentiate(const BoundGraph& graph) { return Differentiator(graph).take(); }

}  // namespace kasimir
