// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/parts.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace kasimir {
namespace {

constexpr std::int64_t share_apart = 5;  // one of so many images

EncodedPart chosen_part(const EncodedPart& all, const std::vector<std::int32_t>& indices) {
  EncodedPart part{chosen_files(all.files, indices), {}};
  for (const std::int32_t index : indices) part.labels.push_back(all.labels[static_cast<std::size_t>(index)]);
  return part;
}

}  // namespace

PartName part_of_name(std::string_view name) {
  const std::string lower = lower_case(name);
  if (lower.starts_with("test")) return PartName::test;
  return lower.starts_with("val") ? PartName::validation : PartName::train;
}

std::vector<std::string> numbered_classes(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

Split apart_for_test(const std::string& where, const std::vector<std::int32_t>& labels, std::uint64_t seed) {
  const std::int64_t count = std::ssize(labels) / share_apart;
  if (count == 0)
    throw input_error("{} has no test part and {} image{}, of which none can be set apart for it", where, labels.size(),
                      labels.size() == 1 ? "" : "s")
        .note(fmt::format("at least {} images are needed, or a test part", share_apart));
  Split split;
  split.validation = stratified_subset(labels, count, seed);
  std::vector<std::int32_t> all(labels.size());
  std::iota(all.begin(), all.end(), 0);
  std::ranges::set_difference(all, split.validation, std::back_inserter(split.train));
  return split;
}

std::string apart_text(std::uint64_t seed) {
  return fmt::format("; without a test part, so every fifth image is set apart for it (seed {})", seed);
}

std::string set_apart(const std::string& where, EncodedPart& train, EncodedPart& test, std::uint64_t seed) {
  const Split split = apart_for_test(where, train.labels, seed);
  test = chosen_part(train, split.validation);
  train = chosen_part(train, split.train);
  return apart_text(seed);
}

void limit_part(EncodedPart& part, std::int64_t limit, std::uint64_t seed) {
  if (limit == 0 || limit >= part.files->size()) return;
  part = chosen_part(part, stratified_subset(part.labels, limit, seed));
}

void join_corrupt(CorruptFiles& corrupt, const CorruptFiles& more) {
  corrupt.count += more.count - std::ssize(more.first);
  for (const CorruptFiles::File& file : more.first) add_corrupt(corrupt, file.name, file.reason);
}

}  // namespace kasimir
