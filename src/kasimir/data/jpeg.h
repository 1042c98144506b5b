// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/image_file.h"

#include <string_view>

namespace kasimir {

/// True if the content begins as JPEG files do.
bool is_jpeg(std::string_view content);

/// Decodes a JPEG file. What libjpeg only warns of is an error here if it costs pixels: data that ends early, bad
/// codes.
/// @throws Error (input) with `name` and libjpeg's reason.
DecodedImage decode_jpeg(std::string_view content, std::string_view name);

}  // namespace kasimir
