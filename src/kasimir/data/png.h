// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/image_file.h"

#include <string_view>

namespace kasimir {

/// True if the content begins with the first four bytes of PNG's signature.
bool is_png(std::string_view content);

/// Decodes a PNG file of any colour type and depth.
/// @throws Error (input) with `name` and the reason.
DecodedImage decode_png(std::string_view content, std::string_view name);

}  // namespace kasimir
