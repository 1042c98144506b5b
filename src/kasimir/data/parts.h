// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/encoded.h"
#include "kasimir/data/split.h"

#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// More classes than these are taken for labels that are none.
inline constexpr std::int64_t most_classes = 100000;

enum class PartName { train, validation, test };

/// Of which part a file or an array is by its name: it begins with `test`, or with `val`, or else it is to train on.
PartName part_of_name(std::string_view name);

/// "0", "1", .. below `count`.
std::vector<std::string> numbered_classes(std::int64_t count);

/// Every fifth image of each class for testing, where a data set has no test part; chosen at random for the seed.
/// `validation` of the result is the test part. @throws Error (input) if either would be empty.
Split apart_for_test(const std::string& where, const std::vector<std::int32_t>& labels, std::uint64_t seed);
/// The words for Dataset::description.
std::string apart_text(std::uint64_t seed);

/// Moves every fifth image to the test part. @return apart_text()
std::string set_apart(const std::string& where, EncodedPart& train, EncodedPart& test, std::uint64_t seed);
/// Cuts a part down to its limit before its images are decoded; 0: all.
void limit_part(EncodedPart& part, std::int64_t limit, std::uint64_t seed);
/// Adds to what is corrupt what another part has.
void join_corrupt(CorruptFiles& corrupt, const CorruptFiles& more);

}  // namespace kasimir
