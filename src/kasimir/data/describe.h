// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"
#include "kasimir/data/split.h"

#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// Of one class, or one class of pixels where the targets are masks.
struct ClassCount {
  std::string name;
  std::int64_t train = 0;
  std::int64_t test = 0;
};

/// Of one value of the training part, in its own unit.
struct TargetRange {
  std::string name;
  double mean = 0;
  double deviation = 0;
  double low = 0;
  double high = 0;
};

struct DatasetFacts {
  std::vector<ClassCount> classes;  ///< none where the targets are values
  std::vector<TargetRange> values;
  std::int64_t empty_classes = 0;  ///< without a training image
  double imbalance = 1;            ///< the most frequent class against the rarest one that has any training image
  ChannelStatistics channels;      ///< of the training part
};

/// From this ratio on a search says that the classes are out of balance. A judgement.
inline constexpr double notable_imbalance = 3;

DatasetFacts describe(const Dataset& data);
/// One line about classes out of balance or without images; nothing where there is nothing to say.
std::optional<std::string> imbalance_text(const Dataset& data);
/// "classes", "values" or "masks".
std::string target_name(TargetKind target);

}  // namespace kasimir
