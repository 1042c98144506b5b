// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/onnx/import.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kasimir::test {

using Numbers = std::vector<std::int64_t>;
using Attribute = std::pair<const char*, std::variant<std::int64_t, float, std::string, Numbers>>;

/// Writes a small ONNX model, node after node. Values are names, which are returned.
class SmallModel {
 public:
  explicit SmallModel(std::int64_t opset = 17, const Numbers& images = {1, 3, 8, 8});

  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {}, int outputs = 1);
  /// A tensor of floats 1/8, -2/8, 3/8, .. or of these values.
  std::string tensor(const Numbers& shape, std::vector<float> values = {}, std::string name = {});
  std::string integers(const Numbers& values);
  std::string number(float value) { return tensor({}, {value}); }

  /// The file's bytes with `value` as its output.
  std::string bytes(const std::string& value);
  /// What is read of them, as `net.onnx`.
  ImportedNetwork read(const std::string& value, Shape3 input = {});
  /// The layers as "conv 3x3 3->4 pad 1 bias; relu".
  std::string layers(const std::string& value);
  /// The message of what read() throws.
  std::string message(const std::string& value, Shape3 input = {});

  onnx::ModelProto model;

 private:
  std::string fresh(const std::string& stem);
  int names_ = 0;
};

/// The class scores of an image, by the meaning of the network's stages.
std::vector<double> scores_of(const Network& network, const std::vector<double>& image);

/// Everything but the image, as SmallModel::layers.
std::string layers_of(const Network& network);

}  // namespace kasimir::test
