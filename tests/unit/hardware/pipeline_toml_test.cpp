// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/pipeline_toml.h"

#include "kasimir/base/text.h"
#include "kasimir/hardware/evaluate.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

using testing::thrown_by;

/// Two chunks: standard convolutions with groups and a fully connected layer, and depthwise ones.
PipelineDescription some_pipeline() {
  PipelineDescription made{"two \"chunks\"", 150, budget_of(board_named("ZC706")), {}};
  DescribedChunk standard{"a0q8", false, 8, {1, 16, 16, 32, 16, 1, 1, 16, 8}, {}};
  standard.layers.push_back({same_convolution("stem", 3, 16, 32, 3), false});
  standard.layers.push_back({same_convolution("grouped", 16, 32, 32, 3, 2, 4), true});
  standard.layers.push_back({fully_connected("classifier", 64, 10), false});
  DescribedChunk depthwise{"dwa0q4", true, 4, {1, 8, 16, 16, 1, 4, 1, 1, 1}, {}};
  depthwise.layers.push_back({same_convolution("depthwise", 32, 32, 16, 3, 1, 32), false});
  for (SoundLayer& one : standard.layers) one.layer.bits = {8, 8};
  depthwise.layers[0].layer.bits = {4, 3};
  made.chunks = {standard, depthwise};
  return made;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PipelineToml, ReadsBackWhatItWrites) {
  PipelineDescription pipeline = some_pipeline();
  EXPECT_EQ(parse_pipeline(to_toml(pipeline), "a.toml"), pipeline);
  pipeline.budget = unlimited();
  pipeline.clock_mhz = 187.5;
  EXPECT_EQ(parse_pipeline(to_toml(pipeline), "a.toml"), pipeline);
}

TEST(PipelineToml, CostsTheSumOfLayersOnAChunkAndTheSlowestChunk) {
  const PipelineDescription pipeline = some_pipeline();
  double slowest = 0;
  for (const DescribedChunk& chunk : pipeline.chunks) {
    double cycles = 0;
    for (const SoundLayer& layer : chunk.layers)
      cycles += sound_layer_cost(layer, chunk.shape, {chunk.bits, chunk.bits}).cycles;
    EXPECT_DOUBLE_EQ(cost_of(chunk).cycles(), cycles);
    slowest = std::max(slowest, cycles);
  }
  PipelineDescription wide = pipeline;
  wide.budget = unlimited();
  EXPECT_DOUBLE_EQ(cycles_of(wide), slowest);
  wide.budget.dram_bits_per_cycle = 0.5;
  double bits = 0;
  for (const DescribedChunk& chunk : wide.chunks) bits += cost_of(chunk).resources().dram_bits;
  ASSERT_GT(bits / 0.5, slowest);
  EXPECT_DOUBLE_EQ(cycles_of(wide), bits / 0.5);
}

TEST(PipelineToml, SaysWhatIsWrong) {
  const std::string good = to_toml(some_pipeline());
  const auto message = [](const std::string& text) { return thrown_by([&] { parse_pipeline(text, "a.toml"); }); };
  EXPECT_EQ(message(replaced(good, "clock_mhz = 150", "clock_mhz = 0")),
            "2: `clock_mhz` must be a number above 0\n  a.toml:3:13");
  EXPECT_EQ(message(replaced(good, "[budget]", "[budgets]")), "2: `budget` is missing\n  a.toml:1:1");
  EXPECT_EQ(message(replaced(good, "mode = 1", "mode = 3")), "2: `mode` is 3, needed: 0 .. 2\n  a.toml:15:8");
  EXPECT_EQ(message(replaced(good, "unrolled = [1, 1, 16, 8]", "unrolled = [1, 1, 33, 8]")),
            "2: `unrolled` has 33 of a tile of 32\n  a.toml:17:12");
  EXPECT_EQ(message(replaced(good, "unrolled = [1, 1, 16, 8]", "unrolled = [1, 1, 16]")),
            "2: `unrolled` must be a list of 4 whole numbers\n  a.toml:17:12");
  EXPECT_EQ(message(replaced(good, "stride = 1", "stride = 0")),
            "2: `stride` must have whole numbers from 1 on\n  a.toml:19:83");
  EXPECT_EQ(message(replaced(good, "depthwise = true", "depthwise = false")),
            "2: layer `depthwise` is depthwise, chunk `dwa0q4` is not\n  a.toml:32:3");
  EXPECT_EQ(message(replaced(good, "bits = 8\n", "bit = 8\n")), "2: `bits` is missing\n  a.toml:11:1");
  EXPECT_EQ(message(replaced(good, "name = \"a0q8\"", "name = \"a0q8\"\nnames = 2")),
            "2: unknown key `names`, did you mean `name`?\n  a.toml:13:9");
}

TEST(PipelineTimeloop, IsReadBackAndComputesEveryProduct) {
  const PipelineDescription pipeline = some_pipeline();
  for (const DescribedChunk& chunk : pipeline.chunks)
    for (std::size_t i = 0; i < chunk.layers.size(); ++i) {
      const ConvLayer& layer = chunk.layers[i].layer;
      const FormatText text = timeloop_text(chunk, i, pipeline.clock_mhz);
      SCOPED_TRACE(text.text);
      const Problem problem = parse_timeloop_problem(
          text.text, "a.yaml", {layer.bits.activation, layer.bits.weight, layer.bits.activation, 32});
      EXPECT_EQ(problem.points(), static_cast<double>(layer.macs()));
      const TimeloopMachine machine = parse_timeloop_architecture(text.text, "a.yaml", problem);
      const Mapping mapping = parse_timeloop_mapping(text.text, "a.yaml", problem, machine);
      const CostModel model(problem, machine.architecture, {});
      const Evaluation found = evaluate(model, mapping);
      EXPECT_TRUE(found.fits());
      // The template adds what the format has no word for.
      EXPECT_LE(found.cycles, sound_layer_cost(chunk.layers[i], chunk.shape, {chunk.bits, chunk.bits}).cycles);
    }
}

}  // namespace
}  // namespace kasimir
