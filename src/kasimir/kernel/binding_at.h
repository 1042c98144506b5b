// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"

#include <optional>

namespace kasimir {

/// Numbers for all symbols of a kernel at a site, but the batch; nothing if a free symbol has no value there.
std::optional<Binding> binding_at(const Kernel& kernel, const Site& site);

}  // namespace kasimir
