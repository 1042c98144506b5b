// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/zoo/parts.h"

#include <algorithm>

namespace kasimir::zoo_parts {

bool is_small(Shape3 image) { return image.h <= 64 && image.w <= 64; }

std::int64_t scaled(std::int64_t channels, double width) {
  if (width == 1.0) return channels;
  const double exact = static_cast<double>(channels) * width;
  const std::int64_t rounded = std::max<std::int64_t>(8, static_cast<std::int64_t>(exact + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * exact ? rounded + 8 : rounded;
}

layer::Conv same_conv(std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t groups) {
  layer::Conv conv;
  conv.out = out;
  conv.kernel_h = conv.kernel_w = kernel;
  conv.pad_h = conv.pad_w = kernel / 2;
  conv.stride = stride;
  conv.groups = groups;
  return conv;
}

int add_relu(NetworkBuilder& net, const Names& names, int from, layer::ActivationKind kind) {
  return net.add(names("relu"), layer::Activation{kind}, {from});
}

int add_conv_bn(NetworkBuilder& net, const Names& names, int from, const layer::Conv& conv) {
  return net.add(names("bn"), layer::BatchNorm{}, {net.add(names("conv"), conv, {from})});
}

int add_conv_bn_relu(NetworkBuilder& net, const Names& names, int from, const layer::Conv& conv,
                     layer::ActivationKind kind) {
  return add_relu(net, names, add_conv_bn(net, names, from, conv), kind);
}

int add_bn_relu_conv(NetworkBuilder& net, const Names& names, int from, const layer::Conv& conv) {
  const int relu = add_relu(net, names, net.add(names("bn"), layer::BatchNorm{}, {from}));
  return net.add(names("conv"), conv, {relu});
}

void add_mean_head(NetworkBuilder& net, int from, std::int64_t classes, double dropout) {
  int x = net.add("head.pool", layer::GlobalAvgPool{}, {from});
  if (dropout > 0) x = net.add("head.dropout", layer::Dropout{dropout}, {x});
  net.add("head.linear", layer::Linear{.out = classes}, {x});
}

}  // namespace kasimir::zoo_parts
