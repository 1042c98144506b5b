// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/array_program.h"

#include "kasimir/base/error.h"
#include "kasimir/codegen/array_builder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

namespace kasimir {
namespace {

std::vector<int> left_of(const BoundStage& stage) {
  std::vector<int> iters;
  for (const LeftAxis& axis : stage.left) iters.insert(iters.end(), axis.digits.begin(), axis.digits.end());
  return iters;
}

bool has(const std::vector<int>& iters, int iter) { return std::ranges::count(iters, iter) > 0; }

/// One stage on its way to arrays.
class StageProgram {
 public:
  StageProgram(ArrayBuilder& build, const BoundGraph& graph, const BoundStage& stage, const std::vector<int>& held)
      : build_(build), graph_(graph), stage_(stage), held_(held), order_(left_of(stage)), views_(stage.nodes.size()) {
    order_.insert(order_.end(), stage.reduced.begin(), stage.reduced.end());
    factor_ = stage.root ? std::sqrt(stage.factor.value()) : stage.factor.value();
  }

  int run() {
    for (const auto form :
         {&StageProgram::convolution, &StageProgram::concatenation, &StageProgram::batch_norm, &StageProgram::einsum})
      if (const auto value = (this->*form)()) return *value;
    return broadcast();
  }

 private:
  [[nodiscard]] const BoundNode& node(int index) const { return stage_.nodes[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int root() const { return static_cast<int>(stage_.nodes.size()) - 1; }
  [[nodiscard]] const BoundRead* read(int index) const { return std::get_if<BoundRead>(&node(index)); }
  [[nodiscard]] const Apply* apply(int index, Fn fn) const {
    const auto* found = std::get_if<Apply>(&node(index));
    return found != nullptr && found->fn == fn ? found : nullptr;
  }
  [[nodiscard]] std::int64_t extent(int iter) const { return stage_.iters[static_cast<std::size_t>(iter)].extent; }
  [[nodiscard]] int held(int tensor) const { return held_[static_cast<std::size_t>(tensor)]; }

  const ArrayView& view(int index) {
    auto& known = views_[static_cast<std::size_t>(index)];
    if (!known) known = read_view(build_, stage_, *read(index), held(read(index)->tensor));
    return *known;
  }

  void collect_iters(int index, std::vector<int>& found) {
    if (read(index) != nullptr) {
      const std::vector<int>& iters = view(index).iters;
      found.insert(found.end(), iters.begin(), iters.end());
    } else if (const auto* made = std::get_if<Apply>(&node(index))) {
      collect_iters(made->a, found);
      if (made->b >= 0) collect_iters(made->b, found);
    }
  }
  /// What a node depends on, in the stage's order.
  std::vector<int> iters_of(int index) {
    std::vector<int> found;
    collect_iters(index, found);
    std::vector<int> sorted;
    std::ranges::copy_if(order_, std::back_inserter(sorted), [&](int iter) { return has(found, iter); });
    return sorted;
  }

  /// A node with one dimension per iterator of `order`.
  int value(int index, const std::vector<int>& order, std::map<int, int>& known) {
    if (const auto found = known.find(index); found != known.end()) return found->second;
    int result = -1;
    if (read(index) != nullptr) {
      result = aligned(build_, view(index), order);
    } else if (const auto* constant = std::get_if<Constant>(&node(index))) {
      result = build_.number(constant->value.value() * (constant->half_pi ? std::numbers::pi / 2 : 1.0));
    } else {
      const auto& made = std::get<Apply>(node(index));
      const int a = value(made.a, order, known);
      result = made.b < 0 ? build_.apply(made.fn, a) : build_.apply(made.fn, a, value(made.b, order, known));
    }
    known[index] = result;
    return result;
  }

  std::optional<int> convolution() {
    if (stage_.reduce != Reduce::sum || stage_.nodes.size() != 3) return std::nullopt;
    const Apply* product = apply(root(), Fn::mul);
    if (product == nullptr || read(product->a) == nullptr || read(product->b) == nullptr) return std::nullopt;
    const auto is_weight = [&](int index) {
      return graph_.tensors[static_cast<std::size_t>(read(index)->tensor)].role == Role::weight;
    };
    if (is_weight(product->a) == is_weight(product->b)) return std::nullopt;
    const auto [activation, weight] =
        is_weight(product->b) ? std::pair(product->a, product->b) : std::pair(product->b, product->a);
    return convolution_of(build_, graph_, stage_, *read(activation), *read(weight), held_);
  }

  /// `a | b` end to end along one iterator: both reads are cut to what is inside.
  std::optional<int> concatenation() {
    const Apply* join = apply(root(), Fn::join);
    if (stage_.reduce != Reduce::none || factor_ != 1.0 || join == nullptr) return std::nullopt;
    const BoundRead* a = read(join->a);
    const BoundRead* b = read(join->b);
    if (a == nullptr || b == nullptr || a->at.size() != b->at.size()) return std::nullopt;
    for (std::size_t axis = 0; axis < a->at.size(); ++axis) {
      const BoundCoord& first = a->at[axis];
      const std::int64_t seam = graph_.tensors[static_cast<std::size_t>(a->tensor)].axes[axis].extent;
      const std::int64_t rest = graph_.tensors[static_cast<std::size_t>(b->tensor)].axes[axis].extent;
      if (first.terms.size() != 1 || first.terms[0].second != 1 || first.offset != 0 || first.wrap) continue;
      const int along = first.terms[0].first;
      if (b->at[axis] != BoundCoord{first.terms, -seam, {}} || extent(along) != seam + rest) continue;
      BoundStage in_a = stage_;
      BoundStage in_b = stage_;
      in_a.iters[static_cast<std::size_t>(along)].extent = seam;
      in_b.iters[static_cast<std::size_t>(along)].extent = rest;
      BoundRead moved = *b;
      moved.at[axis].offset = 0;
      const int left = aligned(build_, read_view(build_, in_a, *a, held(a->tensor)), order_);
      const int right = aligned(build_, read_view(build_, in_b, moved, held(b->tensor)), order_);
      const auto dim = std::ranges::find(order_, along) - order_.begin();
      ArrayShape one = build_.shape(left);
      ArrayShape other = build_.shape(right);
      one[static_cast<std::size_t>(dim)] = other[static_cast<std::size_t>(dim)] = 1;
      if (one != other) continue;
      return to_axes(build_, stage_, {build_.concat({left, right}, dim), order_});
    }
    return std::nullopt;
  }

  /// The operands of a commutative application, the one that `first` accepts before the other.
  template <typename Accepts>
  std::optional<std::pair<int, int>> either_way(const Apply* made, Accepts first) const {
    if (made == nullptr) return std::nullopt;
    if (first(made->a)) return std::pair(made->a, made->b);
    if (first(made->b)) return std::pair(made->b, made->a);
    return std::nullopt;
  }

  /// `(x - mean) * rsqrt(variance + epsilon) * scale + offset` along axis 1, the statistics stored.
  std::optional<int> batch_norm() {
    if (stage_.reduce != Reduce::none || factor_ != 1.0) return std::nullopt;
    const auto makes = [&](Fn fn) { return [this, fn](int index) { return apply(index, fn) != nullptr; }; };
    const auto sum = either_way(apply(root(), Fn::add), makes(Fn::mul));
    const auto scaled = sum ? either_way(apply(sum->first, Fn::mul), makes(Fn::mul)) : std::nullopt;
    const auto unit = scaled ? either_way(apply(scaled->first, Fn::mul), makes(Fn::sub)) : std::nullopt;
    const Apply* inverse = unit ? apply(unit->second, Fn::rsqrt) : nullptr;
    if (inverse == nullptr) return std::nullopt;
    const auto spread = either_way(apply(inverse->a, Fn::add), [&](int index) { return read(index) != nullptr; });
    if (!spread) return std::nullopt;
    const auto* epsilon = std::get_if<Constant>(&node(spread->second));
    const Apply* centred = apply(unit->first, Fn::sub);
    if (epsilon == nullptr || epsilon->half_pi || read(centred->a) == nullptr) return std::nullopt;
    std::array<int, 5> operands{};
    const std::array<int, 4> vectors{scaled->second, sum->second, centred->b, spread->first};
    const std::vector<int> left = left_of(stage_);
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      const BoundRead* vector = read(vectors[i]);
      if (vector == nullptr || graph_.tensors[static_cast<std::size_t>(vector->tensor)].role == Role::between)
        return std::nullopt;
      const ArrayView& seen = view(vectors[i]);
      if (seen.iters.size() != 1 || seen.iters[0] != left[1]) return std::nullopt;
      operands[i + 1] = seen.value;
    }
    const bool plain = std::ranges::all_of(stage_.left, [](const LeftAxis& axis) { return axis.digits.size() == 1; });
    operands[0] = aligned(build_, view(centred->a), left);
    if (!plain || build_.shape(operands[0]) != result_shape(left)) return std::nullopt;
    return build_.batch_norm(operands, epsilon->value.value());
  }

  [[nodiscard]] ArrayShape result_shape(const std::vector<int>& iters) const {
    ArrayShape shape;
    for (int iter : iters)
      shape.push_back(stage_.iters[static_cast<std::size_t>(iter)].kind == AxisKind::batch ? any_batch : extent(iter));
    return shape;
  }

  void split_product(int index, std::vector<int>& factors, double& number) {
    if (const auto* constant = std::get_if<Constant>(&node(index))) {
      number *= constant->value.value() * (constant->half_pi ? std::numbers::pi / 2 : 1.0);
    } else if (const Apply* product = apply(index, Fn::mul)) {
      split_product(product->a, factors, number);
      split_product(product->b, factors, number);
    } else {
      factors.push_back(index);
    }
  }

  /// A letter per iterator: its kind's where it is free.
  [[nodiscard]] std::map<int, char> letters() const {
    std::map<int, char> names;
    std::string free = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const auto take = [&](int iter, std::size_t at) {
      names[iter] = free[at];
      free.erase(at, 1);
    };
    std::vector<int> rest;
    for (int iter : order_) {
      const std::size_t own = free.find(axis_letter(stage_.iters[static_cast<std::size_t>(iter)].kind));
      if (own == std::string::npos) {
        rest.push_back(iter);
      } else {
        take(iter, own);
      }
    }
    for (int iter : rest) take(iter, 0);
    return names;
  }

  /// A sum of a product whose factors differ in their iterators; others are multiplied and summed in place.
  std::optional<int> einsum() {
    if (stage_.reduce != Reduce::sum) return std::nullopt;
    std::vector<int> factors;
    double number = factor_;
    split_product(root(), factors, number);
    if (factors.size() < 2) return std::nullopt;
    std::vector<std::vector<int>> iters;
    for (int factor : factors) iters.push_back(iters_of(factor));
    if (std::ranges::all_of(iters, [&](const auto& some) { return some == iters[0]; })) return std::nullopt;
    for (std::size_t i = 0; i < factors.size(); ++i)  // an einsum takes dimensions in any order
      if (read(factors[i]) != nullptr) iters[i] = view(factors[i]).iters;
    const auto names = letters();
    std::string equation;
    std::vector<int> operands;
    std::vector<int> seen;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (i > 0) equation += ',';
      for (int iter : iters[i]) equation += names.at(iter);
      seen.insert(seen.end(), iters[i].begin(), iters[i].end());
      std::map<int, int> known;
      operands.push_back(value(factors[i], iters[i], known));
    }
    for (int iter : stage_.reduced)
      if (!has(seen, iter)) number *= static_cast<double>(extent(iter));
    std::vector<int> left;
    equation += "->";
    for (int iter : left_of(stage_)) {
      if (!has(seen, iter)) continue;
      left.push_back(iter);
      equation += names.at(iter);
    }
    int& smallest = *std::ranges::min_element(operands, {}, [&](int operand) { return build_.volume(operand); });
    smallest = build_.scale(smallest, number);
    const int sum = build_.einsum(equation, operands, result_shape(left));
    return to_axes(build_, stage_, {sum, left});
  }

