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
