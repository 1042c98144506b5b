// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/array_program.h"
#include "kasimir/codegen/export.h"
#include "kasimir/network/quantization.h"

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kasimir {

using OnnxAttribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;
using OnnxAttributes = std::vector<std::pair<const char*, OnnxAttribute>>;

/// An ONNX graph under construction. Values are names.
class OnnxGraph {
 public:
  explicit OnnxGraph(onnx::GraphProto& graph) : graph_(graph) {}

  /// One operator with one result, whose name it returns: `wish`, or the next free name of that beginning.
  std::string node(const char* op, std::vector<std::string> inputs, const std::string& wish,
                   const OnnxAttributes& attributes = {});
  /// A tensor of numbers; `wish` as for node().
  std::string tensor(const std::string& wish, const std::vector<std::int64_t>& shape, const std::vector<float>& values);
  /// A tensor of codes of the type INT8, UINT8 or INT32.
  std::string codes(const std::string& wish, const std::vector<std::int64_t>& shape,
                    const std::vector<std::int32_t>& values, onnx::TensorProto::DataType type);
  /// Small constants, which are shared.
  std::string integers(const std::vector<std::int64_t>& values);
  std::string indices(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values);
  std::string number(double value);

  void input(const std::string& name, const ArrayShape& shape);
  /// Gives the value another name, which becomes the graph's output.
  void output(const std::string& value, const std::string& name, const ArrayShape& shape);

 private:
  std::string fresh(const std::string& wish);

  onnx::GraphProto& graph_;
  std::set<std::string> taken_;
  std::map<std::string, int> numbers_;  ///< how many names of that beginning there are
  std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>, std::string> integers_;
  std::map<double, std::string> floats_;
};

/// Weights and stored statistics of a kernel's program, by tensor of its graph.
using OnnxTensors = std::map<int, const NamedTensor*>;

/// The quantised weights among them.
using OnnxPlaces = std::map<int, const QuantizedPlace*>;

/// Adds a kernel to the graph; returns the name of its result. Names begin with `layer`.
std::string add_to_onnx(OnnxGraph& onnx, const BoundGraph& graph, const OnnxTensors& tensors, const OnnxPlaces& places,
                        const std::string& input, const std::string& layer);

}  // namespace kasimir
