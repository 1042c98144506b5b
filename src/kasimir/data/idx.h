// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <filesystem>

namespace kasimir {

/// True if the folder holds a file named like IDX images or labels.
bool looks_like_idx(const std::filesystem::path& folder);

/// Loads IDX files, the format of MNIST (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits"):
/// a big-endian magic number (element type 8 = unsigned byte, number of dimensions), the dimensions, the elements.
/// The classes are called 0, 1, .. up to the greatest label of the training part.
/// @throws Error (input) with the file, the bytes found and the bytes needed.
Dataset load_idx(const std::filesystem::path& folder);

}  // namespace kasimir
