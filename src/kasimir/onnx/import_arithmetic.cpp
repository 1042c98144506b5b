// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/fold_shapes.h"
#include "kasimir/onnx/importer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace kasimir {
namespace {

using Kind = layer::ActivationKind;

bool near(double value, double wanted) { return std::abs(value - wanted) < 1e-6; }

/// A number that is one constant, or nothing.
std::optional<double> single(const OnnxConstant* constant) {
  if (constant == nullptr || constant->whole() || constant->elements() != 1) return std::nullopt;
  return static_cast<double>(constant->floats()[0]);
}

}  // namespace

void OnnxImporter::activation() {
  const std::string op = node_->op();
  const Kind kind = op == "Relu"      ? Kind::relu
                    : op == "Sigmoid" ? Kind::sigmoid
                    : op == "Tanh"    ? Kind::tanh
                                      : Kind::hardswish;
  const Feature x = feature();
  give_like(x, add(layer::Activation{kind}, {x.layer}));
}

void OnnxImporter::clip() {
  const Feature x = feature();
  constexpr double infinite = std::numeric_limits<float>::max();
  const auto bound = [&](const char* name, std::size_t i, double otherwise) {
    if (node_->has(name)) return node_->real(name, otherwise);
    if (!node_->has_input(i)) return otherwise;
    const auto value = single(constant(i));
    if (!value) node_->fail("its bound `{}` is no single constant", name);
    return *value;
  };
  const double low = bound("min", 1, -infinite);
  const double high = bound("max", 2, infinite);
  if (low != 0 || (high != 6 && high < infinite))
    node_->fail("bounds {} and {}, needed 0 and 6, or 0 alone", low, high);
  give_like(x, add(layer::Activation{high == 6 ? Kind::relu6 : Kind::relu}, {x.layer}));
}

void OnnxImporter::hard_sigmoid() {
  const double alpha = node_->real("alpha", 0.2);
  const double beta = node_->real("beta", 0.5);
  if (!near(alpha, 1.0 / 6) || !near(beta, 0.5))
    node_->fail("alpha {} and beta {}, needed 1/6 and 1/2 as in PyTorch", alpha, beta);
  const Feature x = feature();
  give_like(x, add(layer::Activation{Kind::hardsigmoid}, {x.layer}));
}

void OnnxImporter::erf() {
  const Feature scaled = feature();
  // What divides by the root of 2 became a layer, which nothing needs any more.
  const Layer& made = net_->layer(scaled.layer);
  const auto values = values_of_layer_.find(scaled.layer);
  const auto* conv = std::get_if<layer::Conv>(&made.op);
  const bool scales = conv != nullptr && conv->groups == conv->in && conv->kernel_h * conv->kernel_w == 1 &&
                      std::ranges::all_of(values->second[0].second, [](float factor) {
                        return near(static_cast<double>(factor), std::numbers::sqrt2 / 2);
                      });
  if (!scales || conv->bias || net_->shape(made.inputs[0]) != shape(scaled))
    node_->fail("it is not part of x * (1 + erf(x / sqrt 2)) / 2");
  give(GeluPart{{made.inputs[0], scaled.view}});
}

bool OnnxImporter::gelu_step(std::size_t i, bool adds) {
  const auto* found = std::get_if<GeluPart>(&value(i));
  if (found == nullptr) return false;
  GeluPart part = *found;
  const auto number = single(constant(1 - i));
  if (adds) {
    if (part.one || part.times_x || !near(part.factor, 1) || !number || !near(*number, 1))
      node_->fail("it is not part of x * (1 + erf(x / sqrt 2)) / 2");
    part.one = true;
  } else if (number) {
    part.factor *= *number;
  } else {
    Feature x = feature(1 - i);
    const Layer& made = net_->layer(x.layer);
    // Half of x, in front.
    if (x.layer != part.x.layer && !made.inputs.empty() && made.inputs[0] == part.x.layer &&
        values_of_layer_.contains(x.layer)) {
      const auto& factors = values_of_layer_.at(x.layer)[0].second;
      if (std::ranges::all_of(factors, [](float factor) { return factor == 0.5F; })) {
        part.factor *= 0.5;
        x.layer = part.x.layer;
      }
    }
    if (x.layer != part.x.layer || x.view != part.x.view || part.times_x)
      node_->fail("it is not part of x * (1 + erf(x / sqrt 2)) / 2");
    part.times_x = true;
  }
  if (part.one && part.times_x && near(part.factor, 0.5))
    give_like(part.x, add(layer::Activation{Kind::gelu}, {part.x.layer}));
  else
    give(part);
  return true;
}

