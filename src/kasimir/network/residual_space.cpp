// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/residual_space.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/network/zoo/parts.h"

#include <algorithm>

namespace kasimir {
namespace {

using namespace zoo_parts;

AppendLayers convolution(const layer::Conv& conv) {
  return [conv](NetworkBuilder& net, const std::string& prefix, int from) {
    return add_conv_bn(net, {prefix, ""}, from, conv);
  };
}

AppendLayers separable(std::int64_t channels, std::int64_t stride) {
  return [channels, stride](NetworkBuilder& net, const std::string& prefix, int from) {
    const std::int64_t in = net.shape(from).c;
    const int filtered = add_conv_bn_relu(net, {prefix + "depthwise.", ""}, from, same_conv(in, 3, stride, in));
    return add_conv_bn(net, {prefix + "project.", ""}, filtered, same_conv(channels, 1));
  };
}

AppendLayers layers_of(const std::string& name, std::int64_t channels, std::int64_t stride) {
  if (name == "separable3") return separable(channels, stride);
  return convolution(same_conv(channels, 3, stride, name == "conv3_g4" ? 4 : 1));
}

int add_shortcut(NetworkBuilder& net, const std::string& prefix, int from, std::int64_t channels, std::int64_t stride) {
  if (stride == 1 && net.shape(from).c == channels) return from;
  return add_conv_bn(net, {prefix + "shortcut.", ""}, from, same_conv(channels, 1, stride));
}

void build(NetworkBuilder& net, const ResidualSize& size, const PlaceBlock& place) {
  int x = add_conv_bn_relu(net, {"stem.", ""}, 0, same_conv(size.widths.front(), 3));
  for (std::size_t stage = 0; stage < size.widths.size(); ++stage) {
    for (int block = 0; block < size.blocks; ++block) {
      const std::string prefix = fmt::format("stage{}.block{}.", stage + 1, block + 1);
      const int inner = add_relu(net, {prefix, "1"}, place(net, x));
      const int last = place(net, inner);
      const int shortcut = add_shortcut(net, prefix, x, size.widths[stage], stage > 0 && block == 0 ? 2 : 1);
      x = add_relu(net, {prefix, "2"}, net.add(prefix + "add", layer::Add{}, {last, shortcut}));
    }
  }
  add_mean_head(net, x, size.classes);
}

}  // namespace

const std::vector<std::string>& residual_operators() {
  static const std::vector<std::string> names{"conv3", "conv3_g4", "separable3"};
  return names;
}

NetworkSpace residual_space(const ResidualSize& size, const std::vector<std::string>& operators) {
  const auto& known = residual_operators();
  for (const std::string& name : operators)
    if (std::ranges::find(known, name) == known.end())
      throw input_error("unknown operator `{}` of a residual space, {}", name, suggestion(name, known));
  if (size.widths.empty() || size.blocks < 1)
    throw input_error("residual space {}: {} stages of {} blocks, needed is at least one of each", size.name,
                      size.widths.size(), size.blocks);
  NetworkSpace space;
  space.name = "residual-" + size.name;
  space.input = size.input;
  for (std::size_t stage = 0; stage < size.widths.size(); ++stage) {
    for (int conv = 0; conv < 2 * size.blocks; ++conv) {
      const std::int64_t stride = stage > 0 && conv == 0 ? 2 : 1;
      SpaceBlock block{fmt::format("stage{}.block{}.conv{}", stage + 1, conv / 2 + 1, conv % 2 + 1), {}};
      for (const std::string& name : operators)
        block.operators.push_back({name, layers_of(name, size.widths[stage], stride)});
      block.kernel_form = convolution(same_conv(size.widths[stage], 3, stride));
      space.blocks.push_back(std::move(block));
    }
  }
  space.build = [size](NetworkBuilder& net, const PlaceBlock& place) { build(net, size, place); };
  return space;
}

}  // namespace kasimir
