// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/onnx_quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace kasimir {
namespace {

using DataType = onnx::TensorProto::DataType;

DataType type_of(const IntegerFormat& format) {
  return format.is_signed ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
}

/// The steps along one axis if they depend on that axis only.
std::optional<std::vector<float>> steps_along(const std::vector<float>& steps, const ArrayShape& shape,
                                              std::size_t axis) {
  std::int64_t inner = 1;
  for (std::size_t a = axis + 1; a < shape.size(); ++a) inner *= shape[a];
  const std::int64_t extent = shape[axis];
  std::vector<float> found(static_cast<std::size_t>(extent));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % extent);
    if (i < static_cast<std::size_t>(inner * extent) && static_cast<std::int64_t>(i) % inner == 0) found[at] = steps[i];
    if (found[at] != steps[i]) return std::nullopt;
  }
  return found;
}

}  // namespace

OnnxCodes onnx_codes(const NamedTensor& weight, const QuantizedPlace& place) {
  OnnxCodes codes{weight_codes(weight.name, weight.values, place), {}};
  const std::size_t share = weight.values.size() / place.weight_steps.size();
  for (std::size_t i = 0; i < weight.values.size(); ++i) codes.steps.push_back(place.weight_steps[i / share]);
  return codes;
}

bool multiply_codes(OnnxCodes& codes, const std::vector<double>& factors, const IntegerFormat& format) {
  const std::size_t share = codes.values.size() / factors.size();
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    const double factor = factors[i / share];
    if (!std::isfinite(factor) || !(static_cast<float>(std::abs(factor) * codes.steps[i]) > 0)) return false;
    if (factor < 0 && (-codes.values[i] < format.lowest() || -codes.values[i] > format.highest())) return false;
  }
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    const double factor = factors[i / share];
    codes.steps[i] = static_cast<float>(codes.steps[i] * std::abs(factor));
    if (factor < 0) codes.values[i] = -codes.values[i];
  }
  return true;
}

std::string onnx_quantized(OnnxGraph& onnx, const std::string& x, const QuantizedPlace& place,
                           const std::string& wish) {
  const IntegerFormat& format = place.activation;
  const std::string step = onnx.number(place.activation_step);
  const std::string name = wish + "/codes";
  if (format.bits > 8) {
    const std::string rounded = onnx.node("Round", {onnx.node("Div", {x, step}, name)}, name);
    const std::string clipped =
        onnx.node("Clip", {rounded, onnx.number(format.lowest()), onnx.number(format.highest())}, name);
    return onnx.node("Mul", {clipped, step}, wish + "/quantized");
  }
  std::string clipped = x;
  const IntegerFormat whole{8, format.is_signed, false};
  if (format.lowest() != whole.lowest() || format.highest() != whole.highest()) {
    const auto end = [&](int code) { return onnx.number(static_cast<double>(place.activation_step) * code); };
    clipped = onnx.node("Clip", {x, end(format.lowest()), end(format.highest())}, wish + "/clipped");
  }
  const std::string zero = onnx.codes(wish + "/zero", {}, {0}, type_of(format));
  const std::string codes = onnx.node("QuantizeLinear", {clipped, step, zero}, name);
  return onnx.node("DequantizeLinear", {codes, step, zero}, wish + "/quantized");
}

std::string onnx_weight(OnnxGraph& onnx, const std::string& name, const ArrayShape& shape, const OnnxCodes& codes,
                        const QuantizedPlace& place) {
  if (place.weight.bits > 8) {
    std::vector<float> values;
    for (std::size_t i = 0; i < codes.values.size(); ++i)
      values.push_back(static_cast<float>(codes.values[i]) * codes.steps[i]);
    return onnx.tensor(name, shape, values);
  }
  const std::string stored = onnx.codes(name + "/codes", shape, codes.values, type_of(place.weight));
  const float first = codes.steps.front();
  if (std::ranges::all_of(codes.steps, [&](float step) { return step == first; }))
    return onnx.node("DequantizeLinear", {stored, onnx.tensor(name + "/step", {}, {first})}, name);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto steps = steps_along(codes.steps, shape, axis);
    if (!steps) continue;
    return onnx.node("DequantizeLinear", {stored, onnx.tensor(name + "/steps", {shape[axis]}, *steps)}, name,
                     {{"axis", static_cast<std::int64_t>(axis)}});
  }
  // Steps that vary along two axes, as those of groups and their channels do where both stay apart.
  const std::string plain = onnx.node("DequantizeLinear", {stored, onnx.number(1)}, name + "/whole");
  return onnx.node("Mul", {plain, onnx.tensor(name + "/steps", shape, codes.steps)}, name);
}

std::string onnx_bias(OnnxGraph& onnx, const std::string& name, const std::vector<float>& bias, const OnnxCodes& codes,
                      const QuantizedPlace& place) {
  const auto count = static_cast<std::int64_t>(bias.size());
  const std::size_t share = codes.steps.size() / bias.size();
  std::vector<std::int32_t> rounded;
  std::vector<float> steps;
  for (std::size_t c = 0; c < bias.size(); ++c) {
    steps.push_back(place.activation_step * codes.steps[c * share]);
    const double code = std::nearbyint(static_cast<double>(bias[c]) / steps.back());
    if (!(std::abs(code) < std::numeric_limits<std::int32_t>::max())) break;
    rounded.push_back(static_cast<std::int32_t>(code));
  }
  if (place.weight.bits != 8 || place.activation.bits != 8 || rounded.size() != bias.size())
    return onnx.tensor(name, {count}, bias);
  const std::string stored = onnx.codes(name + "/codes", {count}, rounded, onnx::TensorProto::INT32);
  return onnx.node("DequantizeLinear", {stored, onnx.tensor(name + "/steps", {count}, steps)}, name,
                   {{"axis", std::int64_t{0}}});
}

}  // namespace kasimir
