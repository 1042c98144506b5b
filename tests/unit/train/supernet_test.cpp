// SPDX-License-Identifier: Apache-2.0
#include "supernet_parts.h"
#include "support/thrown.h"

#include "kasimir/train/trainer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;
using Supernets = OnOneThread;

TEST_F(Supernets, LearnWithAnotherPathInEveryStep) {
  const ImageSet images = corners(256);
  Supernet net(small_fbnet({"k3_e1", "k5_e3"}), images, parts(), quick({4, 8}));
  const std::vector<double> losses = train(net, 80, 1);
  EXPECT_LT(mean(losses, 70, 80), 0.6 * mean(losses, 0, 5));
  for (std::size_t op = 0; op < 2; ++op) {
    for (std::size_t bits = 0; bits < 2; ++bits) {
      const Score score = net.validate(design_of(net.space(), op, bits));
      EXPECT_EQ(score.images, 64);
      EXPECT_GT(score.accuracy, 0.6) << "operator " << op << ", bits " << bits;
    }
  }
}

TEST_F(Supernets, SaveAsManyBytesForSevenBitWidthsAsForOne) {
  const ImageSet images = corners(256);
  const NetworkSpace space = small_fbnet({"k3_e3", "k5_e1"});
  for (const bool choice_step : {false, true}) {
    std::vector<double> bytes;
    for (const std::vector<int>& bits :
         {std::vector<int>{4}, std::vector<int>{2, 4, 8}, std::vector<int>{2, 3, 4, 5, 6, 7, 8}}) {
      Supernet net(space, images, parts(), quick(bits));
      const SupernetMixture mixture =
          soft_mixture(space, bits.size(), choice_step ? std::vector<double>{1.0, 0.0} : std::vector<double>{1.0});
      bytes.push_back(static_cast<double>(net.saved_bytes(mixture, choice_step)));
    }
    EXPECT_GT(bytes[0], 500'000);
    EXPECT_NEAR(bytes[1] / bytes[0], 1.0, 0.01) << (choice_step ? "choice step" : "weight step");
    EXPECT_NEAR(bytes[2] / bytes[0], 1.0, 0.01) << (choice_step ? "choice step" : "weight step");
  }
}

TEST_F(Supernets, MoveOnlyWhatAStepComputes) {
  const ImageSet images = corners(256);
  SupernetOptions options = quick();
  options.branch_start = 1;  // at 0 the first step leaves what is before it alone
  Supernet net(small_fbnet({"k3_e1", "k5_e1"}), images, parts(), options);
  const SupernetDesign first = design_of(net.space(), 0, 1);
  const SupernetDesign second = design_of(net.space(), 1, 1);
  const auto before = values_of(net.derive_network(second));
  net.weight_step(mixture_of(net.space(), 3, first), 0.0);
  const auto after = values_of(net.derive_network(second));
  for (const auto& [name, values] : before) {
    const bool own = name.find("k5_e1") != std::string::npos;
    const bool learned = name.ends_with("weight") || name.ends_with("bias");
    if (learned) {
      EXPECT_EQ(after.at(name) == values, own) << name;
    }
  }
}

/// The batch norms whose scales start at 0, of one design.
std::vector<std::string> closed_norms(const NetworkSpace& space, const SupernetDesign& design) {
  const ImageSet images = corners(256);
  Supernet net(space, images, parts(), quick());
  std::vector<std::string> names;
  for (const NamedTensor& tensor : net.derive_network(design).weights)
    if (tensor.name.ends_with("bn.weight") && std::ranges::count(tensor.values, 0.0F) > 0) names.push_back(tensor.name);
  return names;
}

TEST_F(Supernets, BeginWithBranchesBesideShortcutsClosed) {
  EXPECT_EQ(
      closed_norms(small_fbnet(), {{0, 0}, {0, 0}, {1, 0}}),
      (std::vector<std::string>{"stage1.block1.k3_e1.project.bn.weight", "stage2.block2.k5_e3.project.bn.weight"}));
  EXPECT_EQ(closed_norms(small_residual(), {{0, 0}, {2, 0}, {1, 0}, {0, 0}}),
            (std::vector<std::string>{"stage1.block1.conv2.two.bn.weight", "stage2.block1.conv2.conv3.bn.weight"}));
}

/// The network of a design, rebuilt outside of the supernet, gives the same scores.
void expect_the_same_outside(const NetworkSpace& space, const SupernetDesign& design, SupernetOptions options) {
  const ImageSet images = corners(256);
  Supernet net(space, images, parts(), options);
  train(net, 10, 3);
  const DerivedNetwork derived = net.derive_network(design);
  const Model model = derived.model();
  const Score inside = net.validate(design);
  const Score outside = model.evaluate(images, parts().validation);
  EXPECT_NEAR(outside.loss, inside.loss, 1e-5);
  EXPECT_EQ(outside.accuracy, inside.accuracy);
}

TEST_F(Supernets, ScoreADesignAsTheNetworkThatIsDerivedFromIt) {
  expect_the_same_outside(small_fbnet(), {{0, 1}, {1, 0}, {2, 2}}, quick());
  expect_the_same_outside(small_fbnet(), {{3, 1}, {3, 0}, {1, 1}}, quick());
  expect_the_same_outside(small_residual(), {{0, 1}, {2, 0}, {1, 2}, {2, 2}}, quick());
  expect_the_same_outside(small_residual(), {{2, 0}, {2, 0}, {0, 0}, {2, 0}}, quick({}));
}

TEST_F(Supernets, DeriveNetworksWithTheBitsOfEveryWeightedPlace) {
  const ImageSet images = corners(256);
  Supernet net(small_residual(), images, parts(), quick());
  const DerivedNetwork derived = net.derive_network({{0, 1}, {2, 0}, {1, 2}, {2, 2}});
  std::map<std::string, int> bits;
  for (const auto& [weight, place] : derived.quantization) {
    EXPECT_EQ(place.weight.bits, place.activation.bits);
    bits[weight] = place.weight.bits;
  }
  EXPECT_EQ(bits, (std::map<std::string, int>{{"stem.conv.weight", 8},
                                              {"stage1.block1.conv1.conv3.conv.weight", 4},
                                              {"stage1.block1.conv2.two.conv.w0", 2},
                                              {"stage1.block1.conv2.two.conv.w3", 2},
                                              {"stage2.block1.conv1.separable3.depthwise.conv.weight", 8},
                                              {"stage2.block1.conv1.separable3.project.conv.weight", 8},
                                              {"stage2.block1.shortcut.conv.weight", 8},
                                              {"stage2.block1.conv2.two.conv.w0", 8},
                                              {"stage2.block1.conv2.two.conv.w3", 8},
                                              {"head.linear.weight", 8}}));
  EXPECT_EQ(weighted_places(derived.made.plan()).size(), bits.size());
  EXPECT_TRUE(derived.quantization.at("stem.conv.weight").activation.is_signed);
  EXPECT_FALSE(derived.quantization.at("stage1.block1.conv1.conv3.conv.weight").activation.is_signed);
}

TEST_F(Supernets, HandOverToTrainingWithInheritedWeightsAndSteps) {
  const Dataset data{"corners", "made here", corners(256), corners(8), {"a", "b", "c", "d"}, "0"};
  Supernet net(small_fbnet({"k3_e1", "k5_e3"}), data.train, parts(), quick({4, 8}));
  train(net, 60, 1);
  const DerivedNetwork derived = net.derive_network({{0, 0}, {1, 1}, {0, 0}});
  const Model inherited = derived.model();
  Recipe recipe;
  recipe.epochs = 4;
  recipe.batch = 32;
  recipe.learning_rate = 0.02;
  recipe.crop_padding = 1;
  recipe.flip = false;
  const Split split{range(0, 192), range(192, 256)};
  const TrainResult further = kasimir::train(derived.made.plan(), data, split, recipe, {},
                                             {.weights = &inherited, .quantization = derived.quantization});
  ASSERT_TRUE(further.ok());
  EXPECT_LT(further.validation->loss, inherited.evaluate(data.train, split.validation).loss);
  const Quantization after = further.model->quantization();
  ASSERT_EQ(after.size(), derived.quantization.size());
  EXPECT_EQ(after.begin()->second.weight, derived.quantization.begin()->second.weight);
  EXPECT_NE(after.begin()->second.activation_step, derived.quantization.begin()->second.activation_step);
}

TEST_F(Supernets, TakeStatisticsOfADesignFromTheFirstImages) {
  const ImageSet images = corners(256);
  SupernetOptions options = quick({});
  options.edge_bits = 0;
  options.batch = 64;
  options.recalibration_images = 128;
  Supernet net(small_residual(), images, parts(), options);
  train(net, 5, 3);
  const DerivedNetwork derived = net.derive_network({{0, 0}, {2, 0}, {1, 0}, {2, 0}});
  Model model(derived.made.plan());
  model.set_normalisation(channel_statistics(images, parts().weights));
  for (const NamedTensor& tensor : derived.weights)
    model.set_tensor(tensor.name, tensor.learned ? tensor.values : std::vector<float>(tensor.values.size(), 0.5F));
  reestimate_statistics(model, images, parts().weights);
  const auto wanted = model.tensors();
  ASSERT_EQ(wanted.size(), derived.weights.size());
  int statistics = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(wanted[i].name, derived.weights[i].name);
    statistics += wanted[i].learned ? 0 : 1;
    for (std::size_t v = 0; v < wanted[i].values.size(); ++v)
      EXPECT_NEAR(derived.weights[i].values[v], wanted[i].values[v], 1e-4 * (1 + std::abs(wanted[i].values[v])))
          << wanted[i].name;
  }
  EXPECT_GT(statistics, 10);
}

