// SPDX-License-Identifier: Apache-2.0
// names primitives: attributes of ONNX share their words
#include "kasimir/base/error.h"
#include "kasimir/codegen/onnx_graph.h"
#include "kasimir/codegen/onnx_quantized.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace kasimir {
namespace {

/// A tensor that is known when the file is written. Of a quantised weight `values` are codes, with a step for each.
struct Known {
  std::string name;
  std::vector<float> values;
  std::vector<float> steps;
  const QuantizedPlace* place = nullptr;
};

std::vector<float> permuted(const std::vector<float>& from, const ArrayShape& shape, const ArrayShape& order) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  std::vector<float> to;
  to.reserve(from.size());
  ArrayShape at(shape.size(), 0);  // of the result
  while (to.size() < from.size()) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < order.size(); ++d) place += at[d] * strides[static_cast<std::size_t>(order[d])];
    to.push_back(from[static_cast<std::size_t>(place)]);
    for (std::size_t d = order.size(); d-- > 0;) {
      if (++at[d] < shape[static_cast<std::size_t>(order[d])]) break;
      at[d] = 0;
    }
  }
  return to;
}

template <typename... Ops>
bool is_any(const ArrayOp& op) {
  return (std::holds_alternative<Ops>(op) || ...);
}

/// Operations that change the shape and leave the elements in their order.
bool is_reshape(const ArrayOp& op) {
  return is_any<array::Unflatten, array::Flatten, array::Reshape, array::Squeeze, array::Unsqueeze>(op);
}

class KernelNodes {
 public:
  KernelNodes(OnnxGraph& onnx, const BoundGraph& graph, const OnnxTensors& tensors, const OnnxPlaces& places,
              std::string input, std::string layer)
      : onnx_(onnx),
        tensors_(tensors),
        places_(places),
        input_(std::move(input)),
        layer_(std::move(layer)),
        graph_(graph),
        program_(array_program(graph)),
        names_(program_.values.size()),
        known_(program_.values.size()) {}

  std::string run() {
    for (const ArrayStage& stage : program_.stages) {
      wish_ = fmt::format("{}/{}", layer_, graph_.tensors[static_cast<std::size_t>(stage.tensor)].name);
      name(stage.value);
    }
    return name(program_.result);
  }