  /// The order in which an expression is worked out: as the read with most dimensions comes, so that it need not turn.
  std::vector<int> natural_order() {
    std::vector<int> order;
    for (int i = 0; i <= root(); ++i)
      if (read(i) != nullptr && view(i).iters.size() > order.size()) order = view(i).iters;
    std::ranges::copy_if(order_, std::back_inserter(order), [&](int iter) { return !has(order, iter); });
    return order;
  }

  /// Functions with broadcasting, then the reduction.
  int broadcast() {
    const std::vector<int> order = natural_order();
    std::map<int, int> known;
    int result = value(root(), order, known);
    KASIMIR_CHECK(build_.shape(result).size() == order.size(), "a stage of {} iterators gives {} dimensions",
                  order.size(), build_.shape(result).size());
    double points = 1.0;
    double idle = 1.0;  // a sum over what the expression does not depend on multiplies it
    bool over_batch = false;
    ArrayShape dims;
    std::vector<int> left;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!has(stage_.reduced, order[i])) {
        left.push_back(order[i]);
        continue;
      }
      const auto dim = static_cast<std::int64_t>(i);
      (build_.extent(result, dim) == 1 ? idle : points) *= static_cast<double>(extent(order[i]));
      over_batch = over_batch || build_.extent(result, dim) == any_batch;
      dims.push_back(dim);
    }
    if (stage_.reduce == Reduce::sum) factor_ *= idle;
    const bool mean = stage_.reduce == Reduce::sum && std::abs(factor_ * points - 1.0) < 1e-12;
    KASIMIR_CHECK(mean || !over_batch, "a reduction over the batch that is no mean: {}", str(graph_, stage_));
    const array::Fold fold = mean                           ? array::Fold::mean
                             : stage_.reduce == Reduce::max ? array::Fold::max
                                                            : array::Fold::sum;
    result = build_.reduce(result, fold, dims);
    if (!mean) result = build_.scale(result, factor_);
    return to_axes(build_, stage_, {result, left});
  }

