// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <string>
#include <vector>

namespace kasimir {

/// The texts that a pattern stands for, as the shell writes it: `{000..012}` counts with the digits of the first
/// number,
/// `{a,b}` lists. @throws Error (input) for a brace without its partner, and for more than a million texts.
std::vector<std::string> expand_braces(const std::string& pattern);

/// True for a name that ends with .tar, with braces or without, and for a folder that holds such files itself or in
/// train/.
bool looks_like_webdataset(const std::string& where);

/// Loads tar shards of the WebDataset convention: members of one sample follow each other and have one key, their name
/// up to the first dot of its last part. An image is .jpg, .jpeg or .png; its class is in .cls or .txt (a number or a
/// name) or in .json (a number or a name, under `label`, `cls` or `class`).
/// A shard is of the test part if its name begins with `test`, or if it lies in test/; where no such is there, one
/// whose name begins with `val`; where neither is there, every fifth image of each class is set apart, at random for
/// the seed. Classes are numbers if all labels are, else the names in byte order. A sample that lacks its image or
/// label, and a shard that ends early, count as corrupt.
/// @throws Error (input) as load_dataset.
Dataset load_webdataset(const std::string& where, const LoadOptions& options, const LoadProgress& progress);

}  // namespace kasimir
