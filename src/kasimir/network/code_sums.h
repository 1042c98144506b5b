// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kasimir {

/// A stage that sums products of an activation and a weight, at batch 1, in double precision: the elements of each
/// window gathered, then rows times a matrix. Sums of products of codes are exact in it, in any order, as long as they
/// stay below 2^53. Where elements lie is asked of the interpreter; nothing is shared with IntegerProduct, with which
/// results are compared.
class CodeSums {
 public:
  /// `activation` and `weight` are the two reads of the stage's product; weights are read inside.
  CodeSums(const BoundGraph& graph, const BoundStage& stage, const BoundRead& activation, const BoundRead& weight,
           std::span<const std::int32_t> weight_codes);

  /// One sum per element of the stage's result in its order, without the stage's factor. `codes`: the activation's
  /// elements.
  [[nodiscard]] std::vector<double> sums(std::span<const double> codes) const;

 private:
  /// Results that share the place along the iterators which both operands are read at.
  struct Group {
    std::vector<std::int32_t> elements;  ///< [position][term] of the activation, the one behind the last: outside
    std::vector<double> weights;         ///< [term][channel]
    std::int64_t result = 0;             ///< its first element
  };

  std::vector<Group> groups_;
  std::vector<std::int64_t> positions_;  ///< offsets in the result along what the activation alone is read at
  std::vector<std::int64_t> channels_;   ///< offsets in the result along what the weight alone is read at
  std::size_t terms_ = 1;
  std::size_t activation_elements_ = 0;
  std::size_t results_ = 0;
};

}  // namespace kasimir
