// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/target.h"

#include <functional>
#include <limits>
#include <vector>

namespace kasimir {

/// A design that was decoded.
struct Decoded {
  ChoiceDesign design;
  double score = 0;
  double cost = 0;
};

struct DecodeOptions {
  std::size_t best = 8;        ///< designs wanted
  std::size_t top = 0;         ///< choices of a block that are considered, by score, besides its cheapest; 0: all
  std::size_t nodes = 300000;  ///< of the tree, at most
  std::size_t looks = 0;  ///< costs asked at leaves, at most, where the bound is not exact; 0: what the target affords
};

/// What the designs must cost at most, by whom.
struct CostLimit {
  double target = std::numeric_limits<double>::infinity();
  HardwareTarget::Bound bound;
  std::function<double(const ChoiceDesign&)> cost;
  std::size_t looks = 2000;  ///< that the target affords
};
/// Costs on the best accelerator for each design.
CostLimit adapted_limit(HardwareTarget& hardware, double target, const ChoiceDesign& near);
/// Costs on one accelerator that stays.
CostLimit fixed_limit(HardwareTarget& hardware, const Accelerator& accelerator, double target);

struct DecodeAnswer {
  std::vector<Decoded> designs;  ///< by falling score; all cost at most the target
  bool exact = false;            ///< proved: no design of the choices considered has a better score than the first
};

/// The designs of the largest sum of scores [block][operator][bits] among those that cost at most the target. A score
/// of minus infinity rules a choice out.
///
/// Branch and bound over blocks: a partial design is dropped if the loads of some part pass the target with the least
/// loads to come, or if the Lagrangian bound, sum of (score - lambda . loads) + lambda . target with the multipliers
/// that are best at the root, is not above what was found. Where the bound is not exact, leaves ask for the cost; when
/// `looks` are used up, the bound's table is decoded again for targets scaled by what the costs were, and the designs
/// are improved one block at a time. Costs that are products (energy times delay) are decoded as sums
/// (w E + D / w) / 2 <= sqrt(target), which implies the limit, for w^2 over the range of D / E of single choices.
DecodeAnswer decode(const ChoiceTable& scores, const CostLimit& limit, const DecodeOptions& options = {});

}  // namespace kasimir
