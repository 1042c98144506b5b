// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <concepts>
#include <vector>

/// The meaning of stages, slow and obvious: the judge of every back end. It is a template over the domain of values, so
/// that the same loops compute numbers, derivatives, elements of a finite field, or what depends on what.
namespace kasimir {

/// A domain of values: what the function table means in it.
template <typename D>
concept ValueDomain = requires(D domain, typename D::Value v, Constant c, Rational r, bool b, Fn fn) {
  { domain.zero() } -> std::same_as<typename D::Value>;
  { domain.constant(c) } -> std::same_as<typename D::Value>;
  { domain.apply(fn, v) } -> std::same_as<typename D::Value>;
  { domain.apply(fn, v, v) } -> std::same_as<typename D::Value>;
  { domain.scale(v, r, b) } -> std::same_as<typename D::Value>;  ///< times the factor, or times its root
  { domain.stabiliser() } -> std::convertible_to<bool>;  ///< true: stabilisers are computed; false: they are zero
};

/// A domain in which a maximum over many values is not the same as one by pairs says so itself: a derivative is split
/// evenly over all ties.
template <typename D>
concept ReducesMaximum = requires(D domain, std::vector<typename D::Value> values) {
  { domain.largest(values) } -> std::same_as<typename D::Value>;
};

/// One value per element of each tensor, row-major in the order of the tensor's axes.
template <typename Value>
using TensorValues = std::vector<std::vector<Value>>;

namespace detail {

/// A read prepared for the loops: per axis the affine form, the bounds and the stride in memory.
struct PreparedAxis {
  std::vector<std::pair<int, std::int64_t>> terms;
  std::int64_t offset;
  std::int64_t wrap;  ///< 0: none
  std::int64_t extent;
  std::int64_t stride;
};

inline std::vector<PreparedAxis> prepare(const BoundGraph& graph, const BoundRead& read) {
  const BoundTensor& tensor = graph.tensors[static_cast<std::size_t>(read.tensor)];
  std::vector<PreparedAxis> axes(read.at.size());
  std::int64_t stride = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    axes[a] = {read.at[a].terms, read.at[a].offset, read.at[a].wrap.value_or(0), tensor.axes[a].extent, stride};
    stride *= tensor.axes[a].extent;
  }
  return axes;
}

/// Position of the element in memory, or -1 outside the tensor.
inline std::int64_t position(const std::vector<PreparedAxis>& axes, const std::vector<std::int64_t>& at) {
  std::int64_t place = 0;
  for (const PreparedAxis& axis : axes) {
    std::int64_t coordinate = axis.offset;
    for (const auto& [iter, factor] : axis.terms) coordinate += factor * at[static_cast<std::size_t>(iter)];
    if (axis.wrap != 0) coordinate = ((coordinate % axis.wrap) + axis.wrap) % axis.wrap;
    if (coordinate < 0 || coordinate >= axis.extent) return -1;
    place += coordinate * axis.stride;
  }
  return place;
}

/// Steps the iterators in `order` like an odometer, the last one fastest; false after the last point.
inline bool advance(const BoundStage& stage, const std::vector<int>& order, std::vector<std::int64_t>& at) {
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto iter = static_cast<std::size_t>(order[i]);
    if (++at[iter] < stage.iters[iter].extent) return true;
    at[iter] = 0;
  }
  return false;
}

/// The iterators of the result, the slowest first: digits are declared most significant first, so that an odometer over
/// them walks the result in memory order.
inline std::vector<int> result_order(const BoundStage& stage) {
  std::vector<int> order;
  for (const LeftAxis& axis : stage.left) order.insert(order.end(), axis.digits.begin(), axis.digits.end());
  return order;
}

}  // namespace detail

/// Computes one stage. `values` has a place for every tensor of the graph, holds what the stage reads and receives what
/// it defines.
template <ValueDomain Domain>
void evaluate_stage(const BoundGraph& graph, const BoundStage& stage, Domain& domain,
                    TensorValues<typename Domain::Value>& values) {
  using Value = typename Domain::Value;
  const BoundTensor& out = graph.tensors[static_cast<std::size_t>(stage.out)];
  std::vector<Value> result(static_cast<std::size_t>(elements(out)), domain.zero());
  if (stage.stabiliser && !domain.stabiliser()) {
    values[static_cast<std::size_t>(stage.out)] = std::move(result);
    return;
  }
  std::vector<std::vector<detail::PreparedAxis>> reads(stage.nodes.size());
  for (std::size_t i = 0; i < stage.nodes.size(); ++i)
    if (const auto* read = std::get_if<BoundRead>(&stage.nodes[i])) reads[i] = detail::prepare(graph, *read);

  std::vector<std::int64_t> at(stage.iters.size(), 0);
  std::vector<Value> node(stage.nodes.size(), domain.zero());
  const auto value_here = [&] {
    for (std::size_t i = 0; i < stage.nodes.size(); ++i) {
      if (const auto* read = std::get_if<BoundRead>(&stage.nodes[i])) {
        const std::int64_t place = detail::position(reads[i], at);
        node[i] =
            place < 0 ? domain.zero() : values[static_cast<std::size_t>(read->tensor)][static_cast<std::size_t>(place)];
      } else if (const auto* apply = std::get_if<Apply>(&stage.nodes[i])) {
        const Value& a = node[static_cast<std::size_t>(apply->a)];
        node[i] = apply->b < 0 ? domain.apply(apply->fn, a)
                               : domain.apply(apply->fn, a, node[static_cast<std::size_t>(apply->b)]);
      } else {
        node[i] = domain.constant(std::get<Constant>(stage.nodes[i]));
      }
    }
    return node.back();
  };
  const auto reduced_here = [&] {
    if constexpr (ReducesMaximum<Domain>) {
      if (stage.reduce == Reduce::max) {
        std::vector<Value> all{value_here()};
        while (detail::advance(stage, stage.reduced, at)) all.push_back(value_here());
        return domain.largest(all);
      }
    }
    const Fn combine = stage.reduce == Reduce::max ? Fn::max : Fn::add;
    Value total = value_here();
    while (detail::advance(stage, stage.reduced, at)) total = domain.apply(combine, total, value_here());
    return total;
  };
  const std::vector<int> order = detail::result_order(stage);
  for (Value& element : result) {
    element = domain.scale(reduced_here(), stage.factor, stage.root);
    detail::advance(stage, order, at);
  }
  values[static_cast<std::size_t>(stage.out)] = std::move(result);
}

/// Computes every stage in order. `values` holds the input, the weights and the stored statistics, and receives the
/// rest.
template <ValueDomain Domain>
void evaluate(const BoundGraph& graph, Domain& domain, TensorValues<typename Domain::Value>& values) {
  values.resize(graph.tensors.size());
  for (const BoundStage& stage : graph.stages) evaluate_stage(graph, stage, domain, values);
}

}  // namespace kasimir