void OnnxImporter::gelu() {
  if (node_->text("approximate", "none") != "none") node_->fail("an approximation by tanh, needed the exact function");
  const Feature x = feature();
  give_like(x, add(layer::Activation{Kind::gelu}, {x.layer}));
}

void OnnxImporter::batch_norm() {
  const Feature x = feature();
  if (node_->integer("training_mode", 0) != 0) node_->fail("it is in training mode; export after `model.eval()`");
  const std::size_t axis = channel_axis(x);
  if (axis != 0) node_->fail("axis 1 of its input {} is not the channels", fmt::join(array_shape(x), "x"));
  LayerValues values;
  std::size_t i = 1;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    values.emplace_back(name, weight(i++).floats());
    if (std::ssize(values.back().second) != shape(x).c)
      node_->fail("{} values of `{}` for {} channels", values.back().second.size(), name, shape(x).c);
  }
  const double more = node_->real("epsilon", 1e-5) - layer::BatchNorm::epsilon;
  if (std::abs(more) > 1e-9)
    for (float& variance : values[3].second) variance = static_cast<float>(static_cast<double>(variance) + more);
  give_like(x, add(layer::BatchNorm{}, {x.layer}, std::move(values), node_->input(1)));
}

void OnnxImporter::layer_norm() {
  const Feature x = feature();
  const std::int64_t axis = node_->integer("axis", -1);
  const std::size_t at = view_axis(x, axis);
  if (at + 1 != x.view.axes.size() || at != channel_axis(x))
    node_->fail("it normalises over axes {} and behind of {}, needed the channels of a feature map", axis,
                fmt::join(array_shape(x), "x"));
  const auto channels = static_cast<std::size_t>(shape(x).c);
  LayerValues values{{"weight", weight(1).floats()}, {"bias", std::vector<float>(channels, 0.0F)}};
  if (node_->has_input(2)) values[1].second = weight(2).floats();
  for (const auto& [name, numbers] : values)
    if (numbers.size() != channels) node_->fail("{} values of `{}` for {} channels", numbers.size(), name, channels);
  // A float's nearest decimal of seven digits is the number that was meant.
  const double epsilon = std::stod(fmt::format("{:.6e}", node_->real("epsilon", 1e-5)));
  give_like(x,
            add(layer::ChannelNorm{.channels = 0, .epsilon = epsilon}, {x.layer}, std::move(values), node_->input(1)));
}

std::vector<float> OnnxImporter::per_channel(const Feature& of, const OnnxConstant& values) const {
  if (values.whole()) node_->fail("a constant of whole numbers");
  const auto channels = static_cast<std::size_t>(shape(of).c);
  if (values.elements() == 1 && values.shape.size() <= of.view.axes.size() + 1)
    return std::vector<float>(channels, values.floats()[0]);
  const std::size_t axis = channel_axis(of) + (of.batched ? 1 : 0);
  const auto whole = array_shape(of);
  std::vector<std::int64_t> wanted(whole.size(), 1);
  wanted[axis] = whole[axis];
  std::vector<std::int64_t> given = values.shape;
  while (given.size() < whole.size()) given.insert(given.begin(), 1);
  if (given != wanted)
    node_->fail("a constant {} beside {}, needed one number or one for each channel", fmt::join(values.shape, "x"),
                fmt::join(whole, "x"));
  return values.floats();
}

