// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/describe.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>

namespace kasimir {
namespace {

void count_targets(const Dataset& data, const ImageSet& set, std::int64_t ClassCount::* part, DatasetFacts& facts) {
  if (data.target == TargetKind::masks) {
    for (const std::uint8_t value : set.masks) ++(facts.classes[value].*part);
  } else {
    for (const std::int32_t label : set.labels) ++(facts.classes[static_cast<std::size_t>(label)].*part);
  }
}

void count_classes(const Dataset& data, DatasetFacts& facts) {
  for (const std::string& name : data.classes) facts.classes.push_back({name, 0, 0});
  count_targets(data, data.train, &ClassCount::train, facts);
  count_targets(data, data.test, &ClassCount::test, facts);
  std::int64_t most = 0;
  std::int64_t least = 0;
  for (const ClassCount& one : facts.classes) {
    if (one.train == 0) {
      ++facts.empty_classes;
      continue;
    }
    most = std::max(most, one.train);
    least = least == 0 ? one.train : std::min(least, one.train);
  }
  if (least > 0) facts.imbalance = static_cast<double>(most) / static_cast<double>(least);
}

void describe_values(const Dataset& data, DatasetFacts& facts) {
  const std::size_t count = data.classes.size();
  for (std::size_t k = 0; k < count; ++k) {
    const ValueScale& scale = data.scales[k];
    float low = data.train.values[k];
    float high = low;
    for (std::size_t i = k; i < data.train.values.size(); i += count) {
      low = std::min(low, data.train.values[i]);
      high = std::max(high, data.train.values[i]);
    }
    facts.values.push_back({data.classes[k], scale.mean, scale.deviation,
                            scale.mean + scale.deviation * static_cast<double>(low),
                            scale.mean + scale.deviation * static_cast<double>(high)});
  }
}

}  // namespace

DatasetFacts describe(const Dataset& data) {
  DatasetFacts facts;
  facts.channels = channel_statistics(data.train, every_index(data.train));
  if (data.target == TargetKind::values) {
    describe_values(data, facts);
  } else {
    count_classes(data, facts);
  }
  return facts;
}

std::optional<std::string> imbalance_text(const Dataset& data) {
  if (data.target == TargetKind::values) return std::nullopt;
  DatasetFacts facts;
  count_classes(data, facts);
  std::vector<std::string> parts;
  if (facts.imbalance > notable_imbalance) {
    const auto by_count = [](const ClassCount& a, const ClassCount& b) { return a.train < b.train; };
    std::vector<ClassCount> used = facts.classes;
    std::erase_if(used, [](const ClassCount& one) { return one.train == 0; });
    const ClassCount& most = *std::ranges::max_element(used, by_count);
    const ClassCount& least = *std::ranges::min_element(used, by_count);
    parts.push_back(fmt::format("classes are out of balance: {} has {} training {}, {} has {} ({:.1f} times as many)",
                                most.name, grouped(most.train), data.target == TargetKind::masks ? "pixels" : "images",
                                least.name, grouped(least.train), facts.imbalance));
  }
  if (facts.empty_classes > 0)
    parts.push_back(fmt::format("{} class{} no training image", grouped(facts.empty_classes),
                                facts.empty_classes == 1 ? " has" : "es have"));
  if (parts.empty()) return std::nullopt;
  return join(parts, "; ");
}

std::string target_name(TargetKind target) {
  switch (target) {
    case TargetKind::classes:
      return "classes";
    case TargetKind::values:
      return "values";
    case TargetKind::masks:
      return "masks";
  }
  KASIMIR_CHECK(false, "target {}", static_cast<int>(target));
}

}  // namespace kasimir
