// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <filesystem>

namespace kasimir {

/// True if the folder, or train/ in it, holds folders images/ and masks/.
bool looks_like_mask_folder(const std::filesystem::path& root);

/// Loads `train/images/` and `train/masks/` with the same in `test/`, or `images/` and `masks/` alone, of which every
/// fifth is then set apart for testing. A picture and its mask have equal stems; a mask is a grey PNG file whose pixels
/// are classes, where 0 and 255 alone stand for 0 and 1. With LoadOptions::resize masks take the nearest pixel.
/// @throws Error (input) as load_dataset.
Dataset load_mask_folder(const std::filesystem::path& root, const LoadOptions& options, const LoadProgress& progress);

}  // namespace kasimir
