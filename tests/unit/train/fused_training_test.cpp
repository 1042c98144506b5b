// SPDX-License-Identifier: Apache-2.0
#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/trainer.h"
#include "kasimir/train/training_speed.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;

/// Every kernel that the repository has by hand, with and without a stride, more channels out than in.
TEST(FusedTraining, AgreesWithAtenOnEveryExample) {
  TrainingSpeedOptions options;
  options.batch = 6;
  options.repeats = 0;
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KASIMIR_SOURCE_DIR "/examples/kernels")) {
    if (entry.path().extension() != ".txt") continue;
    const Kernel kernel = parse_kernel(read_file(entry.path()), catalog(), entry.path().string());
    if (!kernel.free_symbols().empty()) continue;
    for (const Site& site : {Site{8, 8, 10, 8, 1}, Site{8, 8, 6, 4, 2}, Site{8, 16, 6, 4, 2}}) {
      if (!lower_at(kernel, site, 1).ok()) continue;  // such as depthwise, where channels become more
      const auto speed = time_training(kernel, site, options);
      ASSERT_TRUE(speed.ok()) << kernel.name << ": " << speed.rejection().str();
      EXPECT_LT(speed->value_error, 1e-4) << kernel.name << " at " << site.str();
      EXPECT_LT(speed->gradient_error, 1e-4) << kernel.name << " at " << site.str();
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
}

using Fused = OnFashion;

Recipe quick(KernelTraining kernels) {
  Recipe recipe;
  recipe.epochs = 1;
  recipe.batch = 64;
  recipe.crop_padding = 2;
  recipe.kernels = kernels;
  return recipe;
}

TEST_F(Fused, TrainsAsAtenDoesAndRepeatsItself) {
  const Network network = small_network();
  const NetworkPlan plan = plan_with(network, grouped_text);
  const TrainResult aten = train(plan, data_, split_, quick(KernelTraining::aten));
  const TrainResult fused = train(plan, data_, split_, quick(KernelTraining::fused));
  const TrainResult again = train(plan, data_, split_, quick(KernelTraining::fused));
  ASSERT_TRUE(aten.ok() && fused.ok() && again.ok());
  EXPECT_EQ(aten.fused.fused, 0);
  EXPECT_GT(fused.fused.kernels, 0);
  EXPECT_EQ(fused.fused.fused, fused.fused.kernels) << ::testing::PrintToString(fused.fused.reasons);
  // Rounding grows from step to step.
  EXPECT_NEAR(fused.curve[0].train_loss, aten.curve[0].train_loss, 1e-3 * aten.curve[0].train_loss);
  EXPECT_EQ(fused.curve[0].train_loss, again.curve[0].train_loss);
  EXPECT_EQ(fused.validation->loss, again.validation->loss);
  // The same weights by another path: what is scored is never compiled.
  EXPECT_NEAR(fused.validation->loss, aten.validation->loss, 0.05 * aten.validation->loss);
}

TEST_F(Fused, CompilesNothingForAFewSteps) {
  const Network network = small_network();
  const TrainResult result = train(plan_with(network, grouped_text), data_, split_, quick(KernelTraining::automatic));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.fused.fused, 0);
  EXPECT_THAT(result.fused.reasons, ::testing::ElementsAre("8 steps are too few for compiling to pay"));
}

TEST_F(Fused, LeavesTheOriginalNetworkAlone) {
  const Network network = small_network();
  const TrainResult result = train({&network, {}}, data_, split_, quick(KernelTraining::fused));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.fused.kernels, 0);
}

TEST(FusedRecipe, IsForOneThreadOfTheProcessor) {
  Recipe recipe;
  recipe.kernels = KernelTraining::fused;
  recipe.check();
  EXPECT_THAT(recipe.str(), ::testing::EndsWith(", kernels fused"));
  EXPECT_THAT(Recipe{}.str(), ::testing::Not(::testing::HasSubstr("kernels")));
  recipe.threads = 2;
  EXPECT_EQ(thrown_by([&] { recipe.check(); }),
            "2: recipe: kernels is fused on cpu, 2 threads, precision automatic\n"
            "  compiled kernels train on the processor, on one thread, in single precision; aten does otherwise");
  for (const auto kernels : {KernelTraining::aten, KernelTraining::fused, KernelTraining::automatic})
    EXPECT_EQ(kernel_training(name_of(kernels)), kernels);
}

}  // namespace
}  // namespace kasimir
