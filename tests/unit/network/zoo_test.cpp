// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/zoo.h"

#include "unit/network/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace kasimir {
namespace {

using testing::ElementsAre;

/// The shapes of the named layers.
std::vector<std::string> shapes(const Network& net, const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) {
    const auto index = net.find(name);
    result.push_back(index ? net.layer(*index).out.str() : name + " does not exist");
  }
  return result;
}

Network small(std::string_view name, Shape3 input) { return zoo_network(name, {.classes = 10, .input = input}); }

// Parameter counts and MACs (conv + fc) of torchvision: `meta["num_params"]` and `meta["_ops"]` of the weights
// ResNet18_Weights, VGG16_BN_Weights, MobileNet_V2_Weights and DenseNet121_Weights (IMAGENET1K_V1).
TEST(Zoo, HasTheParametersOfTorchvision) {
  EXPECT_EQ(zoo_network("resnet18").cost().params, 11'689'512);
  EXPECT_EQ(zoo_network("vgg16").cost().params, 138'365'992);
  EXPECT_EQ(zoo_network("mobilenet_v2").cost().params, 3'504'872);
  EXPECT_EQ(zoo_network("densenet121").cost().params, 7'978'856);
}

TEST(Zoo, HasTheMacsOfTorchvision) {
  const auto giga = [](std::string_view name) { return static_cast<double>(zoo_network(name).cost().macs) / 1e9; };
  EXPECT_NEAR(giga("resnet18"), 1.814, 0.0005);
  EXPECT_NEAR(giga("vgg16"), 15.470, 0.0005);
  EXPECT_NEAR(giga("mobilenet_v2"), 0.301, 0.0005);
  EXPECT_NEAR(giga("densenet121"), 2.834, 0.0005);
}

