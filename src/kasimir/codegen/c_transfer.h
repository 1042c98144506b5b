// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_program.h"

namespace kasimir {

/// Copies `images` images, from image `first` on, between the interface's order (`in` or `out`) and their place in the
/// workspace; `shared` among threads along the rows.
void write_images(CText& text, const BoundTensor& tensor, const TensorLayout& here, std::int64_t place,
                  ImageLayout layout, std::int64_t images, bool into, bool shared);

}  // namespace kasimir
