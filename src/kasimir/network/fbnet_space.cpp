// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/fbnet_space.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/network/zoo/parts.h"

#include <algorithm>

namespace kasimir {
namespace {

using namespace zoo_parts;

/// The shape that a block has to give, and its stride.
struct BlockShape {
  std::int64_t channels = 0;
  std::int64_t stride = 1;
};

struct Form {
  std::int64_t kernel = 3;
  std::int64_t expansion = 1;
  std::int64_t groups = 1;
};

int with_shortcut(NetworkBuilder& net, const std::string& prefix, int from, int last) {
  if (net.shape(from) != net.shape(last)) return last;
  return net.add(prefix + "add", layer::Add{}, {last, from});
}

/// Expand, filter, project; `form.groups` of the expansion, and none of the projection.
int add_inverted(NetworkBuilder& net, const std::string& prefix, int from, const Form& form, std::int64_t hidden,
                 const BlockShape& shape) {
  const int expanded = add_conv_bn_relu(net, {prefix + "expand.", ""}, from, same_conv(hidden, 1, 1, form.groups));
  const int filtered = add_conv_bn_relu(net, {prefix + "depthwise.", ""}, expanded,
                                        same_conv(hidden, form.kernel, shape.stride, hidden));
  return add_conv_bn(net, {prefix + "project.", ""}, filtered, same_conv(shape.channels, 1));
}

int append_inverted(NetworkBuilder& net, const std::string& prefix, int from, const Form& form,
                    const BlockShape& shape) {
  const std::int64_t hidden = net.shape(from).c * form.expansion;
  if (form.groups == 1) return with_shortcut(net, prefix, from, add_inverted(net, prefix, from, form, hidden, shape));
  // A shuffle gives each group of the projection one half of each group of the expansion. So each half of the output
  // is an inverted block of its own: its expansion takes those channels from both groups, its projection reads all.
  std::vector<int> halves;
  for (const char* half : {"half1.", "half2."})
    halves.push_back(add_inverted(net, prefix + half, from, form, hidden / 2, {shape.channels / 2, shape.stride}));
  return with_shortcut(net, prefix, from, net.add(prefix + "concat", layer::Concat{}, halves));
}

int append_skip(NetworkBuilder& net, const std::string& prefix, int from, const BlockShape& shape) {
  if (shape.stride == 1 && net.shape(from).c == shape.channels) return from;
  return add_conv_bn_relu(net, {prefix, ""}, from, same_conv(shape.channels, 1, shape.stride));
}

int append_kernel(NetworkBuilder& net, const std::string& prefix, int from, const BlockShape& shape) {
  const int last = add_conv_bn_relu(net, {prefix, ""}, from, same_conv(shape.channels, 3, shape.stride));
  return with_shortcut(net, prefix, from, last);
}

BlockOperator operator_of(const std::string& name, const BlockShape& shape) {
  if (name == "skip")
    return {name, [shape](NetworkBuilder& net, const std::string& prefix, int from) {
              return append_skip(net, prefix, from, shape);
            }};
  const Form form{name[1] - '0', name[4] - '0', name.ends_with("_g2") ? 2 : 1};
  return {name, [shape, form](NetworkBuilder& net, const std::string& prefix, int from) {
            return append_inverted(net, prefix, from, form, shape);
          }};
}

void build(NetworkBuilder& net, const FbnetSize& size, const PlaceBlock& place) {
  int x = add_conv_bn_relu(net, {"stem.", ""}, 0, same_conv(size.stem_channels, 3, size.stem_stride));
  for (const FbnetStage& stage : size.stages)
    for (int block = 0; block < stage.blocks; ++block) x = place(net, x);
  x = add_conv_bn_relu(net, {"header.", ""}, x, same_conv(size.header_channels, 1));
  add_mean_head(net, x, size.classes);
}

/// The stages of FBNet (Wu et al., CVPR 2019, table 1) at Auto-NBA's strides.
std::vector<FbnetStage> published_stages(std::vector<std::int64_t> strides) {
  constexpr std::int64_t channels[] = {16, 24, 32, 64, 112, 184, 352};
  constexpr int blocks[] = {1, 4, 4, 4, 4, 4, 1};
  std::vector<FbnetStage> stages;
  for (std::size_t s = 0; s < std::size(channels); ++s) stages.push_back({channels[s], blocks[s], strides[s]});
  return stages;
}

}  // namespace

FbnetSize fbnet_size(std::string_view name) {
  const std::vector<FbnetSize> sizes{
      {"cifar", {3, 32, 32}, 10, 16, 1, published_stages({1, 1, 2, 2, 1, 2, 1}), 1504},
      {"imagenet", {3, 224, 224}, 1000, 16, 2, published_stages({1, 2, 2, 2, 1, 2, 1}), 1984},
      {"small", {3, 32, 32}, 10, 16, 2, {{16, 2, 1}, {32, 3, 2}, {64, 3, 2}}, 128},
      {"tiny", {3, 32, 32}, 10, 8, 2, {{8, 1, 1}, {16, 2, 2}}, 32},
  };
  const auto found = std::ranges::find(sizes, name, &FbnetSize::name);
  if (found != sizes.end()) return *found;
  std::vector<std::string> known;
  for (const FbnetSize& size : sizes) known.push_back(size.name);
  throw input_error("unknown size `{}` of FBNet's space, {}", name, suggestion(name, known));
}

const std::vector<std::string>& fbnet_operators() {
  static const std::vector<std::string> names{"k3_e1",    "k3_e1_g2", "k3_e3", "k3_e6", "k5_e1",
                                              "k5_e1_g2", "k5_e3",    "k5_e6", "skip"};
  return names;
}

NetworkSpace fbnet_space(const FbnetSize& size, const std::vector<std::string>& operators) {
  const auto& known = fbnet_operators();
  for (const std::string& name : operators)
    if (std::ranges::find(known, name) == known.end())
      throw input_error("unknown operator `{}` of FBNet's space, {}", name, suggestion(name, known));
  NetworkSpace space;
  space.name = "fbnet-" + size.name;
  space.input = size.input;
  for (std::size_t s = 0; s < size.stages.size(); ++s) {
    for (int b = 0; b < size.stages[s].blocks; ++b) {
      const BlockShape shape{size.stages[s].channels, b == 0 ? size.stages[s].stride : 1};
      SpaceBlock block{fmt::format("stage{}.block{}", s + 1, b + 1), {}};
      for (const std::string& name : operators) block.operators.push_back(operator_of(name, shape));
      block.kernel_form = [shape](NetworkBuilder& net, const std::string& prefix, int from) {
        return append_kernel(net, prefix, from, shape);
      };
      space.blocks.push_back(std::move(block));
    }
  }
  space.build = [size](NetworkBuilder& net, const PlaceBlock& place) { build(net, size, place); };
  return space;
}

}  // namespace kasimir
