// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/onnx/node.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace kasimir {

/// An array whose values are known: a weight, a shape. Row-major.
struct OnnxConstant {
  std::vector<std::int64_t> shape;  ///< empty: one number
  std::variant<std::vector<float>, std::vector<std::int64_t>> values;

  [[nodiscard]] bool whole() const { return values.index() == 1; }
  [[nodiscard]] const std::vector<float>& floats() const { return std::get<0>(values); }
  [[nodiscard]] const std::vector<std::int64_t>& integers() const { return std::get<1>(values); }
  [[nodiscard]] std::int64_t elements() const;
};

/// Product of extents. -1 if one is negative or the product is beyond 2^40, which no array here reaches.
std::int64_t product_of(const std::vector<std::int64_t>& shape);

/// Reads tensors of ONNX files: any type of numbers of at least 8 bits, whole ones as 64 bits, others as float32;
/// stored in the model or in a file beside it.
class OnnxTensorReader {
 public:
  /// `file` is the model's path; other files are looked for in its folder and below it.
  explicit OnnxTensorReader(std::filesystem::path file) : file_(std::move(file)) {}

  /// `what` names the tensor in errors: "tensor `conv1.weight`".
  /// @throws Error (input) where the values are not as many as the shape says, the type is another, or the other file
  /// is missing, too short or elsewhere.
  [[nodiscard]] OnnxConstant read(const onnx::TensorProto& tensor, const std::string& what) const;

 private:
  [[nodiscard]] std::string outside(const onnx::TensorProto& tensor, const std::string& what, std::int64_t bytes) const;

  std::filesystem::path file_;
};

}  // namespace kasimir
