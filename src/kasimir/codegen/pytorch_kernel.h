// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"

#include <string>

namespace kasimir {

/// One kernel at one site as the source of a `torch.nn.Module` class.
struct PytorchKernel {
  std::string source;
  bool has_statistics = false;  ///< it calls `follow(stored, batch, momentum)`
};

/// @param rows, columns zeros that the input needs below and on the right to be as large as the site says.
PytorchKernel pytorch_kernel(const Kernel& kernel, const Site& site, std::int64_t rows, std::int64_t columns,
                             const std::string& class_name);

/// Text that may stand in a Python docstring.
std::string docstring_text(std::string text);

}  // namespace kasimir
