// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/torch.h"

#include <ATen/core/Dict.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// Tensors by name, as Python's torch.save writes and torch.load reads them.
using TensorDictionary = c10::Dict<std::string, at::Tensor>;

/// @throws Error (input): "FILE: not WHAT".
TensorDictionary read_dictionary(const std::filesystem::path& path, const std::string& what);
/// The file appears whole or not at all. @throws Error (system) if it cannot be written.
void write_dictionary(const std::filesystem::path& path, const TensorDictionary& dictionary);

/// Tensors of something that goes on later, by name: those of it itself.
using NamedState = std::vector<std::pair<std::string, at::Tensor>>;

/// What was saved of something that goes on later.
class SavedState {
 public:
  /// @throws Error (input) as read_dictionary, and if it holds no mark.
  SavedState(const std::filesystem::path& path, const std::string& what);

  /// Says of what it is.
  [[nodiscard]] const std::string& mark() const { return mark_; }
  /// @throws Error (input) if it has none of that name.
  [[nodiscard]] std::vector<double> numbers(const std::string& name) const;
  /// Copies what was saved. @throws Error (input) if a tensor is missing or has another shape; all stay as they are.
  void restore(const NamedState& state) const;

 private:
  [[nodiscard]] at::Tensor find(const std::string& name) const;

  std::filesystem::path path_;
  std::string what_;
  TensorDictionary dictionary_;
  std::string mark_;
};

/// Names of numbers begin with #, which no tensor of a network does. @throws Error (system) as write_dictionary.
void save_state(const std::filesystem::path& path, const std::string& mark,
                const std::map<std::string, std::vector<double>>& numbers, const NamedState& state);

at::Tensor to_tensor(const std::vector<double>& values);
std::vector<double> to_values(const at::Tensor& tensor);

}  // namespace kasimir
