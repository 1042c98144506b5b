// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/network/fbnet_space.h"
#include "kasimir/network/residual_space.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/supernet.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kasimir {

/// These tensors are too small to share between threads.
struct OnOneThread : ::testing::Test {
  void SetUp() override { set_threads(1); }
};

/// Grey images of 12 x 12 with a bright corner, which is the class, on noise.
inline ImageSet corners(int count) {
  ImageSet images{1, 12, 12, {}, {}};
  Rng rng(7);
  for (int i = 0; i < count; ++i) {
    const int label = i % 4;
    images.labels.push_back(label);
    for (int y = 0; y < 12; ++y)
      for (int x = 0; x < 12; ++x) {
        const bool bright = (y < 6) == (label < 2) && (x < 6) == (label % 2 == 0);
        images.pixels.push_back(static_cast<std::uint8_t>((bright ? 90 : 20) + rng.below(120)));
      }
  }
  return images;
}

inline std::vector<std::int32_t> range(std::int32_t from, std::int32_t to) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(to - from));
  std::iota(indices.begin(), indices.end(), from);
  return indices;
}

inline SupernetData parts() { return {range(0, 128), range(128, 192), range(192, 256)}; }

inline NetworkSpace small_fbnet(const std::vector<std::string>& operators = {"k3_e1", "k5_e3", "k3_e1_g2", "skip"}) {
  FbnetSize size = fbnet_size("tiny");
  size.input = {1, 12, 12};
  size.classes = 4;
  return fbnet_space(size, operators);
}

inline NetworkSpace small_residual() {
  NetworkSpace space =
      residual_space({.name = "r", .input = {1, 12, 12}, .classes = 4, .widths = {8, 16}}, {"conv3", "separable3"});
  const std::vector<Kernel> kernels{
      parse_kernel("kernel two\n  a = conv(x, to=Ci, groups=Ci)\n  b = norm(a)\n  c = relu(b)\n  d = stride(c)\n"
                   "  e = linear(d, to=Co)\nreturn e\n",
                   catalog())};
  offer_kernels(space, kernels);
  return space;
}

inline SupernetOptions quick(std::vector<int> bits = {2, 4, 8}) {
  SupernetOptions options;
  options.bits = std::move(bits);
  options.batch = 32;
  options.learning_rate = 0.2;
  options.crop_padding = 1;
  options.flip = false;
  options.recalibration_images = 64;
  return options;
}

/// One operator and one bit width of each block, at random.
inline SupernetMixture hard_sample(const NetworkSpace& space, std::size_t widths, Rng& rng) {
  SupernetDesign design;
  for (const SpaceBlock& block : space.blocks)
    design.push_back({rng.below(block.operators.size()), widths == 0 ? 0 : rng.below(widths)});
  return mixture_of(space, widths, design);
}

/// The first operators all active with these weights, all bits alike.
inline SupernetMixture soft_mixture(const NetworkSpace& space, std::size_t widths,
                                    const std::vector<double>& op_weights) {
  SupernetMixture mixture;
  for (const SpaceBlock& block : space.blocks) {
    const std::size_t count = block.operators.size();
    BlockMixture of;
    of.active.resize(op_weights.size());
    std::iota(of.active.begin(), of.active.end(), 0U);
    of.op_weight = op_weights;
    of.op_weight.resize(count, 0.0);
    of.bit_weight.assign(count, std::vector<double>(widths, 1.0 / static_cast<double>(widths)));
    mixture.push_back(std::move(of));
  }
  return mixture;
}

inline std::vector<double> train(Supernet& net, int steps, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i)
    losses.push_back(
        net.weight_step(hard_sample(net.space(), net.options().bits.size(), rng), static_cast<double>(i) / steps));
  return losses;
}

inline double mean(const std::vector<double>& values, std::size_t from, std::size_t to) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(from),
                         values.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
         static_cast<double>(to - from);
}

inline std::map<std::string, std::vector<float>> values_of(const DerivedNetwork& derived) {
  std::map<std::string, std::vector<float>> values;
  for (const NamedTensor& tensor : derived.weights) values[tensor.name] = tensor.values;
  return values;
}

inline SupernetDesign design_of(const NetworkSpace& space, std::size_t op, std::size_t bits) {
  return SupernetDesign(space.blocks.size(), {op, bits});
}

}  // namespace kasimir
