// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/export.h"

#include "kasimir/network/zoo.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <cstring>

namespace kasimir {
namespace {

using testing::thrown_by;

TEST(Safetensors, HoldsAHeaderThenTheNumbersOneTensorAfterAnother) {
  const std::string file =
      to_safetensors({{"a", {2, 1}, true, {1.0F, 2.0F}}, {"b.c", {}, false, {-3.0F}}}, {{"seed", "7"}});
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(file.substr(8, length),
            R"({"__metadata__":{"seed":"7"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
            R"("b.c":{"dtype":"F32","shape":[],"data_offsets":[8,12]}}     )");
  ASSERT_EQ(file.size(), 8 + length + 12);
  std::array<float, 3> numbers{};
  std::memcpy(numbers.data(), file.data() + 8 + length, 12);
  EXPECT_EQ(numbers, (std::array{1.0F, 2.0F, -3.0F}));
}

TEST(Safetensors, HasNoMetadataWhereNothingIsKnown) { EXPECT_EQ(to_safetensors({}).substr(8), "{}      "); }

class Weights : public ::testing::Test {
 protected:
  Network network_ = zoo_network("resnet8", {.classes = 4, .input = {3, 8, 8}, .width = 0.5});
  NetworkPlan plan_{&network_, {}};
  std::vector<NamedTensor> weights_ = random_weights(plan_, 1);
};

TEST_F(Weights, AreFoundByName) {
  const auto found = tensors_by_name(plan_, weights_);
  EXPECT_EQ(found.size(), weights_.size());
  EXPECT_EQ(found.at("head.linear.bias")->shape, (std::vector<std::int64_t>{4}));
}

TEST_F(Weights, AreRefusedWhereOneIsMissing) {
  weights_.pop_back();
  EXPECT_EQ(thrown_by([&] { return tensors_by_name(plan_, weights_).size(); }),
            "2: the weights have no tensor `head.linear.bias`, which network resnet8 has\n"
            "  they are those of another network, or of other kernels in it");
}

TEST_F(Weights, AreRefusedWhereAShapeDiffers) {
  weights_[0].shape = {3, 8, 3, 3};
  EXPECT_EQ(thrown_by([&] { return tensors_by_name(plan_, weights_).size(); }),
            "2: tensor `stem.conv.weight` of the weights is 3x8x3x3, network resnet8 needs 8x3x3x3\n"
            "  they are those of another network, or of other kernels in it");
}

TEST_F(Weights, AreRefusedWhereOneIsTooMany) {
  weights_.push_back({"extra", {1}, true, {0.0F}});
  EXPECT_EQ(thrown_by([&] { return tensors_by_name(plan_, weights_).size(); }),
            "2: the weights have a tensor `extra`, which network resnet8 has not\n"
            "  they are those of another network, or of other kernels in it");
}

TEST_F(Weights, AreComparedOnImagesAndScores) {
  const ExportCheck check{2, std::vector<float>(2 * 3 * 8 * 8, 0.5F), std::vector<float>(2 * 4, 1.0F)};
  const ExportedFile file = check_file(network_, check);
  EXPECT_EQ(file.name, "check.safetensors");
  EXPECT_NE(file.content.find(R"("input":{"dtype":"F32","shape":[2,3,8,8])"), std::string::npos);
  EXPECT_NE(file.content.find(R"("output":{"dtype":"F32","shape":[2,4])"), std::string::npos);
}

}  // namespace
}  // namespace kasimir
