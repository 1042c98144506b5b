// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <filesystem>

namespace kasimir {

/// True if the folder holds files named like those of CIFAR-10 or CIFAR-100, whether binary or pickled.
bool looks_like_cifar(const std::filesystem::path& folder);

/// Loads the binary version of CIFAR-10 or CIFAR-100 (A. Krizhevsky, "Learning multiple layers of features from tiny
/// images", 2009): records of 1 label byte (CIFAR-100: the coarse, then the fine label) and 3 x 32 x 32 pixel bytes.
/// Without a file of names the classes are called 0, 1, .. and the description says so.
/// @throws Error (input) with the file, the bytes found and the bytes needed, or the label out of range.
Dataset load_cifar(const std::filesystem::path& folder);

}  // namespace kasimir
