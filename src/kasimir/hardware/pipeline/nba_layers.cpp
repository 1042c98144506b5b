// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/pipeline/auto_nba.h"

#include <array>

namespace kasimir {
namespace {

constexpr std::size_t block_count = 22;
// Blocks 0, 1-4, 5-8, 9-12, 13-16, 17-20, 21 are the stages of FBNet's space (Wu et al., CVPR 2019).
constexpr std::array<int, block_count> stage_of{0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6};
constexpr std::array<int, 7> trained_channels{16, 24, 32, 64, 112, 184, 352};
constexpr std::array<int, 7> paper_channels{16, 24, 32, 64, 112, 192, 352};
constexpr std::array<int, 7> cifar_sizes{32, 32, 16, 8, 8, 4, 4};
constexpr std::array<int, 7> imagenet_sizes{112, 56, 28, 14, 14, 7, 7};
constexpr int stem_channels = 16;

struct Block {
  bool skip = false;
  int kernel = 3, expansion = 1, groups = 1;
};

const std::vector<std::string>& block_names() {
  static const std::vector<std::string> names{"k3_e1",    "k3_e1_g2", "k3_e3", "k3_e6", "k5_e1",
                                              "k5_e1_g2", "k5_e3",    "k5_e6", "skip"};
  return names;
}

Block block_of(const std::string& name) {
  if (name == "skip") return {.skip = true};
  return {.kernel = name[1] - '0', .expansion = name[4] - '0', .groups = name.ends_with("_g2") ? 2 : 1};
}

int out_size(std::size_t block, NbaInput input) {
  const auto stage = static_cast<std::size_t>(stage_of[block]);
  return input == NbaInput::cifar ? cifar_sizes[stage] : imagenet_sizes[stage];
}

int in_channels(const std::array<int, 7>& channels, std::size_t block) {
  return block == 0 ? stem_channels : channels[static_cast<std::size_t>(stage_of[block - 1])];
}

void add_paper_block(std::vector<Placed<PaperLayer>>& layers, const Block& b, std::size_t i, NbaInput input, int bits) {
  const double cin = in_channels(paper_channels, i), cout = paper_channels[static_cast<std::size_t>(stage_of[i])];
  const double hidden = cin * b.expansion, size = out_size(i, input), kernel = b.kernel;
  const auto add = [&](const PaperLayer& layer) { layers.push_back({layer, bits, static_cast<int>(i)}); };
  for (int g = 0; g < b.groups; ++g) add({cin / b.groups, hidden / b.groups, size, 1, false});
  add({1, hidden, size, kernel, true});
  for (int g = 0; g < b.groups; ++g) add({hidden / b.groups, cout / b.groups, size, 1, false});
}

ConvLayer with_bits(ConvLayer layer, int bits) {
  layer.bits = {bits, bits};
  return layer;
}

void add_sound_block(std::vector<Placed<SoundLayer>>& layers, const Block& b, std::size_t i, NbaInput input, int size,
                     int bits) {
  const int cin = in_channels(trained_channels, i), cout = trained_channels[static_cast<std::size_t>(stage_of[i])];
  const int stride = size / out_size(i, input), hidden = cin * b.expansion;
  const bool same_shape = stride == 1 && cin == cout;
  const std::string name = fmt::format("block{}", i + 1);
  const auto add = [&](const ConvLayer& layer, bool adds_skip = false) {
    layers.push_back({{with_bits(layer, bits), adds_skip}, bits, static_cast<int>(i)});
  };
  if (b.skip) {
    if (!same_shape) add(same_convolution(name + ".skip", cin, cout, size, 1, stride));
    return;
  }
  add(same_convolution(name + ".expand", cin, hidden, size, 1, 1, b.groups));
  add(same_convolution(name + ".depthwise", hidden, hidden, size, b.kernel, stride, hidden));
  add(same_convolution(name + ".project", hidden, cout, size / stride, 1, 1, b.groups), same_shape);
}

}  // namespace

NbaNetwork nba_example(NbaInput input) {
  return {input,
          {"k5_e6", "k5_e6",    "k3_e1", "k5_e3", "k5_e3", "k5_e6", "k5_e1_g2", "k5_e1", "k5_e6", "k5_e6", "k5_e3",
           "k5_e6", "k5_e1_g2", "k3_e6", "k5_e6", "k3_e3", "k5_e6", "k5_e6",    "k5_e3", "k5_e6", "k5_e3", "k5_e6"},
          {6, 8, 6, 6, 4, 8, 6, 6, 6, 8, 6, 8, 8, 8, 6, 6, 6, 6, 6, 6, 6, 6}};
}

void require_legal(const NbaNetwork& network) {
  if (network.blocks.size() != block_count || network.bits.size() != block_count)
    throw input_error("{} blocks and {} bit widths, needed: {} of each", network.blocks.size(), network.bits.size(),
                      block_count);
  for (std::size_t i = 0; i < block_count; ++i) {
    bool known = false;
    for (const std::string& name : block_names()) known = known || name == network.blocks[i];
    if (!known)
      throw input_error("unknown block `{}` at place {}", network.blocks[i], i + 1)
          .note(suggestion(network.blocks[i], block_names()));
    if (network.bits[i] < 1 || network.bits[i] > 64)
      throw input_error("{} bits at place {}, needed: 1 to 64", network.bits[i], i + 1);
  }
}

std::vector<Placed<PaperLayer>> paper_layers(const NbaNetwork& network) {
  require_legal(network);
  std::vector<Placed<PaperLayer>> layers;
  std::size_t next_bits = 0;
  for (std::size_t i = 0; i < block_count; ++i) {
    const Block block = block_of(network.blocks[i]);
    if (!block.skip) add_paper_block(layers, block, i, network.input, network.bits[next_bits++]);
  }
  return layers;
}

std::vector<Placed<SoundLayer>> sound_layers(const NbaNetwork& network, const NbaFrame& frame) {
  require_legal(network);
  const bool cifar = network.input == NbaInput::cifar;
  std::vector<Placed<SoundLayer>> layers;
  const auto add_edge = [&](const ConvLayer& layer) {
    layers.push_back({{with_bits(layer, frame.edge_bits), false}, frame.edge_bits, -1});
  };
  add_edge(same_convolution("stem", 3, stem_channels, cifar ? 32 : 224, 3, cifar ? 1 : 2));
  int size = cifar ? 32 : 112;
  for (std::size_t i = 0; i < block_count; ++i) {
    add_sound_block(layers, block_of(network.blocks[i]), i, network.input, size, network.bits[i]);
    size = out_size(i, network.input);
  }
  const int header = cifar ? 1504 : 1984;
  add_edge(same_convolution("header", trained_channels.back(), header, size, 1));
  add_edge(fully_connected("classifier", header, frame.classes));
  return layers;
}

}  // namespace kasimir
