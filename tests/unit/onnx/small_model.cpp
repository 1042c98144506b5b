// SPDX-License-Identifier: Apache-2.0
#include "unit/onnx/small_model.h"

#include "kasimir/base/text.h"
#include "kasimir/interp/real.h"
#include "kasimir/network/lower.h"
#include "unit/network/message.h"

#include <algorithm>

namespace kasimir::test {

SmallModel::SmallModel(std::int64_t opset, const Numbers& images) {
  model.set_ir_version(8);
  auto* set = model.add_opset_import();
  set->set_domain("");
  set->set_version(opset);
  auto* input = model.mutable_graph()->add_input();
  input->set_name("x");
  auto* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : images) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (extent > 0) dim->set_dim_value(extent);
  }
}

std::string SmallModel::fresh(const std::string& stem) { return fmt::format("{}{}", stem, ++names_); }

std::string SmallModel::node(const std::string& op, const std::vector<std::string>& inputs,
                             const std::vector<Attribute>& attributes, int outputs) {
  auto* made = model.mutable_graph()->add_node();
  made->set_op_type(op);
  made->set_name(fresh(lower_case(op)));
  for (const std::string& input : inputs) made->add_input(input);
  made->add_output(made->name());
  for (int i = 1; i < outputs; ++i) made->add_output(fmt::format("{}.{}", made->name(), i));
  for (const auto& [name, value] : attributes) {
    auto* attribute = made->add_attribute();
    attribute->set_name(name);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(*whole);
    } else if (const auto* real = std::get_if<float>(&value)) {
      attribute->set_type(onnx::AttributeProto::FLOAT);
      attribute->set_f(*real);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      attribute->set_type(onnx::AttributeProto::STRING);
      attribute->set_s(*text);
    } else {
      attribute->set_type(onnx::AttributeProto::INTS);
      for (const std::int64_t i : std::get<Numbers>(value)) attribute->add_ints(i);
    }
  }
  return made->name();
}

std::string SmallModel::tensor(const Numbers& shape, std::vector<float> values, std::string name) {
  auto* made = model.mutable_graph()->add_initializer();
  made->set_name(name.empty() ? fresh("tensor") : std::move(name));
  made->set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    made->add_dims(extent);
    count *= extent;
  }
  for (int i = 0; values.size() < static_cast<std::size_t>(count); ++i)
    values.push_back(static_cast<float>(i % 7 + 1) / 8 * (i % 2 == 0 ? 1.0F : -1.0F));
  for (const float value : values) made->add_float_data(value);
  return made->name();
}

std::string SmallModel::integers(const Numbers& values) {
  auto* made = model.mutable_graph()->add_initializer();
  made->set_name(fresh("integers"));
  made->set_data_type(onnx::TensorProto::INT64);
  made->add_dims(std::ssize(values));
  for (const std::int64_t value : values) made->add_int64_data(value);
  return made->name();
}

std::string SmallModel::bytes(const std::string& value) {
  auto* graph = model.mutable_graph();
  graph->clear_output();
  graph->add_output()->set_name(value);
  return model.SerializeAsString();
}

ImportedNetwork SmallModel::read(const std::string& value, Shape3 input) {
  return parse_onnx(bytes(value), "net.onnx", input);
}

std::string SmallModel::layers(const std::string& value) { return layers_of(read(value).network); }

std::string SmallModel::message(const std::string& value, Shape3 input) {
  return message_of([&] { static_cast<void>(read(value, input)); });
}

std::vector<double> scores_of(const Network& network, const std::vector<double>& image) {
  const auto lowered = lower_network({&network, {}}, 1);
  const auto weights = values_of(*lowered, *network.start());
  TensorValues<double> values(weights.size());
  for (std::size_t t = 0; t < weights.size(); ++t) values[t].assign(weights[t].begin(), weights[t].end());
  values[static_cast<std::size_t>(lowered->graph.input)] = image;
  RealDomain domain;
  evaluate(lowered->graph, domain, values);
  return values[static_cast<std::size_t>(lowered->graph.output)];
}

std::string layers_of(const Network& network) {
  std::vector<std::string> all;
  for (std::size_t i = 1; i < network.layers().size(); ++i) all.push_back(op_text(network.layers()[i].op));
  return join(all, "; ");
}

}  // namespace kasimir::test