void OnnxImporter::scale(std::size_t i, std::vector<float> factors, std::vector<float> offsets) {
  const Feature of = feature(i);
  const std::int64_t channels = shape(of).c;
  if (offsets.empty()) offsets.assign(static_cast<std::size_t>(channels), 0.0F);
  if (factors.empty()) factors.assign(static_cast<std::size_t>(channels), 1.0F);
  const Layer before = net_->layer(of.layer);
  const bool weighted =
      std::holds_alternative<layer::Conv>(before.op) || std::holds_alternative<layer::Linear>(before.op);
  if (weighted && read_once(i)) {
    // The layer before takes both in: one with the same inputs takes its place.
    LayerValues values = values_of_layer_.at(of.layer);
    count_computed(std::ssize(values[0].second));
    if (values.size() == 1) values.emplace_back("bias", std::vector<float>(factors.size(), 0.0F));
    const std::size_t row = values[0].second.size() / factors.size();
    for (std::size_t v = 0; v < values[0].second.size(); ++v) values[0].second[v] *= factors[v / row];
    for (std::size_t c = 0; c < factors.size(); ++c)
      values[1].second[c] = values[1].second[c] * factors[c] + offsets[c];
    Op op = before.op;
    auto* conv = std::get_if<layer::Conv>(&op);
    bool& bias = conv != nullptr ? conv->bias : std::get<layer::Linear>(op).bias;
    bias = bias || std::ranges::any_of(offsets, [](float offset) { return offset != 0; });
    if (!bias) values.pop_back();
    Origin origin = origins_.at(of.layer);
    // Exporters give a transposed weight a name of their own, and leave the bias its name.
    const std::string& added = node_->input(1 - i);
    if (origin.weight.empty() && added.ends_with(".bias") && read_once(1 - i))
      origin.weight = added.substr(0, added.rfind('.')) + ".weight";
    const int layer = add(op, before.inputs, std::move(values));
    origins_[layer] = std::move(origin);
    return give_like(of, layer);
  }
  count_computed(2 * channels);
  const bool bias = std::ranges::any_of(offsets, [](float offset) { return offset != 0; });
  LayerValues values{{"weight", std::move(factors)}};
  if (bias) values.emplace_back("bias", std::move(offsets));
  give_like(of, add(layer::Conv{.out = channels, .groups = channels, .bias = bias}, {of.layer}, std::move(values)));
}

std::pair<Feature, Feature> OnnxImporter::partners(std::size_t i, std::size_t k) {
  Feature a = feature(i);
  Feature b = feature(k);
  if (a.view != b.view && a.view.axes.size() == 3 && b.view.axes.size() == 3 && !is_gate(a, b) && !is_gate(b, a)) {
    a = {map_of(a), MapView::of(shape(a))};
    b = {map_of(b), MapView::of(shape(b))};
  }
  return {std::move(a), std::move(b)};
}

bool OnnxImporter::is_gate(const Feature& gate, const Feature& of) const {
  const Shape3 small = shape(gate);
  if (small != Shape3{shape(of).c, 1, 1} || gate.view.axes.size() != of.view.axes.size()) return false;
  const ViewAxis channels = whole_axis(MapDigit::Of::channel, small.c);
  for (std::size_t i = 0; i < of.view.axes.size(); ++i) {
    const ViewAxis& axis = gate.view.axes[i];
    if (!axis.empty() && (axis != channels || of.view.axes[i] != channels)) return false;
  }
  return true;
}

void OnnxImporter::add_values() {
  if (node_->inputs() == 1) return alias();
  if (node_->inputs() == 2 && (constant(0) != nullptr || constant(1) != nullptr)) {
    const std::size_t i = constant(0) != nullptr ? 1 : 0;
    if (gelu_step(i, true)) return;
    if (constant(1 - i)->elements() > shape(feature(i)).c) return add_map(feature(i), i, *constant(1 - i));
    std::vector<float> offsets = per_channel(feature(i), *constant(1 - i));
    return scale(i, {}, std::move(offsets));
  }
  std::vector<int> layers;
  Feature first = feature(0);
  for (std::size_t i = 1; i < node_->inputs(); ++i) {
    auto [a, b] = partners(0, i);
    if (a.view != b.view || a.batched != b.batched || shape(a) != shape(b))
      node_->fail("{} and {} are maps of different sizes or in different orders", fmt::join(array_shape(a), "x"),
                  fmt::join(array_shape(b), "x"));
    if (layers.empty()) layers.push_back(a.layer);
    if (a.layer != layers[0]) node_->fail("its inputs are maps in different orders");
    first = a;
    layers.push_back(b.layer);
  }
  give_like(first, add(layer::Add{}, std::move(layers)));
}

