// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/decode.h"

namespace kasimir {

/// The best designs so far, each once.
class BestDesigns {
 public:
  explicit BestDesigns(std::size_t most) : most_(most) {}
  void offer(const Decoded& one);
  /// The score that another one must pass.
  [[nodiscard]] double bar() const;
  [[nodiscard]] const std::vector<Decoded>& designs() const { return designs_; }

 private:
  std::size_t most_;
  std::vector<Decoded> designs_;
};

/// Sees a design that the table lets through, with the table's cost.
using Leaf = std::function<void(const ChoiceDesign& design, double score, double cost)>;

/// Branch and bound for one table of loads that add up within their parts, each part's sum at most `target`.
/// `take` sees the leaves whose score passes best.bar(); it offers them to `best` itself. `stop` ends the search.
/// @returns whether neither the limit of nodes nor `stop` ended it.
bool search_tree(const ChoiceTable& scores, const LoadTable& table, double target, const DecodeOptions& options,
                 const BestDesigns& best, const Leaf& take, const std::function<bool()>& stop);

}  // namespace kasimir
