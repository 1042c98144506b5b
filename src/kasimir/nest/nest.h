// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"
#include "kasimir/number/format.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

/// Loop nests: stages as they are computed. A nest is one stage's loops with what follows element by element on its
/// result (`epilogue`), so that the result of a sum is finished in registers.
namespace kasimir {

/// The value of the nest's reduction, in an epilogue.
struct Reduced {
  bool operator==(const Reduced&) const = default;
};

/// A read at affine coordinates of the nest's loops, one per axis of the tensor; zero outside the tensor.
using NestNode = std::variant<Constant, BoundRead, Apply, Reduced>;

/// A function of a nest's finished result, written at the same time (its codes beside the value).
struct NestCopy {
  int out = -1;
  std::vector<BoundCoord> out_at;  ///< in the nest's loops
  std::vector<NestNode> value;     ///< Reduced stands for the result; the last node counts
};

struct Nest {
  std::string name;                ///< of the stage that it came from
  std::vector<BoundIter> loops;    ///< those of the result first, in the order of its axes, then the reduced ones
  int free = 0;                    ///< how many loops belong to the result
  int out = -1;                    ///< tensor that is written
  std::vector<BoundCoord> out_at;  ///< its coordinates: every element is written once
  Reduce reduce = Reduce::none;
  double factor = 1.0;             ///< multiplies the reduction (or the value)
  std::vector<NestNode> value;     ///< what is reduced, or the result itself; the last node counts
  std::vector<NestNode> epilogue;  ///< of the reduction's value; empty: the value itself
  std::vector<NestCopy> also;

  [[nodiscard]] std::int64_t points() const;   ///< product of all extents
  [[nodiscard]] std::int64_t results() const;  ///< product of the result's extents
};

/// Consecutive nests that run to their end for some images before the next ones begin.
struct Segment {
  std::size_t begin = 0;   ///< first nest
  std::size_t end = 0;     ///< after the last
  std::int64_t batch = 1;  ///< images at a time: a multiple of the segment's before
};

/// The extent of a loop; 1 for -1, which stands for a loop that is not there.
inline std::int64_t extent_of(const Nest& nest, int loop) {
  return loop < 0 ? 1 : nest.loops[static_cast<std::size_t>(loop)].extent;
}

/// A graph in the order in which it is computed. `prepare` depends on weights only and runs once.
struct NestProgram {
  std::vector<BoundTensor> tensors;
  std::vector<bool> known;  ///< per tensor: weights, and what is computed from nothing else
  /// Tensors of whole numbers: what is written there is rounded to the nearest one, ties to even, and clamped.
  std::map<int, IntegerFormat> codes;
  std::vector<Nest> prepare;
  std::vector<Nest> run;
  int input = 0;
  int output = -1;
  std::int64_t batch = 1;         ///< images of one run; loops and tensors hold those of their segment
  std::vector<Segment> segments;  ///< cover all of `run`
};

/// A node's reads, in a value or an epilogue, and in what is written beside.
template <typename Visit>
void for_each_read(const Nest& nest, Visit visit) {
  const auto over = [&](const std::vector<NestNode>& nodes) {
    for (const NestNode& node : nodes)
      if (const auto* read = std::get_if<BoundRead>(&node)) visit(*read);
  };
  over(nest.value);
  over(nest.epilogue);
  for (const NestCopy& copy : nest.also) over(copy.value);
}

/// The tensors that a nest writes.
template <typename Visit>
void for_each_out(const Nest& nest, Visit visit) {
  visit(nest.out);
  for (const NestCopy& copy : nest.also) visit(copy.out);
}

/// The value is the plain product of two reads, nodes 0 and 1, and the nest sums it.
bool sums_products(const Nest& nest);

/// The smallest and the largest value of a coordinate, without its wrap.
std::pair<std::int64_t, std::int64_t> range_of(const Nest& nest, const BoundCoord& coord);

/// One line: loops, reduction, expression, epilogue.
std::string str(const NestProgram& program, const Nest& nest);
/// All nests, one per line, those that run once first.
std::string str(const NestProgram& program);

}  // namespace kasimir