  ArrayBuilder& build_;
  const BoundGraph& graph_;
  const BoundStage& stage_;
  const std::vector<int>& held_;  ///< by tensor
  std::vector<int> order_;        ///< left iterators, then reduced ones
  std::vector<std::optional<ArrayView>> views_;
  double factor_ = 1.0;
};

int softmax_value(ArrayBuilder& build, const SoftmaxStages& stages, const std::vector<int>& held) {
  const int x = held[static_cast<std::size_t>(stages.source)];
  const ArrayShape& shape = build.shape(x);
  const ArrayShape cut(shape.begin() + stages.first, shape.begin() + stages.last + 1);
  const int flat = build.softmax(build.flatten(x, stages.first, stages.last), stages.first);
  return build.unflatten(flat, stages.first, cut);
}

}  // namespace

ArrayProgram array_program(const BoundGraph& graph) {
  ArrayBuilder build;
  std::vector<int> held(graph.tensors.size(), -1);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role == Role::between) continue;
    ArrayShape shape;
    for (const auto& axis : graph.tensors[t].axes)
      shape.push_back(axis.kind == AxisKind::batch ? any_batch : axis.extent);
    held[t] = build.given(static_cast<int>(t), std::move(shape));
  }
  std::vector<std::optional<SoftmaxStages>> softmax(graph.stages.size());
  std::vector<bool> joined(graph.stages.size(), false);
  for (std::size_t i = 0; i < graph.stages.size(); ++i) {
    softmax[i] = softmax_ending_at(graph, i);
    if (!softmax[i]) continue;
    for (std::size_t before : softmax[i]->before) joined[before] = true;
  }
  ArrayProgram program;
  for (std::size_t i = 0; i < graph.stages.size(); ++i) {
    if (joined[i]) continue;
    const BoundStage& stage = graph.stages[i];
    const int value =
        softmax[i] ? softmax_value(build, *softmax[i], held) : StageProgram(build, graph, stage, held).run();
    // A statistic is either computed or stored: nobody may read what only one of the two has.
    if (stage.stat) build.seal(value);
    held[static_cast<std::size_t>(stage.out)] = value;
    program.stages.push_back({i, stage.out, value});
  }
  program.result = held[static_cast<std::size_t>(graph.output)];
  program.values = std::move(build).take();
  return program;
}

std::vector<bool> ArrayProgram::needed() const {
  std::vector<bool> used(values.size(), false);
  for (const ArrayStage& stage : stages) used[static_cast<std::size_t>(stage.value)] = true;
  for (std::size_t i = values.size(); i-- > 0;)
    if (used[i])
      for (int operand : values[i].operands) used[static_cast<std::size_t>(operand)] = true;
  return used;
}

}  // namespace kasimir
