// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <filesystem>

namespace kasimir {

/// True if the folder holds a folder `train` or `test`.
bool looks_like_image_folder(const std::filesystem::path& root);

/// Loads `train/<class>/` and `test/<class>/`, as load_dataset describes; limits, size and memory as in the options.
Dataset load_image_folder(const std::filesystem::path& root, const LoadOptions& options, const LoadProgress& progress);

}  // namespace kasimir