TEST_F(Supernets, RepeatThemselvesForASeedAndNotForAnother) {
  const ImageSet images = corners(256);
  const auto run = [&](std::uint64_t seed) {
    SupernetOptions options = quick();
    options.seed = seed;
    Supernet net(small_fbnet(), images, parts(), options);
    std::vector<double> numbers = train(net, 4, 2);
    numbers.push_back(net.choice_step(soft_mixture(net.space(), 3, {1.0, 0.0})).op[1][1]);
    return numbers;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST_F(Supernets, GoOnFromAFileAsIfTheyHadNotEnded) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "kasimir_supernet_resumed.pt";
  const ImageSet images = corners(256);
  const auto later = [&](Supernet& net) {
    std::vector<double> numbers = train(net, 6, 9);
    const MixtureSlopes slopes = net.choice_step(soft_mixture(net.space(), 3, {1.0, 0.0}));
    numbers.insert(numbers.end(), slopes.op[0].begin(), slopes.op[0].end());
    numbers.push_back(net.validate(design_of(net.space(), 1, 2)).loss);
    return numbers;
  };
  Supernet net(small_fbnet(), images, parts(), quick());
  train(net, 5, 8);
  net.choice_step(soft_mixture(net.space(), 3, {1.0, 0.0}));
  net.save(path);
  const std::vector<double> wanted = later(net);
  Supernet resumed(small_fbnet(), images, parts(), quick());
  resumed.load(path);
  EXPECT_EQ(later(resumed), wanted);
  std::filesystem::remove(path);
}

TEST_F(Supernets, RefuseTheFileOfAnother) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "kasimir_supernet_other.pt";
  const ImageSet images = corners(256);
  Supernet net(small_fbnet({"k3_e1", "skip"}), images, parts(), quick());
  net.save(path);
  Supernet other(small_fbnet({"k3_e1", "skip"}), images, parts(), quick({4, 8}));
  EXPECT_EQ(
      thrown_by([&] {
        other.load(path);
        return 0;
      }),
      "2: " + path.string() +
          ": of another supernet\n  found is `fbnet-tiny (k3_e1,skip;k3_e1,skip;k3_e1,skip), bits 2,4,8 and 8, "
          "batch 32, seed 1, 128 and 64 images`\n  needed is `fbnet-tiny (k3_e1,skip;k3_e1,skip;k3_e1,skip), bits "
          "4,8 and 8, batch 32, seed 1, 128 and 64 images`");
  std::ofstream(path) << "no dictionary";
  EXPECT_EQ(thrown_by([&] {
              other.load(path);
              return 0;
            }),
            "2: " + path.string() + ": not a saved supernet");
  std::filesystem::remove(path);
}

