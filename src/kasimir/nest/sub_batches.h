// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/nest/nest.h"

namespace kasimir {

/// Cuts the batch so that what consecutive nests exchange stays in a cache of so many bytes: maps of one size are a
/// segment, which runs to its end for some images before the next begins. Large maps get few images at a time, small
/// ones many, so that deep layers read their weights once for many images. Every segment's images are a multiple of the
/// one before and divide the batch, and at most `most` images.
NestProgram with_sub_batches(const NestProgram& program, std::int64_t cache_bytes, std::int64_t most);

}  // namespace kasimir