void OnnxImporter::mul_values() {
  if (node_->inputs() != 2) node_->fail("{} inputs, needed 2", node_->inputs());
  if (gelu_step(0, false) || gelu_step(1, false)) return;
  for (const std::size_t i : {0, 1})
    if (const auto number = single(constant(1 - i)); number && attention_step(i, *number)) return;
  if (constant(0) != nullptr || constant(1) != nullptr) {
    const std::size_t i = constant(0) != nullptr ? 1 : 0;
    return scale(i, per_channel(feature(i), *constant(1 - i)), {});
  }
  auto [a, b] = partners(0, 1);
  // x * sigmoid(x), of which there is one layer.
  const auto gated = [&](const Feature& x, const Feature& gate) -> std::optional<Kind> {
    const Layer& made = net_->layer(gate.layer);
    const auto* kind = std::get_if<layer::Activation>(&made.op);
    if (kind == nullptr || made.inputs[0] != x.layer || x.view != gate.view) return std::nullopt;
    if (kind->kind == Kind::sigmoid) return Kind::silu;
    if (kind->kind == Kind::hardsigmoid) return Kind::hardswish;
    return std::nullopt;
  };
  if (!gated(a, b) && gated(b, a)) std::swap(a, b);
  if (const auto kind = gated(a, b)) return give_like(a, add(layer::Activation{*kind}, {a.layer}));
  if (is_gate(a, b) && !is_gate(b, a)) std::swap(a, b);
  const bool same = a.view == b.view && shape(a) == shape(b);
  if (!same && !is_gate(b, a))
    node_->fail("{} times {}, needed maps of one size and order, or one number for each channel",
                fmt::join(array_shape(a), "x"), fmt::join(array_shape(b), "x"));
  give_like(a, add(layer::Mul{}, {a.layer, b.layer}));
}

void OnnxImporter::sub_values() {
  const Feature x = feature(0);
  if (constant(1) == nullptr) node_->fail("a difference of maps, which no layer here has");
  std::vector<float> offsets = per_channel(x, *constant(1));
  for (float& offset : offsets) offset = -offset;
  scale(0, {}, std::move(offsets));
}

void OnnxImporter::div_values() {
  if (const auto number = single(constant(1)); number && attention_step(0, 1 / *number)) return;
  const Feature x = feature(0);
  if (constant(1) == nullptr) node_->fail("a quotient of maps, which no layer here has");
  std::vector<float> factors = per_channel(x, *constant(1));
  for (float& factor : factors) factor = 1.0F / factor;
  scale(0, std::move(factors), {});
}

void OnnxImporter::linear(const Feature& x, std::vector<float> weights, std::int64_t out,
                          std::optional<std::vector<float>> bias) {
  const std::int64_t in = x.view.elements();
  const auto order = x.view.order(shape(x));
  // A row in the order of the view, as NHWC has it, becomes one in the order of the layer's input.
  if (!std::ranges::is_sorted(order)) {
    const std::vector<float> rows = weights;
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i)
        weights[static_cast<std::size_t>(o * in + order[static_cast<std::size_t>(i)])] =
            rows[static_cast<std::size_t>(o * in + i)];
  }
  LayerValues values{{"weight", std::move(weights)}};
  if (bias) values.emplace_back("bias", *std::move(bias));
  const int made =
      add(layer::Linear{.out = out, .bias = bias.has_value()}, {x.layer}, std::move(values), node_->input(1));
  Feature result{made, x.view};
  for (ViewAxis& axis : result.view.axes) axis.clear();
  result.view.axes.back() = whole_axis(MapDigit::Of::channel, out);
  give(std::move(result));
}

