// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/order_class.h"

#include <bit>
#include <memory>

/// Nodes of the tree of BranchAndBound.
namespace kasimir {

/// Numbers of a group's choices, ascending; many nodes have the same.
using ChoiceList = std::shared_ptr<const std::vector<std::uint32_t>>;

inline ChoiceList shared_choices(std::vector<std::uint32_t> choices) {
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(choices));
}

/// Mappings in some orders of their loops.
struct BranchNode {
  std::size_t costs = 0;  // which choice of keeps
  OrderClass orders;
  std::size_t decided = 0;          // levels, from the outermost
  std::uint32_t placed = 0;         // groups whose columns and rows are decided
  std::vector<ChoiceList> choices;  // of each group, that no bound has dropped
  std::vector<double> point;        // of LogBound
  double bound = 0;
  int steps = 0;             // of LogBound that its own bound has yet to take; 0: it has it
  bool undominated = false;  // choices that others beat in all components are gone
  std::size_t number = 0;    // in the order of making
};

/// Decisions that were made.
inline std::size_t depth(const BranchNode& node) {
  return node.decided + static_cast<std::size_t>(std::popcount(node.placed));
}

inline bool all_placed(const BranchNode& node) {
  return static_cast<std::size_t>(std::popcount(node.placed)) == node.choices.size();
}

/// Whether all is decided, but for so many levels, and bounds of loops are next.
inline bool ends(const BranchNode& node, std::size_t but_for = 0) {
  return all_placed(node) && node.decided + but_for == node.orders.size();
}

/// The lowest bound first.
inline bool later(const BranchNode& a, const BranchNode& b) {
  return a.bound != b.bound ? a.bound > b.bound : depth(a) != depth(b) ? depth(a) < depth(b) : a.number > b.number;
}

}  // namespace kasimir
