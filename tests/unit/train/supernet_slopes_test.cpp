// SPDX-License-Identifier: Apache-2.0
#include "supernet_parts.h"

#include <filesystem>
#include <functional>

namespace kasimir {
namespace {

/// A supernet that goes back to the same batch for every step, so that a loss can be taken again.
struct SupernetSlopes : OnOneThread {
  SupernetSlopes() : images(corners(256)), space(small_residual()), net(space, images, parts(), options()) {
    train(net, 10, 1);
    net.save(path);
  }
  ~SupernetSlopes() override { std::filesystem::remove(path); }
  static SupernetOptions options() {
    SupernetOptions made = quick({2, 8});
    made.branch_start = 1;
    made.edge_bits = 0;  // what follows the last block is smooth
    return made;
  }
  /// All operators active with these weights, all blocks at 8 bits.
  [[nodiscard]] SupernetMixture at_eight_bits(const std::vector<double>& op_weights) const {
    SupernetMixture mixture = soft_mixture(space, 2, op_weights);
    for (BlockMixture& block : mixture)
      for (std::vector<double>& row : block.bit_weight) row = {0.0, 1.0};
    return mixture;
  }
  MixtureSlopes slopes_of(const SupernetMixture& mixture) {
    net.load(path);
    return net.choice_step(mixture);
  }
  /// The slope of the loss by `number` of a mixture.
  double measured(SupernetMixture mixture, const std::function<double&(SupernetMixture&)>& number) {
    constexpr double step = 1e-3;
    double& value = number(mixture);
    const double at = value;
    value = at + step;
    const double above = slopes_of(mixture).loss;
    value = at - step;
    return (above - slopes_of(mixture).loss) / (2 * step);
  }

  std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "kasimir_supernet_slopes.pt";
  ImageSet images;
  NetworkSpace space;
  Supernet net;
  std::size_t last = space.blocks.size() - 1;
};

TEST_F(SupernetSlopes, ByOperatorsAreThoseOfTheLoss) {
  const SupernetMixture mixture = at_eight_bits({0.5, 0.3, 0.2});
  const MixtureSlopes slopes = slopes_of(mixture);
  for (std::size_t op = 0; op < 3; ++op) {
    const double wanted = measured(mixture, [&](SupernetMixture& m) -> double& { return m[last].op_weight[op]; });
    EXPECT_NEAR(slopes.op[last][op], wanted, 0.03 * std::abs(wanted) + 1e-4) << "operator " << op;
    EXPECT_GT(std::abs(wanted), 1e-3);
  }
}

TEST_F(SupernetSlopes, OfAnOperatorOfWeightZeroAreThoseOfAddingIt) {
  const SupernetMixture mixture = at_eight_bits({1.0, 0.0, 0.0});
  const MixtureSlopes slopes = slopes_of(mixture);
  for (std::size_t op = 1; op < 3; ++op) {
    constexpr double step = 1e-3;
    SupernetMixture more = mixture;
    more[last].op_weight[0] = 1.0 - 1e-7;  // exactly 1 stands for a hard sample
    more[last].op_weight[op] = step;
    const double wanted = (slopes_of(more).loss - slopes.loss) / step;
    EXPECT_NEAR(slopes.op[last][op], wanted, 0.05 * std::abs(wanted) + 3e-4) << "operator " << op;
    EXPECT_EQ(slopes.bits[last][op], (std::vector<double>{0.0, 0.0}));
  }
  EXPECT_NE(slopes.bits[last][0], (std::vector<double>{0.0, 0.0}));
}

TEST_F(SupernetSlopes, AreThereForBitsOfWeightZero) {
  const SupernetMixture mixture = mixture_of(space, 2, design_of(space, 0, 1));
  const MixtureSlopes slopes = net.choice_step(mixture);
  for (std::size_t b = 0; b < space.blocks.size(); ++b) {
    EXPECT_NE(slopes.bits[b][0][0], 0.0) << "block " << b;
    EXPECT_NE(slopes.bits[b][0][1], 0.0) << "block " << b;
    EXPECT_EQ(slopes.op[b][1], 0.0) << "block " << b;
  }
}

TEST_F(SupernetSlopes, LeaveTheSupernetAsItWas) {
  const SupernetDesign design = design_of(space, 2, 0);
  const auto before = values_of(net.derive_network(design));
  const Score score = net.validate(design);
  net.choice_step(soft_mixture(space, 2, {0.5, 0.3, 0.2}));
  static_cast<void>(net.saved_bytes(mixture_of(space, 2, design), false));
  EXPECT_EQ(net.validate(design).loss, score.loss);
  EXPECT_EQ(values_of(net.derive_network(design)), before);
}

/// One convolution, which nothing normalises or rectifies: the loss is smooth in its bits.
NetworkSpace one_convolution() {
  NetworkSpace space;
  space.name = "one";
  space.input = {1, 12, 12};
  const layer::Conv conv{.out = 8, .kernel_h = 5, .kernel_w = 5, .stride = 3, .bias = true};
  space.blocks = {{"block", {{"conv", [conv](NetworkBuilder& net, const std::string& prefix, int from) {
                                return net.add(prefix + "conv", conv, {from});
                              }}}}};
  space.build = [](NetworkBuilder& net, const PlaceBlock& place) {
    net.add("linear", layer::Linear{.out = 4}, {place(net, 0)});
  };
  return space;
}

using SupernetBits = OnOneThread;

TEST_F(SupernetBits, HaveTheSlopesOfTheLoss) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "kasimir_supernet_bits.pt";
  const ImageSet images = corners(256);
  SupernetOptions options = quick({2, 3, 8});
  options.edge_bits = 0;
  Supernet net(one_convolution(), images, parts(), options);
  const auto at = [&](const std::vector<double>& bits) {
    if (std::filesystem::exists(path)) net.load(path);  // back to the same batch
    return net.choice_step({{{0}, {1.0}, {bits}}});
  };
  at({0.2, 0.3, 0.5});  // finds where the steps start
  net.save(path);
  for (const std::vector<double>& bits : {std::vector<double>{0.2, 0.3, 0.5}, {0.0, 1.0, 0.0}}) {
    const MixtureSlopes slopes = at(bits);
    for (std::size_t j = 0; j < 3; ++j) {
      constexpr double step = 0.01;
      std::vector<double> above = bits;
      std::vector<double> below = bits;
      above[j] += step;
      below[j] -= step;
      const double wanted = (at(above).loss - at(below).loss) / (2 * step);
      EXPECT_GT(std::abs(wanted), 0.01);
      EXPECT_NEAR(slopes.bits[0][0][j], wanted, 0.01 * std::abs(wanted)) << "width " << j;
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kasimir
