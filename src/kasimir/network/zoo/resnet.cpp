// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/zoo/parts.h"
#include "kasimir/network/zoo/records.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace kasimir {

namespace {

using namespace zoo_parts;

/// A ResNet of basic blocks: what differs between the members of the family.
struct Plan {
  std::string name;
  std::vector<std::int64_t> widths;  ///< channels of each stage
  int blocks = 1;                    ///< per stage
  bool normalised_shortcut = true;   ///< 1x1 convolution and batch norm, else 1x1 convolution with bias
  bool reducing_stem = false;        ///< 7x7 /2 and a maximum pool, else 3x3
};

int add_block(NetworkBuilder& net, const Plan& plan, const std::string& prefix, int from, std::int64_t channels,
              std::int64_t stride) {
  int x = add_conv_bn_relu(net, {prefix, "1"}, from, same_conv(channels, 3, stride));
  x = add_conv_bn(net, {prefix, "2"}, x, same_conv(channels, 3));
  int shortcut = from;
  if (stride != 1 || net.shape(from).c != channels) {
    layer::Conv conv = same_conv(channels, 1, stride);
    conv.bias = !plan.normalised_shortcut;
    const Names names{prefix + "shortcut.", ""};
    shortcut = plan.normalised_shortcut ? add_conv_bn(net, names, from, conv) : net.add(names("conv"), conv, {from});
  }
  return add_relu(net, {prefix, "2"}, net.add(prefix + "add", layer::Add{}, {x, shortcut}));
}

Network build(const Plan& plan, const ZooOptions& options) {
  NetworkBuilder net(plan.name, options.input);
  const std::int64_t first = scaled(plan.widths.front(), options.width);
  int x = add_conv_bn_relu(net, {"stem.", ""}, 0, plan.reducing_stem ? same_conv(first, 7, 2) : same_conv(first, 3));
  if (plan.reducing_stem) x = net.add("stem.pool", layer::MaxPool{.kernel = 3, .stride = 2, .padding = 1}, {x});
  for (std::size_t stage = 0; stage < plan.widths.size(); ++stage)
    for (int block = 0; block < plan.blocks; ++block)
      x = add_block(net, plan, fmt::format("stage{}.block{}.", stage + 1, block + 1), x,
                    scaled(plan.widths[stage], options.width), stage > 0 && block == 0 ? 2 : 1);
  add_mean_head(net, x, options.classes);
  return std::move(net).finish();
}

// The benchmark's convolutions have a bias in front of batch norm, which has no effect; it is left out here.
Network build_resnet8(const ZooOptions& options) {
  return build({.name = "resnet8", .widths = {16, 32, 64}, .normalised_shortcut = false}, options);
}

// The shortcuts that change the channels are 1x1 convolutions (option B of section 4.1). The paper's CIFAR runs pad the
// identity with zeros (option A), which would need a layer of its own in each back end for 2,752 parameters less.
Network build_resnet20(const ZooOptions& options) {
  return build({.name = "resnet20", .widths = {16, 32, 64}, .blocks = 3}, options);
}

Network build_resnet18(const ZooOptions& options) {
  return build(
      {.name = "resnet18", .widths = {64, 128, 256, 512}, .blocks = 2, .reducing_stem = !is_small(options.input)},
      options);
}

}  // namespace

namespace zoo_records {

constinit const ZooRecord resnet8{
    .name = "resnet8",
    .brief = "residual network of three blocks for tiny machines",
    .source = "MLPerf Tiny image classification (Banbury et al., arXiv 2106.07597)",
    .defaults = {.classes = 10, .input = {3, 32, 32}},
    .build = build_resnet8,
};

constinit const ZooRecord resnet20{
    .name = "resnet20",
    .brief = "residual network of nine blocks for small images, shortcuts by 1x1 convolution",
    .source = "He et al., Deep Residual Learning for Image Recognition, CVPR 2016, section 4.2",
    .defaults = {.classes = 10, .input = {3, 32, 32}},
    .build = build_resnet20,
};

constinit const ZooRecord resnet18{
    .name = "resnet18",
    .brief = "residual network of eight blocks; 3x3 stem for images up to 64x64",
    .source = "He et al., Deep Residual Learning for Image Recognition, CVPR 2016, table 1",
    .defaults = {.classes = 1000, .input = {3, 224, 224}},
    .build = build_resnet18,
};

}  // namespace zoo_records

}  // namespace kasimir
