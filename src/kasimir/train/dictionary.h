// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/torch.h"

#include <ATen/core/Dict.h>

#include <filesystem>
#include <string>
#include <vector>

namespace kasimir {

/// Tensors by name, as Python's torch.save writes and torch.load reads them.
using TensorDictionary = c10::Dict<std::string, at::Tensor>;

/// @throws Error (input): "FILE: not WHAT".
TensorDictionary read_dictionary(const std::filesystem::path& path, const std::string& what);
/// The file appears whole or not at all. @throws Error (system) if it cannot be written.
void write_dictionary(const std::filesystem::path& path, const TensorDictionary& dictionary);

at::Tensor to_tensor(const std::vector<double>& values);
std::vector<double> to_values(const at::Tensor& tensor);

}  // namespace kasimir
