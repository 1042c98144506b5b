// SPDX-License-Identifier: Apache-2.0
#include "fuzz/onnx_mutations.h"

#include "kasimir/onnx/import.h"

#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace kasimir::test {
namespace {

/// Numbers at which code goes wrong: ends of types, one beside them, small ones that fit somewhere.
std::int64_t number(Rng& random) {
  constexpr std::array ends{std::numeric_limits<std::int64_t>::min(),
                            std::numeric_limits<std::int64_t>::max(),
                            std::int64_t{1} << 31,
                            -(std::int64_t{1} << 31),
                            std::int64_t{1} << 40,
                            (std::int64_t{1} << 40) + 1,
                            std::int64_t{65536},
                            std::int64_t{65535},
                            std::int64_t{1} << 24,
                            std::int64_t{1} << 20};
  if (random.chance(0.75)) return random.between(-3, 12);
  // One less, around the end of the numbers where it is the first.
  const std::uint64_t less = random.chance(0.2) && random.chance(0.5) ? 1 : 0;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(random.pick(ends)) - less);
}

float real(Rng& random) {
  constexpr std::array ends{0.0F,
                            1.0F,
                            -1.0F,
                            6.0F,
                            0.5F,
                            1e30F,
                            1e-40F,
                            1.0F / 6,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  return random.pick(ends);
}

/// A name that the graph knows, or now and then none.
std::string any_value(const onnx::GraphProto& graph, Rng& random) {
  std::vector<std::string> names{"", "nobody"};
  for (const auto& input : graph.input())
    for (int i = 0; i < 4; ++i) names.push_back(input.name());
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output()) names.push_back(output);
  return random.pick(names);
}

