// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/network.h"

#include <cstdint>
#include <string>

/// What the networks of the zoo are put together from.
namespace kasimir::zoo_parts {

/// Images of at most 64 x 64 pixels get the stem and the head that their literature uses for CIFAR: a 3x3 stem that
/// keeps the resolution.
bool is_small(Shape3 image);

/// `channels` times `width` as a multiple of 8, at least 8 and at least 90 % of the exact product; unchanged where
/// width is 1. The rule of MobileNetV2's published code.
std::int64_t scaled(std::int64_t channels, double width);

/// A square convolution with output = input / stride, rounded up. `kernel` is odd. Depthwise: as many groups as `out`.
layer::Conv same_conv(std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1);

/// Layer names of a group: `prefix` + "conv" | "bn" | "relu" + `suffix`.
struct Names {
  std::string prefix;
  std::string suffix;
  [[nodiscard]] std::string operator()(const char* what) const { return prefix + what + suffix; }
};

int add_relu(NetworkBuilder& net, const Names& names, int from,
             layer::ActivationKind kind = layer::ActivationKind::relu);
int add_conv_bn(NetworkBuilder& net, const Names& names, int from, const layer::Conv& conv);
int add_conv_bn_relu(NetworkBuilder& net, const Names& names, int from, const layer::Conv& conv,
                     layer::ActivationKind kind = layer::ActivationKind::relu);
int add_bn_relu_conv(NetworkBuilder& net, const Names& names, int from, const layer::Conv& conv);

/// Adds "head.pool" (global mean), "head.dropout" where a probability is given, and "head.linear".
void add_mean_head(NetworkBuilder& net, int from, std::int64_t classes, double dropout = 0);

}  // namespace kasimir::zoo_parts
