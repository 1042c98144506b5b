// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/layer.h"

#include "kasimir/hardware/pipeline/scale_sim.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

using testing::thrown_by;

ConvLayer alexnet_conv2() { return {"conv2", 96, 256, 27, 27, 5, 5, 1, 2, 4, 4, {8, 6}}; }

TEST(ConvLayer, CountsOfAGroupedConvolution) {
  const ConvLayer layer = alexnet_conv2();
  EXPECT_EQ(layer.out_h(), 27);
  EXPECT_EQ(layer.out_w(), 27);
  EXPECT_EQ(layer.macs(), 223948800);
  EXPECT_EQ(layer.weights(), 307200);
  EXPECT_EQ(layer.inputs(), 69984);
  EXPECT_EQ(layer.outputs(), 186624);
  EXPECT_EQ(layer.gemm(), (Gemm{729, 128, 1200}));
  EXPECT_FALSE(layer.depthwise());
  EXPECT_EQ(layer.bits.widest(), 8);
}

TEST(ConvLayer, DepthwiseAndFullyConnectedAreSpecialCases) {
  const ConvLayer depthwise = same_convolution("dw", 24, 24, 16, 5, 2, 24);
  EXPECT_TRUE(depthwise.depthwise());
  EXPECT_EQ(depthwise.out_h(), 8);
  EXPECT_EQ(depthwise.macs(), 24 * 64 * 25);
  const ConvLayer full = fully_connected("fc", 512, 10);
  EXPECT_EQ(full.macs(), 5120);
  EXPECT_EQ(full.gemm(), (Gemm{1, 10, 512}));
}

TEST(LayerList, ReadsBackWhatItWrites) {
  const std::vector<ConvLayer> layers{alexnet_conv2(), same_convolution("dw", 24, 24, 16, 5, 2, 24),
                                      fully_connected("fc", 512, 10)};
  EXPECT_EQ(parse_layers(layers_text(layers), "x.csv"), layers);
}

TEST(LayerList, TakesWindowsEndsOfLinesCommentsAndColumnsInAnyOrder) {
  const std::string text =
      "\xEF\xBB\xBF# of a student\r\ncin, cout, name, height, width, kernel_h,\r\n\r\n3, 16, stem, 32, 30, 3,\r\n";
  const std::vector<ConvLayer> layers = parse_layers(text, "x.csv");
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0], (ConvLayer{"stem", 3, 16, 32, 30, 3, 3, 1, 1, 0, 0, {}}));
}

TEST(LayerList, NamesWhatIsWrongAndWhere) {
  EXPECT_EQ(thrown_by([] { return parse_layers("", "x.csv"); }), "2: no header in a list of layers\n  x.csv");
  EXPECT_EQ(thrown_by([] { return parse_layers("name,cin,cuot\n", "x.csv"); }),
            "2: unknown column `cuot` in a list of layers\n  x.csv:1\n  did you mean `cout`?");
  EXPECT_EQ(thrown_by([] { return parse_layers("name,name\n", "x.csv"); }),
            "2: column `name` appears twice in a list of layers\n  x.csv:1");
  EXPECT_EQ(thrown_by([] { return parse_layers("name,cin,cout,height\n", "x.csv"); }),
            "2: a list of layers without columns width, kernel_h\n  x.csv:1");
  const std::string header = "name,cin,cout,height,width,kernel_h,groups\n";
  EXPECT_EQ(thrown_by([&] { return parse_layers(header + "a,3,16,8,8\n", "x.csv"); }),
            "2: 5 cells under 7 columns\n  x.csv:2");
  EXPECT_EQ(thrown_by([&] { return parse_layers(header + "a,3.5,16,8,8,3,1\n", "x.csv"); }),
            "2: column `cin` is `3.5`, needed: a whole number\n  x.csv:2");
  EXPECT_EQ(thrown_by([&] { return parse_layers(header + "a,0,16,8,8,3,1\n", "x.csv"); }),
            "2: layer `a`: cin = 0, needed: at least 1\n  x.csv:2");
  EXPECT_EQ(thrown_by([&] { return parse_layers(header + "a,3,16,8,8,3,2\n", "x.csv"); }),
            "2: layer `a`: 2 groups of 3 input and 16 output channels, needed: a divisor of both\n  x.csv:2");
  EXPECT_EQ(thrown_by([&] { return parse_layers(header + "a,3,16,8,8,9,1\n", "x.csv"); }),
            "2: layer `a`: a 9 x 9 window on a 8 x 8 input with padding 0 and 0, needed: a window within the padded "
            "input\n  x.csv:2");
  ConvLayer wide = fully_connected("fc", 2, 2);
  wide.bits.weight = 65;
  EXPECT_EQ(thrown_by([&] {
              require_legal(wide, "here");
              return 0;
            }),
            "2: layer `fc`: weight_bits = 65, needed: at most 64\n  here");
}

TEST(ScaleSim, ReadsATopologyWithTrailingCommasAndRoundsOutputsUp) {
  const std::string text =
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\r\n"
      "Conv1, 224, 224, 11, 11, 3, 96, 4,\r\nConv2,\t31, 31, 5, 5, 96, 256, 1, 1:1,\r\n";
  const std::vector<ConvLayer> layers = parse_scale_sim_topology(text, "alexnet.csv");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].out_h(), 55);
  EXPECT_EQ(layers[0].gemm(), (Gemm{3025, 96, 363}));
  EXPECT_EQ(layers[1].out_w(), 27);
  const std::vector<ConvLayer> again = parse_scale_sim_topology(scale_sim_topology_text(layers), "again.csv");
  ASSERT_EQ(again.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(again[i].gemm(), layers[i].gemm()) << i;
}