  std::string operator()(const array::Given&) const { return input_; }
  std::string operator()(const array::Number& op) const { return onnx_.number(op.value); }
  std::string operator()(const array::Roll& op) const {
    const std::int64_t n = shape()[static_cast<std::size_t>(op.dim)];
    std::vector<std::int64_t> from(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) from[static_cast<std::size_t>(i)] = (i - op.by + n) % n;
    return add("Gather", {x(), onnx_.integers(from)}, {{"axis", op.dim}});
  }
  std::string operator()(const array::Flip& op) const {
    return slice(op.dim, -1, std::numeric_limits<std::int64_t>::min(), -1);
  }
  std::string operator()(const array::Slice& op) const { return slice(op.dim, op.start, op.stop, op.step); }
  std::string operator()(const array::Pad& op) const {
    std::vector<std::int64_t> amounts = op.before;
    amounts.insert(amounts.end(), op.after.begin(), op.after.end());
    return add("Pad", {x(), onnx_.integers(amounts)});
  }
  std::string operator()(const array::Windows& op) const {
    const std::int64_t count = value_->shape[static_cast<std::size_t>(op.dim)];
    std::vector<std::int64_t> from;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t r = 0; r < op.size; ++r) from.push_back(i * op.step + r);
    return add("Gather", {x(), onnx_.indices({count, op.size}, from)}, {{"axis", op.dim}});
  }
  std::string operator()(const array::Unflatten&) const { return reshape(); }
  std::string operator()(const array::Flatten&) const { return reshape(); }
  std::string operator()(const array::Reshape&) const { return reshape(); }
  std::string operator()(const array::Squeeze&) const { return reshape(); }
  std::string operator()(const array::Unsqueeze&) const { return reshape(); }
  std::string operator()(const array::Permute& op) const { return add("Transpose", {x()}, {{"perm", op.order}}); }
  std::string operator()(const array::Expand& op) const {
    ArrayShape wanted = op.shape;
    std::ranges::replace(wanted, any_batch, 1);  // the operand's own extent stays where 1 is wanted
    return add("Expand", {x(), onnx_.integers(wanted)});
  }
  std::string operator()(const array::Concat& op) const { return add("Concat", all(), {{"axis", op.dim}}); }
  std::string operator()(const array::Function& op) const { return function(op.fn); }
  std::string operator()(const array::Reduction& op) const {
    switch (op.fold) {
      case array::Fold::sum:  // its axes are an input since operator set 13
        return add("ReduceSum", {x(), onnx_.integers(op.dims)}, {{"keepdims", std::int64_t{0}}});
      case array::Fold::mean:
        return add("ReduceMean", {x()}, {{"axes", op.dims}, {"keepdims", std::int64_t{0}}});
      case array::Fold::max:
        return add("ReduceMax", {x()}, {{"axes", op.dims}, {"keepdims", std::int64_t{0}}});
    }
    KASIMIR_CHECK(false, "reduction {}", static_cast<int>(op.fold));
  }
  std::string operator()(const array::Softmax& op) const { return add("Softmax", {x()}, {{"axis", op.dim}}); }
  std::string operator()(const array::Einsum& op) const { return add("Einsum", all(), {{"equation", op.equation}}); }
  std::string operator()(const array::Convolution& op) const {
    const ArrayShape& weight = shape(1);
    return add("Conv", all(),
               {{"kernel_shape", ArrayShape{weight[2], weight[3]}},
                {"strides", ArrayShape{op.stride[0], op.stride[1]}},
                {"dilations", ArrayShape{op.dilation[0], op.dilation[1]}},
                {"pads", ArrayShape{op.before[0], op.before[1], op.after[0], op.after[1]}},
                {"group", op.groups}});
  }
  std::string operator()(const array::BatchNorm& op) const {
    return add("BatchNormalization", all(), {{"epsilon", static_cast<float>(op.epsilon)}});
  }

 private:
  [[nodiscard]] const ArrayValue& at(int value) const { return program_.values[static_cast<std::size_t>(value)]; }
  [[nodiscard]] const ArrayShape& shape(std::size_t i = 0) const { return at(value_->operands[i]).shape; }
  [[nodiscard]] const std::string& x(std::size_t i = 0) const { return operands_[i]; }
  [[nodiscard]] const std::vector<std::string>& all() const { return operands_; }
  [[nodiscard]] std::string add(const char* op, std::vector<std::string> inputs,
                                const OnnxAttributes& attributes = {}) const {
    return onnx_.node(op, std::move(inputs), wish_, attributes);
  }
  [[nodiscard]] std::string slice(std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step) const {
    return add("Slice",
               {x(), onnx_.integers({start}), onnx_.integers({stop}), onnx_.integers({dim}), onnx_.integers({step})});
  }
  [[nodiscard]] std::string reshape() const {
    return add("Reshape", {x(), onnx_.integers(value_->shape)});  // -1, the batch, is worked out
  }

  [[nodiscard]] std::string function(Fn fn) const {
    switch (fn) {
      case Fn::add:
      case Fn::join:
        return add("Add", all());
      case Fn::sub:
        return add("Sub", all());
      case Fn::mul:
        return add("Mul", all());
      case Fn::div:
        return add("Div", all());
      case Fn::max:
        return add("Max", all());
      case Fn::min:
        return add("Min", all());
      case Fn::neg:
        return add("Neg", all());
      case Fn::abs:
        return add("Abs", all());
      case Fn::relu:
        return add("Relu", all());
      case Fn::exp:
        return add("Exp", all());
      case Fn::sqrt:
        return add("Sqrt", all());
      case Fn::rsqrt:
        return add("Reciprocal", {add("Sqrt", all())});
      case Fn::sin:
        return add("Sin", all());
      case Fn::tanh:
        return add("Tanh", all());
      case Fn::sigmoid:
        return add("Sigmoid", all());
      case Fn::hardswish:
        return add("HardSwish", all());
      case Fn::gelu: {
        const std::string inner = add("Erf", {add("Mul", {x(), onnx_.number(std::sqrt(0.5))})});
        const std::string twice = add("Mul", {x(), add("Add", {inner, onnx_.number(1.0)})});
        return add("Mul", {twice, onnx_.number(0.5)});
      }
    }
    KASIMIR_CHECK(false, "function {}", fn_info(fn).name);
  }

  /// What only rearranges or scales a weight is done here, so that every reader of the file sees plain weights.
  const std::optional<Known>& known(int value) {
    auto& result = known_[static_cast<std::size_t>(value)];
    if (result) return result;
    const ArrayValue& made = at(value);
    if (const auto* given = std::get_if<array::Given>(&made.op)) {
      const auto found = tensors_.find(given->tensor);
      if (found != tensors_.end()) result = from_file(given->tensor, *found->second);
      return result;
    }
    const auto* function = std::get_if<array::Function>(&made.op);
    const bool scaled = function != nullptr && function->fn == Fn::mul && made.operands.size() == 2 &&
                        std::holds_alternative<array::Number>(at(made.operands[1]).op);
    if (!is_reshape(made.op) && !std::holds_alternative<array::Permute>(made.op) && !scaled) return result;
    const auto& from = known(made.operands[0]);
    if (!from) return result;
    result = *from;
    if (const auto* turn = std::get_if<array::Permute>(&made.op)) {
      result->values = permuted(from->values, at(made.operands[0]).shape, turn->order);
      if (from->place != nullptr) result->steps = permuted(from->steps, at(made.operands[0]).shape, turn->order);
    }
    if (scaled) {
      const double factor = std::get<array::Number>(at(made.operands[1]).op).value;
      for (float& v : from->place != nullptr ? result->steps : result->values) v = static_cast<float>(v * factor);
    }
    return result;
  }

  [[nodiscard]] Known from_file(int tensor, const NamedTensor& of) const {
    const auto found = places_.find(tensor);
    if (found == places_.end()) return {of.name, of.values, {}, nullptr};
    const OnnxCodes codes = onnx_codes(of, *found->second);
    return {of.name, {codes.values.begin(), codes.values.end()}, codes.steps, found->second};
  }

  /// The place whose weight the value is, rearranged in whatever way; null for anything else.
  [[nodiscard]] const QuantizedPlace* place_of(int value) const {
    const ArrayValue& made = at(value);
    if (const auto* given = std::get_if<array::Given>(&made.op)) {
      const auto found = places_.find(given->tensor);
      return found == places_.end() ? nullptr : found->second;
    }
    const auto is_number = [&](int operand) { return std::holds_alternative<array::Number>(at(operand).op); };
    const auto others = std::ranges::count_if(made.operands, std::not_fn(is_number));
    return others == 1 && !is_number(made.operands[0]) ? place_of(made.operands[0]) : nullptr;
  }

  /// What is multiplied with a quantised weight is quantised too.
  void quantize_partner(const ArrayValue& made, std::vector<std::string>& operands) {
    if (made.operands.size() != 2) return;
    for (std::size_t i = 0; i < 2; ++i) {
      const QuantizedPlace* place = place_of(made.operands[i]);
      const int partner = made.operands[1 - i];
      if (place == nullptr || std::holds_alternative<array::Number>(at(partner).op)) continue;
      operands[1 - i] = onnx_quantized(onnx_, operands[1 - i], *place, wish_);
    }
  }

  const std::string& name(int value) {
    std::string& given = names_[static_cast<std::size_t>(value)];
    if (!given.empty()) return given;
    if (const auto& tensor = known(value)) {
      if (tensor->place == nullptr) return given = onnx_.tensor(tensor->name, at(value).shape, tensor->values);
      return given = onnx_weight(onnx_, tensor->name, at(value).shape,
                                 {{tensor->values.begin(), tensor->values.end()}, tensor->steps}, *tensor->place);
    }
    ArrayValue made = at(value);
    // Of several changes of shape in a row the last one is enough.
    while (is_reshape(made.op) && is_reshape(at(made.operands[0]).op) &&
           names_[static_cast<std::size_t>(made.operands[0])].empty())
      made.operands = at(made.operands[0]).operands;
    std::vector<std::string> operands;
    for (int operand : made.operands) operands.push_back(name(operand));
    quantize_partner(made, operands);
    value_ = &made;
    operands_ = std::move(operands);
    return given = std::visit(*this, made.op);
  }

  OnnxGraph& onnx_;
  const OnnxTensors& tensors_;
  const OnnxPlaces& places_;
  std::string input_;
  std::string layer_;
  const BoundGraph& graph_;
  ArrayProgram program_;
  std::vector<std::string> names_;           ///< by value
  std::vector<std::optional<Known>> known_;  ///< by value
  std::string wish_;                         ///< what the next operators are called
  const ArrayValue* value_ = nullptr;        ///< the value being made, and the names of its operands
  std::vector<std::string> operands_;
};

}  // namespace

std::string add_to_onnx(OnnxGraph& onnx, const BoundGraph& graph, const OnnxTensors& tensors, const OnnxPlaces& places,
                        const std::string& input, const std::string& layer) {
  return KernelNodes(onnx, graph, tensors, places, input, layer).run();
}

}  // namespace kasimir
