// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/data/image_set.h"
#include "kasimir/network/plan.h"
#include "kasimir/train/machine.h"
#include "kasimir/train/model.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

struct ScoreInput;  // scores/score_input.h

/// What a network that nobody has trained promises, from a few passes over one batch. Higher is better. A new one is
/// a file in scores/ and a line in scores/catalog.cpp.
struct ZeroCostScore {
  std::string_view name;
  std::string_view brief;
  std::string_view source;   ///< the paper that defines it
  bool reads_images = true;  ///< false: the same for every batch
  /// Rejected where the network cannot be told from one that does not work: that is the worst value.
  Outcome<double> (*compute)(const ScoreInput& input) = nullptr;
};

std::span<const ZeroCostScore> score_catalog();
/// @throws Error (input): "unknown score `zem`, did you mean `zen`?".
const ZeroCostScore& score_named(std::string_view name);

struct ScoreOptions {
  std::uint64_t seed = 1;  ///< decides start values and random inputs
  Device device = Device::cpu;
  std::int64_t memory_limit = 0;  ///< bytes of tensors in main memory; 0: none
};

/// What came of one score.
struct ScoreResult {
  std::string name;
  std::optional<double> value;
  /// Without a value. Rules: "score: the output depends on the image", "score: the value is finite", "score: the
  /// network has activations", "score: every image has a pattern of its own", "score: memory".
  std::optional<Rejection> rejected;
  double seconds = 0;  ///< wall time, the start of the network included
};

/// These scores of the network, each of one that starts anew, on all of these images (at least 2; 64 are usual).
/// The same for the same seed. @throws Error (input): unknown names, too few images.
std::vector<ScoreResult> zero_cost_scores(const NetworkPlan& plan, const ImageSet& images,
                                          const std::vector<std::string>& names, const ScoreOptions& options = {});

/// One score of a network with the weights that it has. `model`, made of `plan`, is of no use afterwards.
Outcome<double> score_of(const ZeroCostScore& score, const NetworkPlan& plan, Model& model, const ImageSet& images,
                         std::uint64_t seed);

}  // namespace kasimir
