// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_text.h"

namespace kasimir {

/// The array of `nests` sums of nanoseconds and the functions that a timed program calls around each nest.
void write_clock(CText& text, const std::string& name, std::size_t nests);

}  // namespace kasimir
