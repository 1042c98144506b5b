// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/zoo/parts.h"
#include "kasimir/network/zoo/records.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace kasimir {

namespace {

using namespace zoo_parts;

constexpr std::pair<std::int64_t, int> stages[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};

/// The two hidden layers of 4096 of the paper's table 1, on the flattened feature map.
void add_hidden_head(NetworkBuilder& net, int x, const ZooOptions& options) {
  for (const char* index : {"1", "2"}) {
    const Names names{"head.", index};
    x = net.add(names("linear"), layer::Linear{.out = scaled(4096, options.width)}, {x});
    x = add_relu(net, names, x);
    x = net.add(names("dropout"), layer::Dropout{0.5}, {x});
  }
  net.add("head.linear3", layer::Linear{.out = options.classes}, {x});
}

Network build_vgg16(const ZooOptions& options) {
  NetworkBuilder net("vgg16", options.input);
  const bool small = is_small(options.input);
  int x = 0;
  int stage = 0;
  for (const auto& [channels, convs] : stages) {
    const std::string prefix = fmt::format("stage{}.", ++stage);
    for (int i = 1; i <= convs; ++i) {
      layer::Conv conv = same_conv(scaled(channels, options.width), 3);
      conv.bias = true;  // as in torchvision's vgg16_bn, whose counts it is compared with
      x = add_conv_bn_relu(net, {prefix, std::to_string(i)}, x, conv);
    }
    // Rounding up keeps five reductions possible for images below 32 x 32.
    x = net.add(prefix + "pool", layer::MaxPool{.kernel = 2, .stride = 2, .ceil = small}, {x});
  }
  if (small)
    add_mean_head(net, x, options.classes);
  else
    add_hidden_head(net, x, options);
  return std::move(net).finish();
}

}  // namespace

namespace zoo_records {

constinit const ZooRecord vgg16{
    .name = "vgg16",
    .brief = "thirteen 3x3 convolutions with batch norm; one fully connected layer for images up to 64x64, else three",
    .source = "Simonyan and Zisserman, arXiv 1409.1556, table 1, column D; batch norm as in torchvision's vgg16_bn",
    .defaults = {.classes = 1000, .input = {3, 224, 224}},
    .build = build_vgg16,
};

}  // namespace zoo_records

}  // namespace kasimir