TEST_F(Supernets, SayThatTheyDiverged) {
  const ImageSet images = corners(256);
  SupernetOptions options = quick();
  options.learning_rate = 1e30;
  options.clip_norm = 0;
  Supernet net(small_fbnet({"k3_e1"}), images, parts(), options);
  EXPECT_THAT(thrown_by([&] { return train(net, 20, 1); }),
              ::testing::MatchesRegex("3: supernet: the loss is -?(nan|inf) in weight step [0-9]+\n  "
                                      "the learning rate is 1e\\+30; try a smaller one"));
}

TEST_F(Supernets, RefuseDataAndOptionsThatDoNotFit) {
  const ImageSet images = corners(256);
  const auto refusal = [&](const NetworkSpace& space, const SupernetData& data, const SupernetOptions& options) {
    return thrown_by([&] {
      Supernet net(space, images, data, options);
      return 0;
    });
  };
  EXPECT_EQ(refusal(fbnet_space(fbnet_size("tiny")), parts(), quick()),
            "2: space fbnet-tiny takes images of 3x32x32, the data has 1x12x12");
  NetworkSpace three = residual_space({.name = "r", .input = {1, 12, 12}, .classes = 3, .widths = {8}});
  EXPECT_EQ(refusal(three, parts(), quick()), "2: space residual-r tells 3 classes apart, the data has class 3");
  EXPECT_EQ(refusal(small_fbnet(), {range(0, 1), range(1, 9), {}}, quick()),
            "2: supernet: 1 images for weights, 8 for choices, 0 to validate on, needed are 2, 2 and 1");
  SupernetOptions options = quick();
  options.batch = 1;
  EXPECT_EQ(refusal(small_fbnet(), parts(), options), "2: supernet: batch is 1, needed is at least 2");
  options = quick({4, 9});
  EXPECT_THAT(refusal(small_fbnet(), parts(), options), ::testing::HasSubstr("supernet, bits of blocks"));
}

TEST_F(Supernets, RefuseDesignsThatTheSpaceDoesNotHave) {
  const NetworkSpace space = small_fbnet();
  EXPECT_EQ(thrown_by([&] { return mixture_of(space, 3, {{0, 0}}); }),
            "2: space fbnet-tiny: a design of 1 blocks, needed are 3");
  EXPECT_EQ(thrown_by([&] { return mixture_of(space, 3, {{0, 0}, {1, 3}, {0, 0}}); }),
            "2: space fbnet-tiny, block stage2.block1: operator 1 of 4 and bits 3 of 3, counted from 0");
}

}  // namespace
}  // namespace kasimir
