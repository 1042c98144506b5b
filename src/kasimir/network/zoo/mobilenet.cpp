// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/zoo/parts.h"
#include "kasimir/network/zoo/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace kasimir {

namespace {

using namespace zoo_parts;

/// A row of table 2 of the paper: expansion t, channels c, repeats n, stride s of the first block.
struct Row {
  std::int64_t expansion;
  std::int64_t channels;
  int repeats;
  std::int64_t stride;
};
constexpr Row rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                        {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

constexpr layer::ActivationKind relu6 = layer::ActivationKind::relu6;

/// Expand by 1x1, filter by depthwise 3x3, project by 1x1 without activation; a shortcut where the shapes agree.
int add_block(NetworkBuilder& net, const std::string& prefix, int from, const Row& row, std::int64_t channels,
              std::int64_t stride) {
  const std::int64_t hidden = net.shape(from).c * row.expansion;
  int x = from;
  if (row.expansion != 1) x = add_conv_bn_relu(net, {prefix + "expand.", ""}, x, same_conv(hidden, 1), relu6);
  x = add_conv_bn_relu(net, {prefix + "depthwise.", ""}, x, same_conv(hidden, 3, stride, hidden), relu6);
  x = add_conv_bn(net, {prefix + "project.", ""}, x, same_conv(channels, 1));
  return net.shape(from) == net.shape(x) && stride == 1 ? net.add(prefix + "add", layer::Add{}, {x, from}) : x;
}

Network build_mobilenet_v2(const ZooOptions& options) {
  NetworkBuilder net("mobilenet_v2", options.input);
  const bool small = is_small(options.input);
  int x = add_conv_bn_relu(net, {"stem.", ""}, 0, same_conv(scaled(32, options.width), 3, small ? 1 : 2), relu6);
  for (std::size_t stage = 0; stage < std::size(rows); ++stage) {
    const Row& row = rows[stage];
    // Small images: the stem and the second stage keep the resolution, so that 32 x 32 ends as 4 x 4.
    const std::int64_t first = small && stage == 1 ? 1 : row.stride;
    for (int block = 0; block < row.repeats; ++block)
      x = add_block(net, fmt::format("stage{}.block{}.", stage + 1, block + 1), x, row,
                    scaled(row.channels, options.width), block == 0 ? first : 1);
  }
  x = add_conv_bn_relu(net, {"last.", ""}, x, same_conv(scaled(1280, std::max(1.0, options.width)), 1), relu6);
  add_mean_head(net, x, options.classes, 0.2);
  return std::move(net).finish();
}

}  // namespace

namespace zoo_records {

constinit const ZooRecord mobilenet_v2{
    .name = "mobilenet_v2",
    .brief = "inverted residual blocks with depthwise convolutions; strides of 1 in front for images up to 64x64",
    .source = "Sandler et al., MobileNetV2, CVPR 2018 (arXiv 1801.04381), table 2",
    .defaults = {.classes = 1000, .input = {3, 224, 224}},
    .build = build_mobilenet_v2,
};

}  // namespace zoo_records

}  // namespace kasimir
