// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/search_spec.h"

#include "kasimir/network/plan.h"

namespace kasimir {

/// The data and the network of a search for the smaller images on which rung `quick` trains (`--quick-size`).
class QuickImages {
 public:
  /// Reads the data again, scaled. @throws Error (input) where the network cannot read images of that size, or has
  /// other layers then.
  QuickImages(const SearchSpec& spec, const Dataset& full, const Network& network, const LoadProgress& progress);

  /// The same images as in the full size, in the same order.
  [[nodiscard]] const Dataset& data() const { return data_; }
  /// Rejected where a kernel breaks a rule at the smaller sizes.
  [[nodiscard]] Outcome<NetworkPlan> plan(const NetworkPlan& full) const { return plan_at_size(full, made_.network); }
  /// Places of one of these images against one in full size: what training on it costs, roughly.
  [[nodiscard]] double share() const { return share_; }

 private:
  Dataset data_;
  DataNetwork made_;
  double share_;
};

}  // namespace kasimir
