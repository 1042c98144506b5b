// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace kasimir {

/// One stage under construction: iterators by kind, the left side in the order in which it is declared.
class Equation {
 public:
  BoundStage stage;

  BoundCoord left(AxisKind kind, std::int64_t extent) {
    const BoundCoord digit = iter(kind, extent);
    stage.left.push_back({kind, {digit.terms[0].first}});
    return digit;
  }
  /// An axis of the left side as two digits.
  std::pair<BoundCoord, BoundCoord> left(AxisKind kind, std::int64_t high, std::int64_t low) {
    const BoundCoord first = left(kind, high);
    const BoundCoord second = iter(kind, low);
    stage.left.back().digits.push_back(second.terms[0].first);
    return {first, second};
  }
  BoundCoord reduced(AxisKind kind, std::int64_t extent) {
    const BoundCoord digit = iter(kind, extent);
    stage.reduced.push_back(digit.terms[0].first);
    return digit;
  }
  int read(int tensor, std::vector<BoundCoord> at) { return node(BoundRead{tensor, std::move(at)}); }
  int apply(Fn fn, int a, int b = -1) { return node(Apply{fn, a, b}); }
  int constant(Rational value) { return node(Constant{value}); }

 private:
  BoundCoord iter(AxisKind kind, std::int64_t extent) {
    stage.iters.push_back({kind, extent});
    return {{{static_cast<int>(stage.iters.size()) - 1, 1}}, 0, {}};
  }
  int node(BoundNode node) {
    stage.nodes.push_back(std::move(node));
    return static_cast<int>(stage.nodes.size()) - 1;
  }
};

/// A coordinate times a factor.
inline BoundCoord times(std::int64_t factor, BoundCoord coord) {
  for (auto& term : coord.terms) term.second *= factor;
  coord.offset *= factor;
  return coord;
}

/// The sum of two coordinates and a number.
inline BoundCoord plus(BoundCoord a, const BoundCoord& b, std::int64_t offset = 0) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.offset += b.offset + offset;
  return a;
}

}  // namespace kasimir
