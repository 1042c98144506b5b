// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/primitive.h"

namespace kasimir {

/// Every primitive, in the order of the list in primitive/CMakeLists.txt.
Catalog catalog();

}  // namespace kasimir
