// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/axis.h"
#include "kasimir/kernel/function.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// The stage language: what a primitive means is one or a few equations
///
///     out[digits..] = factor * reduce over r.. of expression
///
/// The left side names mixed-radix digits, so that no iterator is ever divided; reads are at affine coordinates and
/// are zero outside the tensor. Everything behind the kernel language (interpreter, ATen, costs, later C and the
/// accelerator model) sees stages only. docs/decisions/0001-stages.md says why.
namespace kasimir {

/// Symbolic stages: one per kernel.
struct Symbolic {
  using Extent = Size;
  using Offset = SizeSum;
  using Scale = Size;
};
/// Bound stages: one per kernel, site and batch size.
struct Bound {
  using Extent = std::int64_t;
  using Offset = std::int64_t;
  using Scale = Rational;
};

template <typename V>
struct BasicIter {
  AxisKind kind;
  typename V::Extent extent;
  bool operator==(const BasicIter&) const = default;
};

/// `sum of coefficient * iterator + offset`, or that value modulo `wrap`. Iterators are indices into Stage::iters.
template <typename V>
struct BasicCoord {
  std::vector<std::pair<int, typename V::Extent>> terms;
  typename V::Offset offset{};
  std::optional<typename V::Extent> wrap;
  bool operator==(const BasicCoord&) const = default;
};

/// A number written into an equation: exact, optionally times pi/2.
struct Constant {
  Rational value;
  bool half_pi = false;
  bool operator==(const Constant&) const = default;
};

/// The element of a tensor at one coordinate per axis, zero outside.
template <typename V>
struct BasicRead {
  int tensor;
  std::vector<BasicCoord<V>> at;
  bool operator==(const BasicRead&) const = default;
};

/// A function of one or two earlier nodes; `b` is -1 for one.
struct Apply {
  Fn fn;
  int a;
  int b = -1;
  bool operator==(const Apply&) const = default;
};

template <typename V>
using BasicNode = std::variant<Constant, BasicRead<V>, Apply>;

enum class Reduce : std::uint8_t { none, sum, max };

/// An axis of the left side as digits, most significant first; no digits means extent 1.
struct LeftAxis {
  AxisKind kind;
  std::vector<int> digits;
  bool operator==(const LeftAxis&) const = default;
};

/// A batch statistic: computed in training, stored for inference, moved by `momentum` towards each batch's value.
struct Stat {
  double momentum;
  double start;
  bool operator==(const Stat&) const = default;
};

template <typename V>
struct BasicStage {
  int out = -1;  ///< tensor defined
  std::vector<BasicIter<V>> iters;
  std::vector<LeftAxis> left;  ///< axes of `out`, the batch first if it has one
  std::vector<int> reduced;    ///< iterators that are reduced
  Reduce reduce = Reduce::none;
  typename V::Scale factor{1};      ///< multiplies the reduction
  bool root = false;                ///< the factor is the square root of `factor`
  std::vector<BasicNode<V>> nodes;  ///< shared expression; each node refers to earlier ones, the last is the value
  bool stabiliser = false;          ///< any value gives the same final result (the maximum in a softmax)
  std::optional<Stat> stat;
  int step = -1;  ///< the kernel's step it came from; -1 for the final copy to the output
};

enum class Role : std::uint8_t { input, between, weight, stat };

/// What a weight does: decides its start value, its weight decay and how it is tied in a fingerprint.
enum class WeightRole : std::uint8_t {
  linear,  ///< starts normal with variance 1 / fan_in
  scale,   ///< starts at 1
  offset   ///< starts at 0
};

template <typename V>
struct BasicAxis {
  AxisKind kind;
  typename V::Extent extent;
  bool operator==(const BasicAxis&) const = default;
};

template <typename V>
struct BasicTensor {
  std::string name;
  Role role = Role::between;
  std::vector<BasicAxis<V>> axes;  ///< with the batch, for activations
  WeightRole weight_role = WeightRole::linear;
  typename V::Extent fan_in{1};  ///< weights: product of the extents that are summed over
};

template <typename V>
struct BasicGraph {
  std::vector<BasicTensor<V>> tensors;
  std::vector<BasicStage<V>> stages;  ///< in order: each tensor is defined before it is read
  int input = 0;
  int output = -1;
};

using Iter = BasicIter<Symbolic>;
using Coord = BasicCoord<Symbolic>;
using Stage = BasicStage<Symbolic>;
using Tensor = BasicTensor<Symbolic>;
using Graph = BasicGraph<Symbolic>;
using BoundIter = BasicIter<Bound>;
using BoundCoord = BasicCoord<Bound>;
using BoundRead = BasicRead<Bound>;
using BoundNode = BasicNode<Bound>;
using BoundStage = BasicStage<Bound>;
using BoundTensor = BasicTensor<Bound>;
using BoundGraph = BasicGraph<Bound>;

/// One line per stage: `y[n0<N, c(g0<G c0<Co/G), h0<H] = 1/K * sum[c1<C] x[n0, c1, h0] * w1[g0, c0, c1]`.
std::string str(const Graph& graph);
std::string str(const BoundGraph& graph);
std::string str(const Graph& graph, const Stage& stage);
std::string str(const BoundGraph& graph, const BoundStage& stage);

/// Number of elements of a bound tensor.
std::int64_t elements(const BoundTensor& tensor);
/// Number of points of the stage's whole iteration space.
std::int64_t domain(const BoundStage& stage);

/// All symbols of a symbolic graph replaced by numbers: checks that extents and coefficients are whole and extents at
/// least 1 (V4), that offsets are whole, and that digits multiply to the axis (V3).
Outcome<BoundGraph> bind(const Graph& graph, const Binding& binding);

/// Batch statistics become stored tensors (role `stat`); what is left of the graph computes inference.
BoundGraph freeze(const BoundGraph& graph);

}  // namespace kasimir