void set_attribute(onnx::NodeProto& node, Rng& random) {
  constexpr std::array names{"axis",
                             "axes",
                             "pads",
                             "kernel_shape",
                             "strides",
                             "dilations",
                             "group",
                             "perm",
                             "keepdims",
                             "ceil_mode",
                             "auto_pad",
                             "epsilon",
                             "allowzero",
                             "split",
                             "to",
                             "alpha",
                             "beta",
                             "transA",
                             "transB",
                             "min",
                             "max",
                             "mode",
                             "count_include_pad",
                             "ratio",
                             "start",
                             "end",
                             "value",
                             "value_int",
                             "value_ints",
                             "value_floats",
                             "value_float",
                             "training_mode",
                             "approximate",
                             "num_outputs"};
  constexpr std::array words{"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "constant", "reflect", "tanh", "none", ""};
  auto* attribute =
      node.attribute_size() > 0 && random.chance(0.6)
          ? node.mutable_attribute(static_cast<int>(random.below(static_cast<std::uint64_t>(node.attribute_size()))))
          : node.add_attribute();
  if (attribute->name().empty() || random.chance(0.1)) attribute->set_name(random.pick(names));
  if (random.chance(0.4) && attribute->ints_size() > 0) {
    attribute->set_ints(static_cast<int>(random.below(static_cast<std::uint64_t>(attribute->ints_size()))),
                        number(random));
    return;
  }
  switch (random.below(6)) {
    case 0:
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(number(random));
      break;
    case 1:
      attribute->set_type(onnx::AttributeProto::FLOAT);
      attribute->set_f(real(random));
      break;
    case 2:
      attribute->set_type(onnx::AttributeProto::STRING);
      attribute->set_s(random.pick(words));
      break;
    case 3:
      attribute->set_type(onnx::AttributeProto::TENSOR);
      attribute->mutable_t()->set_data_type(static_cast<int>(random.below(20)));
      for (std::uint64_t i = random.below(3); i > 0; --i) attribute->mutable_t()->add_dims(number(random));
      attribute->mutable_t()->add_float_data(real(random));
      attribute->mutable_t()->add_int64_data(number(random));
      break;
    default:
      attribute->set_type(onnx::AttributeProto::INTS);
      attribute->clear_ints();
      for (std::uint64_t i = random.below(9); i > 0; --i) attribute->add_ints(number(random));
  }
}

void change_tensor(onnx::TensorProto& tensor, Rng& random) {
  switch (random.below(6)) {
    case 0:
      if (tensor.dims_size() > 0)
        tensor.set_dims(static_cast<int>(random.below(static_cast<std::uint64_t>(tensor.dims_size()))), number(random));
      break;
    case 1:
      tensor.add_dims(random.chance(0.5) ? 1 : number(random));
      break;
    case 2:
      tensor.set_data_type(static_cast<int>(random.below(24)));
      break;
    case 3:  // nothing in it
      tensor.clear_dims();
      for (std::uint64_t i = 1 + random.below(3); i > 0; --i) tensor.add_dims(random.chance(0.5) ? 0 : number(random));
      tensor.clear_raw_data();
      tensor.clear_float_data();
      tensor.clear_int64_data();
      break;
    case 4:  // whole numbers, such as those that tell shapes
      tensor.set_data_type(onnx::TensorProto::INT64);
      tensor.clear_dims();
      tensor.clear_raw_data();
      tensor.clear_float_data();
      tensor.clear_int64_data();
      tensor.add_dims(static_cast<std::int64_t>(1 + random.below(5)));
      for (std::int64_t i = tensor.dims(0); i > 0; --i) tensor.add_int64_data(number(random));
      break;
    default:
      if (!tensor.raw_data().empty()) tensor.mutable_raw_data()->resize(random.below(tensor.raw_data().size()));
      if (random.chance(0.1)) {
        tensor.set_data_location(onnx::TensorProto::EXTERNAL);
        auto* entry = tensor.add_external_data();
        entry->set_key("location");
        entry->set_value(random.chance(0.5) ? "../weights" : ".");
      }
  }
}

void add_node(onnx::GraphProto& graph, Rng& random) {
  static const std::vector<std::string> operators = onnx_operators();
  auto* node = graph.add_node();
  node->set_op_type(random.pick(operators));
  node->set_name(random.chance(0.05) ? std::string(300, '/') : "made" + std::to_string(random.below(1000)));
  for (std::uint64_t i = 1 + random.below(3); i > 0; --i) node->add_input(any_value(graph, random));
  node->add_output("made" + std::to_string(graph.node_size()));
  for (std::uint64_t i = random.below(4); i > 0; --i) set_attribute(*node, random);
  // Somewhere in the order, with somebody who reads it.
  const auto count = static_cast<std::uint64_t>(graph.node_size());
  for (int at = graph.node_size() - 1; at > static_cast<int>(random.below(count)); --at)
    graph.mutable_node()->SwapElements(at, at - 1);
  auto* reader = graph.mutable_node(static_cast<int>(random.below(count)));
  if (reader->input_size() > 0)
    reader->set_input(static_cast<int>(random.below(static_cast<std::uint64_t>(reader->input_size()))),
                      "made" + std::to_string(graph.node_size()));
}

void change_node(onnx::GraphProto& graph, onnx::NodeProto& node, Rng& random) {
  static const std::vector<std::string> operators = onnx_operators();
  const auto input = [&] { return static_cast<int>(random.below(static_cast<std::uint64_t>(node.input_size()))); };
  switch (random.below(8)) {
    case 0:
      node.set_op_type(random.pick(operators));
      break;
    case 1:
      if (node.input_size() > 0) node.set_input(input(), any_value(graph, random));
      break;
    case 2:
      node.add_input(any_value(graph, random));
      break;
    case 3:
      if (node.input_size() > 0) node.mutable_input()->RemoveLast();
      break;
    case 4:
      node.add_output(any_value(graph, random));
      break;
    case 5:
      if (node.attribute_size() > 0) node.mutable_attribute()->RemoveLast();
      break;
    default:
      set_attribute(node, random);
  }
}

}  // namespace

void mutate(onnx::ModelProto& model, Rng& random) {
  auto& graph = *model.mutable_graph();
  const auto some = [&](int size) { return static_cast<int>(random.below(static_cast<std::uint64_t>(size))); };
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (graph.node_size() > 0) change_node(graph, *graph.mutable_node(some(graph.node_size())), random);
      break;
    case 4:
    case 5:
      if (graph.initializer_size() > 0)
        change_tensor(*graph.mutable_initializer(some(graph.initializer_size())), random);
      break;
    case 6:
    case 7:
      add_node(graph, random);
      break;
    case 8:
      if (graph.input_size() > 0) {
        auto* shape = graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
        if (shape->dim_size() > 0) shape->mutable_dim(some(shape->dim_size()))->set_dim_value(number(random));
      }
      break;
    default:
      if (graph.node_size() > 1 && random.chance(0.5))
        graph.mutable_node()->SwapElements(some(graph.node_size()), some(graph.node_size()));
      else if (random.chance(0.3) && model.opset_import_size() > 0)
        model.mutable_opset_import(0)->set_version(number(random));
      else if (graph.output_size() > 0)
        graph.mutable_output(0)->set_name(any_value(graph, random));
  }
}

void mutate(std::string& bytes, Rng& random) {
  if (bytes.empty()) return;
  if (random.chance(0.1)) bytes.resize(random.below(bytes.size()));
  for (std::uint64_t i = 1 + random.below(8); i > 0 && !bytes.empty(); --i)
    bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
}

}  // namespace kasimir::test
