// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/layer.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <initializer_list>

namespace kasimir {

namespace {

std::string text(const layer::Input&) { return "input"; }

std::string text(const layer::Conv& conv) {
  std::string result = fmt::format("conv {}x{}", conv.kernel_h, conv.kernel_w);
  if (conv.stride != 1) result += fmt::format(" /{}", conv.stride);
  result += fmt::format(" {}->{}", conv.in, conv.out);
  if (conv.pad_h == conv.pad_w && conv.pad_h != 0) result += fmt::format(" pad {}", conv.pad_h);
  if (conv.pad_h != conv.pad_w) result += fmt::format(" pad {}x{}", conv.pad_h, conv.pad_w);
  if (conv.dilation != 1) result += fmt::format(" dilation {}", conv.dilation);
  if (conv.groups != 1) result += fmt::format(" groups {}", conv.groups);
  if (conv.bias) result += " bias";
  return result;
}

std::string text(const layer::BatchNorm&) { return "batchnorm"; }

std::string text(const layer::Activation& activation) {
  switch (activation.kind) {
    case layer::ActivationKind::relu:
      return "relu";
    case layer::ActivationKind::relu6:
      return "relu6";
    case layer::ActivationKind::hardswish:
      return "hardswish";
    case layer::ActivationKind::sigmoid:
      return "sigmoid";
    case layer::ActivationKind::tanh:
      return "tanh";
    case layer::ActivationKind::silu:
      return "silu";
    case layer::ActivationKind::gelu:
      return "gelu";
    case layer::ActivationKind::hardsigmoid:
      return "hardsigmoid";
  }
  fail_check("a known activation", __FILE__, __LINE__, fmt::format("kind {}", static_cast<int>(activation.kind)));
}

std::string text(const layer::Add&) { return "add"; }
std::string text(const layer::Mul&) { return "mul"; }
std::string text(const layer::Concat&) { return "concat"; }
std::string text(const layer::Slice& slice) {
  return fmt::format("channels {}..{}", slice.first, slice.first + slice.count - 1);
}
std::string text(const layer::Shuffle& shuffle) { return fmt::format("shuffle {} groups", shuffle.groups); }
std::string text(const layer::Pad& pad) {
  return fmt::format("pad top {} left {} bottom {} right {}", pad.top, pad.left, pad.bottom, pad.right);
}
std::string text(const layer::ChannelNorm&) { return "channelnorm"; }
std::string text(const layer::Rows& rows) {
  return fmt::format("rows {}..{}", rows.first, rows.first + rows.count - 1);
}
std::string text(const layer::Sequence&) { return "sequence"; }
std::string text(const layer::LearnedMap&) { return "learned map"; }
std::string text(const layer::Attention& attention) {
  return fmt::format("attention {} heads of {}", attention.heads, attention.channels / attention.heads);
}

std::string text(const layer::MaxPool& pool) {
  std::string result = fmt::format("maxpool {0}x{0} /{1}", pool.kernel, pool.stride);
  if (pool.padding != 0) result += fmt::format(" pad {}", pool.padding);
  if (pool.ceil) result += " ceil";
  return result;
}

std::string text(const layer::AvgPool& pool) { return fmt::format("avgpool {0}x{0} /{1}", pool.kernel, pool.stride); }
std::string text(const layer::GlobalAvgPool&) { return "global avgpool"; }
std::string text(const layer::Dropout& dropout) { return fmt::format("dropout {}", dropout.probability); }

std::string text(const layer::Linear& linear) {
  return fmt::format("linear {}->{}{}", linear.in, linear.out, linear.bias ? " bias" : "");
}

std::int64_t product(const std::string& name, std::initializer_list<std::int64_t> factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(result, factor, &result))
      throw input_error("layer `{}` is too large: its cost does not fit into 64 bits", name);
  return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    throw input_error("the network is too large: its cost does not fit into 64 bits");
  return result;
}

}  // namespace

std::string Shape3::str() const { return fmt::format("{}x{}x{}", c, h, w); }

Shape3 Shape3::parse(const std::string& text) {
  const auto parts = split(text, 'x');
  Shape3 shape;
  if (parts.size() == 3) {
    shape = {parse_integer(parts[0]).value_or(0), parse_integer(parts[1]).value_or(0),
             parse_integer(parts[2]).value_or(0)};
  }
  if (shape.c < 1 || shape.h < 1 || shape.w < 1)
    throw input_error("`{}` is no image size; write CHANNELSxHEIGHTxWIDTH such as 3x32x32", text);
  return shape;
}

bool never_negative(const Op& op, bool inputs) {
  if (const auto* activation = std::get_if<layer::Activation>(&op)) {
    using enum layer::ActivationKind;
    return activation->kind == relu || activation->kind == relu6 || activation->kind == sigmoid ||
           activation->kind == hardsigmoid;
  }
  const bool weighted = std::holds_alternative<layer::Conv>(op) || std::holds_alternative<layer::Linear>(op) ||
                        std::holds_alternative<layer::BatchNorm>(op) ||
                        std::holds_alternative<layer::ChannelNorm>(op) || std::holds_alternative<layer::LearnedMap>(op);
  return inputs && !weighted && !std::holds_alternative<layer::Input>(op);
}

std::string op_text(const Op& op) {
  return std::visit([](const auto& kind) { return text(kind); }, op);
}

LayerCost& LayerCost::operator+=(const LayerCost& other) {
  macs = sum(macs, other.macs);
  params = sum(params, other.params);
  return *this;
}

LayerCost Layer::cost() const {
  if (const auto* conv = std::get_if<layer::Conv>(&op)) {
    const std::int64_t weights = product(name, {conv->out, conv->in / conv->groups, conv->kernel_h, conv->kernel_w});
    return {product(name, {weights, out.h, out.w}), sum(weights, conv->bias ? conv->out : 0)};
  }
  if (const auto* linear = std::get_if<layer::Linear>(&op)) {
    const std::int64_t weights = product(name, {linear->in, linear->out});
    return {weights, sum(weights, linear->bias ? linear->out : 0)};
  }
  if (const auto* norm = std::get_if<layer::BatchNorm>(&op)) return {0, product(name, {2, norm->channels})};
  if (const auto* norm = std::get_if<layer::ChannelNorm>(&op)) return {0, product(name, {2, norm->channels})};
  if (std::holds_alternative<layer::LearnedMap>(op)) return {0, product(name, {out.c, out.h, out.w})};
  if (const auto* attention = std::get_if<layer::Attention>(&op))
    return {product(name, {sum(attention->channels, out.c), attention->places, out.h, out.w}), 0};
  return {};
}

}  // namespace kasimir