TEST(ScaleSim, ReadsAndWritesProducts) {
  const std::vector<ConvLayer> layers = parse_scale_sim_gemms("Layer, M, N, K,\r\nG1, 256, 128, 64,\r\n", "g.csv");
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].gemm(), (Gemm{256, 128, 64}));
  EXPECT_EQ(scale_sim_gemms_text({alexnet_conv2()}),
            "Layer, M, N, K,\nconv2.1, 729, 128, 1200,\nconv2.2, 729, 128, 1200,\n");
}

TEST(ScaleSim, NamesWhatIsWrongInATopology) {
  EXPECT_EQ(thrown_by([] { return parse_scale_sim_topology("", "t.csv"); }),
            "2: an empty topology, needed: a header and one layer a line\n  t.csv");
  EXPECT_EQ(thrown_by([] { return parse_scale_sim_topology("a, 1, 2, 3\n", "t.csv"); }),
            "2: the first line of a topology holds numbers, needed: a header\n  t.csv:1");
  EXPECT_EQ(thrown_by([] { return parse_scale_sim_topology("Layer,\nc, 8, 8, 3, 3, 4, 4,\n", "t.csv"); }),
            "2: no cell for column `stride`\n  t.csv:2");
  EXPECT_EQ(thrown_by([] { return parse_scale_sim_topology("Layer,\nc, 8, 8, 3, 3, 4, 4, 1, 2:4\n", "t.csv"); }),
            "2: layer `c` has sparsity `2:4`, which is not modelled, needed: 1:1 or nothing\n  t.csv:2");
}

constexpr std::string_view example_config =
    "[general]\nrun_name = first\n\n[architecture_presets]\nArrayHeight:    32\nArrayWidth:     16\n"
    "IfmapSramSzkB:   64\nFilterSramSzkB:  128\nOfmapSramSzkB:   32\nIfmapOffset:    0\nFilterOffset:   10000000\n"
    "OfmapOffset:    20000000\nBandwidth : 64, 10\nDataflow : ws\nFilterCustomLayout: False\nMemoryBanks: 1\n\n"
    "[sparsity]\nSparsitySupport : false\nBlockSize : 8\n\n[run_presets]\nInterfaceBandwidth: USER \n";

TEST(ScaleSim, ReadsAndWritesAConfiguration) {
  const ScaleSimConfig config = parse_scale_sim_config(example_config, "scale.cfg");
  EXPECT_EQ(config.run_name, "first");
  EXPECT_EQ(config.array, (SystolicArray{32, 16, SystolicDataflow::weight_stationary}));
  EXPECT_EQ(config.filter_kb, 128);
  EXPECT_EQ(config.bandwidth, (std::vector<double>{64, 10}));
  EXPECT_EQ(parse_scale_sim_config(scale_sim_config_text(config), "again.cfg"), config);
  ScaleSimConfig calculated = config;
  calculated.bandwidth.reset();
  EXPECT_EQ(parse_scale_sim_config(scale_sim_config_text(calculated), "again.cfg"), calculated);
}

TEST(ScaleSim, RefusesKeysThatItDoesNotKnowOrModel) {
  const auto error = [](std::string_view text) {
    return thrown_by([&] { return parse_scale_sim_config(text, "s.cfg"); });
  };
  EXPECT_EQ(error("[architecture_presets]\nArrayHight: 3\n"),
            "2: unknown key `ArrayHight` in section `architecture_presets`\n  s.cfg:2\n  did you mean `ArrayHeight` or "
            "`ArrayWidth`?");
  EXPECT_EQ(error("[sparsity]\nSparsitySupport: true\n"),
            "2: `SparsitySupport` is `true`, and what it switches on is not modelled, needed: false\n  s.cfg:2");
  EXPECT_EQ(error("[general\n"), "2: a section without its closing bracket: `[general`\n  s.cfg:1");
  EXPECT_EQ(error("ArrayHeight 3\n"), "2: a line without `:` or `=`: `ArrayHeight 3`\n  s.cfg:1");
  EXPECT_EQ(error("ArrayHeight: 0\n"), "2: `ArrayHeight` is `0`, needed: a whole number of at least 1\n  s.cfg:1");
  EXPECT_EQ(error("Dataflow: rs\n"), "2: `Dataflow` is `rs`, needed: os, ws or is\n  s.cfg:1");
  EXPECT_EQ(error("Bandwidth: -1\n"), "2: `Bandwidth` is `-1`, needed: positive words per cycle\n  s.cfg:1");
  EXPECT_EQ(error("InterfaceBandwidth: MAX\n"), "2: `InterfaceBandwidth` is `MAX`, needed: CALC or USER\n  s.cfg:1");
  EXPECT_EQ(error("InterfaceBandwidth: USER\n"),
            "2: `InterfaceBandwidth` is USER without a `Bandwidth`, needed: words per cycle\n  s.cfg");
}

}  // namespace
}  // namespace kasimir
