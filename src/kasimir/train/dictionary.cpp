// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/dictionary.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>

namespace kasimir {

TensorDictionary read_dictionary(const std::filesystem::path& path, const std::string& what) {
  const std::string bytes = read_file(path);
  try {
    const at::IValue value = torch::jit::pickle_load(std::vector<char>(bytes.begin(), bytes.end()));
    TensorDictionary dictionary;
    for (const auto& entry : value.toGenericDict())
      dictionary.insert(entry.key().toStringRef(), entry.value().toTensor());
    return dictionary;
  } catch (const c10::Error&) {
    throw input_error("{}: not {}", path.string(), what);
  }
}

void write_dictionary(const std::filesystem::path& path, const TensorDictionary& dictionary) {
  const std::vector<char> bytes = torch::jit::pickle_save(dictionary);
  write_file(path, std::string_view(bytes.data(), bytes.size()));
}

namespace {
constexpr const char* mark_name = "#mark";
}  // namespace

SavedState::SavedState(const std::filesystem::path& path, const std::string& what)
    : path_(path), what_(what), dictionary_(read_dictionary(path, what)) {
  for (const double c : numbers(mark_name)) mark_ += static_cast<char>(c);
}

at::Tensor SavedState::find(const std::string& name) const {
  const auto entry = dictionary_.find(name);
  if (entry == dictionary_.end()) throw input_error("{}: not {}, as it holds no `{}`", path_.string(), what_, name);
  return entry->value();
}

std::vector<double> SavedState::numbers(const std::string& name) const { return to_values(find(name)); }

void SavedState::restore(const NamedState& state) const {
  for (const auto& [name, tensor] : state)
    if (find(name).sizes() != tensor.sizes())
      throw input_error("{}: not {}, as `{}` is {} instead of {}", path_.string(), what_, name,
                        fmt::join(find(name).sizes(), "x"), fmt::join(tensor.sizes(), "x"));
  const at::NoGradGuard fixed;
  for (const auto& [name, tensor] : state) tensor.copy_(find(name));
}

void save_state(const std::filesystem::path& path, const std::string& mark,
                const std::map<std::string, std::vector<double>>& numbers, const NamedState& state) {
  TensorDictionary dictionary;
  for (const auto& [name, tensor] : state) dictionary.insert(name, tensor.detach().to(at::kCPU).contiguous());
  for (const auto& [name, values] : numbers) dictionary.insert(name, to_tensor(values));
  dictionary.insert(mark_name, to_tensor(std::vector<double>(mark.begin(), mark.end())));
  write_dictionary(path, dictionary);
}

at::Tensor to_tensor(const std::vector<double>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kDouble);
  std::ranges::copy(values, tensor.data_ptr<double>());
  return tensor;
}

std::vector<double> to_values(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.to(at::kDouble).contiguous();
  return {plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel()};
}

}  // namespace kasimir