void OnnxImporter::gemm() {
  const Feature x = feature();
  const bool places = !x.batched && x.view.axes.size() == 2 && channel_axis(x) == 1;
  if (x.view.axes.size() != 1 && !places) node_->fail("its input {} has not 2 axes", fmt::join(array_shape(x), "x"));
  if (node_->integer("transA", 0) != 0) node_->fail("its first input is transposed, which would mix images");
  const OnnxConstant& matrix = weight(1);
  const bool rows = node_->integer("transB", 0) != 0;
  const std::int64_t in = places ? shape(x).c : x.view.elements();
  if (matrix.shape.size() != 2 || matrix.shape[rows ? 1 : 0] != in)
    node_->fail("its matrix {} does not fit its input {}", fmt::join(matrix.shape, "x"),
                fmt::join(array_shape(x), "x"));
  const std::int64_t out = matrix.shape[rows ? 0 : 1];
  std::vector<float> weights = matrix.floats();
  if (!rows)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i)
        weights[static_cast<std::size_t>(o * in + i)] = matrix.floats()[static_cast<std::size_t>(i * out + o)];
  for (float& value : weights) value *= static_cast<float>(node_->real("alpha", 1));
  std::optional<std::vector<float>> bias;
  if (node_->has_input(2)) {
    const OnnxConstant& added = weight(2);
    if (added.elements() != 1 && (added.elements() != out || added.shape.back() != out))
      node_->fail("biases {} for {} results", fmt::join(added.shape, "x"), out);
    bias.emplace(static_cast<std::size_t>(out), added.floats()[0]);
    if (added.elements() == out) bias = added.floats();
    for (float& value : *bias) value *= static_cast<float>(node_->real("beta", 1));
  }
  if (places) return pointwise(x, std::move(weights), out, std::move(bias));
  linear(x, std::move(weights), out, std::move(bias));
}

void OnnxImporter::pointwise(const Feature& x, std::vector<float> weights, std::int64_t out,
                             std::optional<std::vector<float>> bias) {
  LayerValues values{{"weight", std::move(weights)}};
  if (bias) values.emplace_back("bias", *std::move(bias));
  Feature result = x;
  result.layer = add(layer::Conv{.out = out, .bias = bias.has_value()}, {x.layer}, std::move(values), node_->input(1));
  result.view.axes.back() = whole_axis(MapDigit::Of::channel, out);
  give(std::move(result));
}

void OnnxImporter::matmul() {
  if (const auto* part = std::get_if<AttentionPart>(&value(0))) return mean_of_values(*part);
  if (constant(0) == nullptr && constant(1) == nullptr) return products();
  Feature x = feature();
  const auto factor = static_cast<float>(std::exchange(x.factor, 1));
  const OnnxConstant& matrix = weight(1);
  const auto given = array_shape(x);
  if (matrix.shape.size() != 2 || x.view.axes.empty() || matrix.shape[0] != given.back())
    node_->fail("{} times {}, needed a matrix that fits", fmt::join(given, "x"), fmt::join(matrix.shape, "x"));
  const std::int64_t in = matrix.shape[0];
  const std::int64_t out = matrix.shape[1];
  std::vector<float> weights(matrix.floats().size());
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t i = 0; i < in; ++i)
      weights[static_cast<std::size_t>(o * in + i)] = factor * matrix.floats()[static_cast<std::size_t>(i * out + o)];
  if (x.batched && x.view.elements() == in) return linear(x, std::move(weights), out, std::nullopt);
  if (channel_axis(x) + 1 != x.view.axes.size())
    node_->fail("the last axis of its input {} is not the channels", fmt::join(given, "x"));
  pointwise(x, std::move(weights), out, std::nullopt);
}

void OnnxImporter::dropout() {
  if (std::holds_alternative<AttentionPart>(value(0))) return alias();  // of the weights: no layer here has it
  const Feature x = feature();
  double ratio = node_->real("ratio", 0.5);
  if (const auto given = single(constant(1))) ratio = *given;
  give_like(x, add(layer::Dropout{ratio}, {x.layer}));
}

void OnnxImporter::softmax() {
  if (const auto* found = std::get_if<AttentionPart>(&value(0))) {
    AttentionPart part = *found;
    const std::int64_t axis = node_->integer("axis", -1);
    if (node_->op() != "Softmax" || part.soft || (axis != -1 && axis + 1 != static_cast<std::int64_t>(part.axes)))
      node_->fail("over axis {} of products of queries and keys, needed one softmax over the last", axis);
    part.soft = true;
    return give(part);
  }
  const std::string& result = model_.graph().output(0).name();
  if (node_->output(0) != result)
    node_->fail("it is not the last operator: its input is no product of queries and keys");
  notes_.push_back(fmt::format("the {} at its end is left out: networks here give scores, which are in the same order",
                               node_->op()));
  alias();
}

}  // namespace kasimir