// Keras' summary of MLPerf Tiny's resnet_v1_eembc: 78,666 parameters, of which 480 are running statistics; 240 are
// biases of convolutions in front of batch norm, which we leave out. MACs: its layers by hand.
TEST(Zoo, CountsResnet8AsMlperfTinyDoes) {
  const LayerCost cost = zoo_network("resnet8").cost();
  EXPECT_EQ(cost.params, 78'666 - 480 - 240);
  const std::int64_t stage1 = 1024LL * 9 * 2 * 16 * 16;
  const std::int64_t stage2 = 256LL * (9 * (16 * 32 + 32 * 32) + 16 * 32);
  const std::int64_t stage3 = 64LL * (9 * (32 * 64 + 64 * 64) + 32 * 64);
  EXPECT_EQ(cost.macs, 1024LL * 9 * 3 * 16 + stage1 + stage2 + stage3 + 640);
}

// 269,722 with option A of He et al. (0.27M in their table 6); option B adds two 1x1 convolutions with batch norm.
TEST(Zoo, CountsResnet20WithProjectionShortcuts) {
  const std::int64_t shortcuts = (16 * 32 + 2 * 32) + (32 * 64 + 2 * 64);
  EXPECT_EQ(zoo_network("resnet20").cost().params, 269'722 + shortcuts);
  // Stem, 3 x 6 convolutions of which two halve the resolution, the classifier; then the two shortcuts.
  const std::int64_t option_a = 1024LL * 9 * (3 * 16 + 6 * 16 * 16) + 256LL * 9 * (16 * 32 + 5 * 32 * 32) +
                                64LL * 9 * (32 * 64 + 5 * 64 * 64) + 640;
  EXPECT_EQ(zoo_network("resnet20").cost().macs, option_a + 256LL * 16 * 32 + 64LL * 32 * 64);
}

// The counts of the well-known CIFAR variants with the same stems and heads (github.com/kuangliu/pytorch-cifar).
TEST(Zoo, HasTheParametersOfTheCifarVariants) {
  EXPECT_EQ(small("resnet18", {3, 32, 32}).cost().params, 11'173'962);
  EXPECT_EQ(small("vgg16", {3, 32, 32}).cost().params, 14'728'266);
}

TEST(Zoo, ChangesOnlyStemAndClassifierWithTheImageAndClasses) {
  // One channel instead of three, and 100 classes instead of 10.
  const auto params = [](std::string_view name, std::int64_t channels, std::int64_t classes) {
    return zoo_network(name, {.classes = classes, .input = {channels, 32, 32}}).cost().params;
  };
  EXPECT_EQ(params("resnet8", 3, 10) - params("resnet8", 1, 10), 2 * 9 * 16);
  EXPECT_EQ(params("mobilenet_v2", 3, 100) - params("mobilenet_v2", 3, 10), 90 * 1281);
}

TEST(Zoo, GivesResnet8TheShapesOfCifar) {
  std::vector<std::string> all;
  const Network net = small("resnet8", {3, 32, 32});
  for (const Layer& layer : net.layers()) all.push_back(layer.name + " " + layer.out.str());
  EXPECT_THAT(
      all,
      ElementsAre("input 3x32x32", "stem.conv 16x32x32", "stem.bn 16x32x32", "stem.relu 16x32x32",
                  "stage1.block1.conv1 16x32x32", "stage1.block1.bn1 16x32x32", "stage1.block1.relu1 16x32x32",
                  "stage1.block1.conv2 16x32x32", "stage1.block1.bn2 16x32x32", "stage1.block1.add 16x32x32",
                  "stage1.block1.relu2 16x32x32", "stage2.block1.conv1 32x16x16", "stage2.block1.bn1 32x16x16",
                  "stage2.block1.relu1 32x16x16", "stage2.block1.conv2 32x16x16", "stage2.block1.bn2 32x16x16",
                  "stage2.block1.shortcut.conv 32x16x16", "stage2.block1.add 32x16x16", "stage2.block1.relu2 32x16x16",
                  "stage3.block1.conv1 64x8x8", "stage3.block1.bn1 64x8x8", "stage3.block1.relu1 64x8x8",
                  "stage3.block1.conv2 64x8x8", "stage3.block1.bn2 64x8x8", "stage3.block1.shortcut.conv 64x8x8",
                  "stage3.block1.add 64x8x8", "stage3.block1.relu2 64x8x8", "head.pool 64x1x1", "head.linear 10x1x1"));
}

TEST(Zoo, GivesResnetsTheirStages) {
  const std::vector<std::string> cifar = {"stem.relu", "stage1.block3.relu2", "stage2.block3.relu2",
                                          "stage3.block3.relu2", "head.pool"};
  EXPECT_THAT(shapes(small("resnet20", {3, 32, 32}), cifar),
              ElementsAre("16x32x32", "16x32x32", "32x16x16", "64x8x8", "64x1x1"));
  EXPECT_THAT(shapes(small("resnet20", {1, 28, 28}), cifar),
              ElementsAre("16x28x28", "16x28x28", "32x14x14", "64x7x7", "64x1x1"));
  const std::vector<std::string> stages = {"stem.relu", "stage1.block2.relu2", "stage2.block2.relu2",
                                           "stage3.block2.relu2", "stage4.block2.relu2"};
  EXPECT_THAT(shapes(small("resnet18", {3, 32, 32}), stages),
              ElementsAre("64x32x32", "64x32x32", "128x16x16", "256x8x8", "512x4x4"));
  EXPECT_THAT(shapes(small("resnet18", {1, 28, 28}), stages),
              ElementsAre("64x28x28", "64x28x28", "128x14x14", "256x7x7", "512x4x4"));
  EXPECT_THAT(shapes(zoo_network("resnet18"), stages),
              ElementsAre("64x112x112", "64x56x56", "128x28x28", "256x14x14", "512x7x7"));
  EXPECT_EQ(shapes(zoo_network("resnet18"), {"stem.pool"}).front(), "64x56x56");
}

TEST(Zoo, GivesVgg16ItsStages) {
  const std::vector<std::string> pools = {"stage1.pool", "stage2.pool", "stage3.pool", "stage4.pool", "stage5.pool"};
  EXPECT_THAT(shapes(small("vgg16", {3, 32, 32}), pools),
              ElementsAre("64x16x16", "128x8x8", "256x4x4", "512x2x2", "512x1x1"));
  EXPECT_THAT(shapes(small("vgg16", {1, 28, 28}), pools),
              ElementsAre("64x14x14", "128x7x7", "256x4x4", "512x2x2", "512x1x1"));
  EXPECT_THAT(shapes(zoo_network("vgg16"), pools),
              ElementsAre("64x112x112", "128x56x56", "256x28x28", "512x14x14", "512x7x7"));
  EXPECT_THAT(shapes(zoo_network("vgg16"), {"head.linear1", "head.linear2", "head.linear3"}),
              ElementsAre("4096x1x1", "4096x1x1", "1000x1x1"));
}

TEST(Zoo, GivesMobilenetItsStages) {
  const std::vector<std::string> ends = {"stem.relu",         "stage1.block1.project.bn", "stage2.block2.add",
                                         "stage3.block3.add", "stage4.block4.add",        "stage5.block3.add",
                                         "stage6.block3.add", "stage7.block1.project.bn", "last.relu"};
  EXPECT_THAT(shapes(zoo_network("mobilenet_v2"), ends),
              ElementsAre("32x112x112", "16x112x112", "24x56x56", "32x28x28", "64x14x14", "96x14x14", "160x7x7",
                          "320x7x7", "1280x7x7"));
  EXPECT_THAT(shapes(small("mobilenet_v2", {3, 32, 32}), ends),
              ElementsAre("32x32x32", "16x32x32", "24x32x32", "32x16x16", "64x8x8", "96x8x8", "160x4x4", "320x4x4",
                          "1280x4x4"));
  EXPECT_THAT(shapes(small("mobilenet_v2", {1, 28, 28}), ends),
              ElementsAre("32x28x28", "16x28x28", "24x28x28", "32x14x14", "64x7x7", "96x7x7", "160x4x4", "320x4x4",
                          "1280x4x4"));
}

TEST(Zoo, GivesDensenetItsBlocks) {
  const std::vector<std::string> ends = {"block1.layer6.concat", "transition1.pool",      "block2.layer12.concat",
                                         "transition2.pool",     "block3.layer24.concat", "transition3.pool",
                                         "block4.layer16.concat"};
  EXPECT_THAT(shapes(zoo_network("densenet121"), ends),
              ElementsAre("256x56x56", "128x28x28", "512x28x28", "256x14x14", "1024x14x14", "512x7x7", "1024x7x7"));
  EXPECT_THAT(shapes(small("densenet121", {3, 32, 32}), ends),
              ElementsAre("256x32x32", "128x16x16", "512x16x16", "256x8x8", "1024x8x8", "512x4x4", "1024x4x4"));
  EXPECT_THAT(shapes(small("densenet121", {1, 28, 28}), ends),
              ElementsAre("256x28x28", "128x14x14", "512x14x14", "256x7x7", "1024x7x7", "512x3x3", "1024x3x3"));
}

// torchvision's mobilenet_v2(width_mult=w): the channels of features[1..18] by its _make_divisible(c * w, 8).
TEST(Zoo, RoundsWidthsAsMobilenetsAuthorsDo) {
  const auto widths = [](double width) {
    const Network net = zoo_network("mobilenet_v2", {.classes = 1000, .input = {3, 224, 224}, .width = width});
    std::vector<std::int64_t> result;
    for (const char* name : {"stem.conv", "stage1.block1.project.conv", "stage2.block1.project.conv",
                             "stage3.block1.project.conv", "stage6.block1.project.conv", "last.conv"})
      result.push_back(net.layer(net.find(name).value()).out.c);
    return result;
  };
  EXPECT_THAT(widths(0.5), ElementsAre(16, 8, 16, 16, 80, 1280));
  EXPECT_THAT(widths(0.35), ElementsAre(16, 8, 8, 16, 56, 1280));
  EXPECT_THAT(widths(1.4), ElementsAre(48, 24, 32, 48, 224, 1792));
}

TEST(Zoo, AnswersAnUnknownNameWithTheNearOne) {
  EXPECT_EQ(message_of([] { (void)zoo_network("resnet81"); }), "unknown network `resnet81`, did you mean `resnet8`?");
  EXPECT_EQ(message_of([] { (void)zoo_record("mobilnet_v2"); }),
            "unknown network `mobilnet_v2`, did you mean `mobilenet_v2`?");
  EXPECT_EQ(message_of([] { (void)zoo_record("perceptron"); }),
            "unknown network `perceptron`, known: resnet8, resnet20, resnet18, vgg16, mobilenet_v2, densenet121");
}

TEST(Zoo, SaysWhatItCannotBuild) {
  const auto message = [](std::string_view name, const ZooOptions& options) {
    return message_of([&] { (void)zoo_network(name, options); });
  };
  EXPECT_EQ(message("resnet8", {.classes = 0}), "network `resnet8`: classes is 0, needed at least 1");
  EXPECT_EQ(message("resnet8", {.width = 0}), "network `resnet8`: width is 0, needed more than 0 and at most 64");
  EXPECT_EQ(message("densenet121", {.input = {3, 4, 4}}),
            "network `densenet121`, layer `transition3.pool`: a window that spans 2 does not fit into 512x1x1 with "
            "padding 0");
}

}  // namespace
}  // namespace kasimir
