// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/zoo/parts.h"
#include "kasimir/network/zoo/records.h"

#include <fmt/format.h>

#include <string>

namespace kasimir {

namespace {

using namespace zoo_parts;

constexpr std::int64_t growth = 32;
constexpr std::int64_t bottleneck = 4;  // the 1x1 convolution gives 4 * growth channels (DenseNet-B)
constexpr int block_layers[] = {6, 12, 24, 16};

/// Large images: 7x7 /2, normalised and pooled. Small ones: a bare 3x3, for the first dense layer normalises it, as in
/// the authors' code for CIFAR.
int add_stem(NetworkBuilder& net, const ZooOptions& options, std::int64_t channels) {
  if (is_small(options.input)) return net.add("stem.conv", same_conv(channels, 3), {0});
  const int x = add_conv_bn_relu(net, {"stem.", ""}, 0, same_conv(channels, 7, 2));
  return net.add("stem.pool", layer::MaxPool{.kernel = 3, .stride = 2, .padding = 1}, {x});
}

Network build_densenet121(const ZooOptions& options) {
  NetworkBuilder net("densenet121", options.input);
  const std::int64_t step = scaled(growth, options.width);
  int x = add_stem(net, options, 2 * step);
  int block = 0;
  for (const int layers : block_layers) {
    if (++block > 1) {
      const std::string prefix = fmt::format("transition{}.", block - 1);
      x = add_bn_relu_conv(net, {prefix, ""}, x, same_conv(net.shape(x).c / 2, 1));
      x = net.add(prefix + "pool", layer::AvgPool{}, {x});
    }
    for (int i = 1; i <= layers; ++i) {
      const std::string prefix = fmt::format("block{}.layer{}.", block, i);
      int more = add_bn_relu_conv(net, {prefix, "1"}, x, same_conv(bottleneck * step, 1));
      more = add_bn_relu_conv(net, {prefix, "2"}, more, same_conv(step, 3));
      x = net.add(prefix + "concat", layer::Concat{}, {x, more});
    }
  }
  x = add_relu(net, {"last.", ""}, net.add("last.bn", layer::BatchNorm{}, {x}));
  add_mean_head(net, x, options.classes);
  return std::move(net).finish();
}

}  // namespace

namespace zoo_records {

constinit const ZooRecord densenet121{
    .name = "densenet121",
    .brief = "four blocks in which each layer reads all earlier ones, growth 32; 3x3 stem for images up to 64x64",
    .source = "Huang et al., Densely Connected Convolutional Networks, CVPR 2017 (arXiv 1608.06993), table 1",
    .defaults = {.classes = 1000, .input = {3, 224, 224}},
    .build = build_densenet121,
};

}  // namespace zoo_records

}  // namespace kasimir
