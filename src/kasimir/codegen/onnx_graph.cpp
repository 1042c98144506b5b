// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/onnx_graph.h"

#include "kasimir/base/error.h"

namespace kasimir {
namespace {

void set_attribute(onnx::AttributeProto& attribute, const OnnxAttribute& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(*whole);
  } else if (const auto* real = std::get_if<float>(&value)) {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(*text);
  } else {
    attribute.set_type(onnx::AttributeProto::INTS);
    for (std::int64_t i : std::get<std::vector<std::int64_t>>(value)) attribute.add_ints(i);
  }
}

void set_shape(onnx::ValueInfoProto& info, const ArrayShape& shape) {
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  for (std::int64_t extent : shape) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (extent == any_batch) {
      dim->set_dim_param("N");
    } else {
      dim->set_dim_value(extent);
    }
  }
}

}  // namespace

std::string OnnxGraph::fresh(const std::string& wish) {
  std::string name = wish;
  while (!taken_.insert(name).second) name = fmt::format("{}.{}", wish, ++numbers_[wish]);
  return name;
}

std::string OnnxGraph::node(const char* op, std::vector<std::string> inputs, const std::string& wish,
                            const OnnxAttributes& attributes) {
  auto* made = graph_.add_node();
  made->set_op_type(op);
  for (std::string& input : inputs) made->add_input(std::move(input));
  const std::string result = fresh(wish);
  made->set_name(result);
  made->add_output(result);
  for (const auto& [name, value] : attributes) {
    auto* attribute = made->add_attribute();
    attribute->set_name(name);
    set_attribute(*attribute, value);
  }
  return result;
}

std::string OnnxGraph::tensor(const std::string& wish, const std::vector<std::int64_t>& shape,
                              const std::vector<float>& values) {
  auto* made = graph_.add_initializer();
  made->set_name(fresh(wish));
  made->set_data_type(onnx::TensorProto::FLOAT);
  for (std::int64_t extent : shape) made->add_dims(extent);
  made->set_raw_data(values.data(), values.size() * sizeof(float));
  return made->name();
}

std::string OnnxGraph::codes(const std::string& wish, const std::vector<std::int64_t>& shape,
                             const std::vector<std::int32_t>& values, onnx::TensorProto::DataType type) {
  auto* made = graph_.add_initializer();
  made->set_name(fresh(wish));
  made->set_data_type(type);
  for (std::int64_t extent : shape) made->add_dims(extent);
  if (type == onnx::TensorProto::INT32) {
    made->set_raw_data(values.data(), values.size() * sizeof(std::int32_t));
  } else {
    std::string bytes;
    for (const std::int32_t value : values) bytes.push_back(static_cast<char>(value));
    made->set_raw_data(std::move(bytes));
  }
  return made->name();
}

std::string OnnxGraph::indices(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values) {
  std::string& known = integers_[{shape, values}];
  if (!known.empty()) return known;
  auto* made = graph_.add_initializer();
  known = fresh(fmt::format("integers.{}", integers_.size()));
  made->set_name(known);
  made->set_data_type(onnx::TensorProto::INT64);
  for (std::int64_t extent : shape) made->add_dims(extent);
  made->set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return known;
}

std::string OnnxGraph::integers(const std::vector<std::int64_t>& values) {
  return indices({static_cast<std::int64_t>(values.size())}, values);
}

std::string OnnxGraph::number(double value) {
  std::string& known = floats_[value];
  if (known.empty()) known = tensor(fmt::format("number.{}", floats_.size()), {}, {static_cast<float>(value)});
  return known;
}

void OnnxGraph::input(const std::string& name, const ArrayShape& shape) {
  taken_.insert(name);
  auto* info = graph_.add_input();
  info->set_name(name);
  set_shape(*info, shape);
}

void OnnxGraph::output(const std::string& value, const std::string& name, const ArrayShape& shape) {
  bool found = false;
  for (auto& node : *graph_.mutable_node()) {
    for (const std::string& input : node.input())
      KASIMIR_CHECK(input != value, "the result `{}` is read by `{}`", value, node.name());
    if (node.output(0) != value) continue;
    node.set_output(0, name);
    found = true;
  }
  KASIMIR_CHECK(found, "no operator gives `{}`", value);
  auto* info = graph_.add_output();
  info->set_name(name);
  set_shape(*info, shape);
}

}  // namespace kasimir
