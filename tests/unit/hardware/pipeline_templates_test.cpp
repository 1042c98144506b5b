// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/files.h"
#include "kasimir/hardware/pipeline/check_pipelines.h"
#include "kasimir/hardware/pipeline/eyeriss.h"
#include "kasimir/hardware/pipeline/scale_sim.h"
#include "kasimir/hardware/pipeline/stage_pipeline.h"
#include "kasimir/hardware/pipeline/systolic.h"
#include "kasimir/hardware/pipeline/tpu.h"
#include "support/thrown.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace kasimir {
namespace {

using testing::thrown_by;
namespace fs = std::filesystem;

const fs::path reference = fs::path(KASIMIR_SOURCE_DIR) / "tests/reference/hardware";

TEST(CheckPipelines, EveryComparisonWithTheOutsideHolds) {
  const std::vector<CheckRow> rows = check_pipelines(reference);
  EXPECT_EQ(rows.size(), 10U);
  for (const CheckRow& row : rows) {
    EXPECT_TRUE(row.holds) << row.set << ": asked " << row.asked << ", found " << row.found;
    EXPECT_GT(row.points, 0U) << row.set;
    EXPECT_FALSE(row.source.empty()) << row.set;
  }
  EXPECT_EQ(rows[0].found, "1680 of 1680 (240 records)");
  EXPECT_EQ(rows[1].found, "600 of 600 (16 records)");
  EXPECT_EQ(rows[2].found, "17 of 17, 17 proved");
  EXPECT_EQ(rows[3].found, "18 of 18");
}

// A copy of the reference folder in which one text is another.
class ChangedReference {
 public:
  ChangedReference(const std::string& file, const std::string& from, const std::string& to)
      : folder_(fs::temp_directory_path() / fmt::format("kasimir_changed_{}_{}", getpid(), file)) {
    fs::remove_all(folder_);
    fs::copy(reference, folder_, fs::copy_options::recursive);
    std::string text = read_file(folder_ / file);
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error("no such text: " + from);
    write_file(folder_ / file, text.replace(at, from.size(), to));
  }
  ~ChangedReference() { fs::remove_all(folder_); }
  ChangedReference(const ChangedReference&) = delete;
  ChangedReference& operator=(const ChangedReference&) = delete;
  [[nodiscard]] std::size_t failures() const {
    std::size_t failed = 0;
    for (const CheckRow& row : check_pipelines(folder_)) failed += row.holds ? 0 : 1;
    return failed;
  }

 private:
  fs::path folder_;
};

TEST(CheckPipelines, OneOtherNumberIsFound) {
  EXPECT_EQ(ChangedReference("auto_nba_layers.csv", "960000", "960001").failures(), 1U);
  EXPECT_EQ(ChangedReference("auto_nba_networks.csv", "11940480", "11940481").failures(), 1U);
  EXPECT_EQ(ChangedReference("auto_nba_optima.csv", "1131204", "1131203").failures(), 1U);
  EXPECT_EQ(ChangedReference("systolic_scalesim.csv", "1503", "1504").failures(), 1U);
  EXPECT_EQ(ChangedReference("eyeriss_jssc17.csv", "810.6", "750.6").failures(), 1U);
  EXPECT_EQ(ChangedReference("eyeriss_traffic.csv", "77.6", "84.0").failures(), 1U);
  EXPECT_EQ(ChangedReference("tpuv1.csv", "12.3", "14.3").failures(), 1U);
  EXPECT_EQ(ChangedReference("dnnbuilder.csv", "85.61", "85.62").failures(), 1U);
  EXPECT_EQ(ChangedReference("finn.csv", "28224", "28225").failures(), 1U);
}

TEST(CheckPipelines, NamesALineThatItCannotUse) {
  const fs::path file = fs::temp_directory_path() / fmt::format("kasimir_bad_networks_{}.csv", getpid());
  write_file(file, "block,1,k3_e1,8,100\n");
  EXPECT_EQ(
      thrown_by([&] { return read_nba_references(file).size(); }),
      fmt::format("2: a line `block`, needed: network first, then block and chunk\n  {}:1", file.filename().string()));
  fs::remove(file);
}

TEST(Systolic, AgreesWithTheGoldenLayerOfScaleSim) {
  const std::vector<ConvLayer> layers =
      parse_scale_sim_topology("Layer,\nConv1, 224, 224, 11, 11, 3, 96, 4,\n", "alexnet.csv");
  const SystolicCost cost = systolic_cost(layers[0], {32, 32, SystolicDataflow::weight_stationary});
  EXPECT_EQ(cost.cycles - 1, 112283);
  EXPECT_NEAR(cost.mapping_efficiency, 0.9453, 5e-5);
  EXPECT_EQ(cost.input_reads, 3294225);
  EXPECT_EQ(cost.weight_reads, 34848);
  EXPECT_EQ(cost.output_writes, 3484800);
}

TEST(Systolic, GroupsComeOneAfterAnother) {
  const ConvLayer two{"c", 64, 64, 8, 8, 1, 1, 1, 2, 0, 0, {}};
  const ConvLayer half{"c", 32, 32, 8, 8, 1, 1, 1, 1, 0, 0, {}};
  const SystolicArray array{16, 16, SystolicDataflow::output_stationary};
  EXPECT_EQ(systolic_cost(two, array).cycles, 2 * systolic_cost(half, array).cycles);
  EXPECT_EQ(systolic_cost(two, array).weight_reads, 2 * systolic_cost(half, array).weight_reads);
  EXPECT_EQ(systolic_cost(two, array).utilization, systolic_cost(half, array).utilization);
}

TEST(Systolic, RefusesEmptySizes) {
  EXPECT_EQ(thrown_by([] { return systolic_cost(Gemm{1, 1, 1}, {0, 4, {}}).cycles; }),
            "2: a systolic array of 0 x 4 elements, needed: at least 1 x 1");
  EXPECT_EQ(thrown_by([] { return systolic_cost(Gemm{1, 0, 1}, {4, 4, {}}).cycles; }),
            "2: a product M = 1, N = 0, K = 1, needed: at least 1 each");
}

TEST(Eyeriss, TheFitFindsTheConstantsOfTheModel) {
  const EyerissRoofline truth{0.8, 12};
  std::vector<EyerissRun> runs{{1e9, 150, 1e6, 0}, {1e8, 168, 5e8, 0}, {2e9, 120, 2e6, 0}, {2e8, 168, 7e8, 0}};
  for (EyerissRun& run : runs) run.processing_ms = truth.latency_ms(run);
  const EyerissRoofline fit = fit_eyeriss(runs);
  EXPECT_NEAR(fit.compute_efficiency, 0.8, 1e-9);
  EXPECT_NEAR(fit.glb_bytes_per_cycle, 12, 1e-9);
  EXPECT_EQ(thrown_by([&] { return fit_eyeriss({runs[0]}).compute_efficiency; }),
            "2: all 1 runs are bound by computing, needed: at least one by each of computing and the buffer");
}

TEST(Eyeriss, TrafficByHand) {
  // 2 filters of 4 channels, 3 x 3 outputs in one strip, one image: q r = 2, so partial sums move 3 times.
  const ConvLayer layer{"l", 4, 2, 5, 5, 3, 3, 1, 1, 0, 0, {}};
  const GlbTraffic traffic = row_stationary_traffic(layer, {2, 1, 3, 1, 2, 1, 1}, 1);
  EXPECT_EQ(traffic.psum_words, 3 * 18);
  EXPECT_EQ(traffic.input_reads, 4 * 25 * 2);
  EXPECT_EQ(traffic.input_fills, 4 * 25);
  EXPECT_EQ(traffic.bytes(), 2 * (54 + 200 + 100));
}

TEST(Tpu, TheBoundIsMemoryThenPeak) {
  EXPECT_NEAR(TpuRoofline{}.bound_tops(200), 13.6, 1e-9);
  EXPECT_NEAR(TpuRoofline{}.bound_tops(64), 4.352, 1e-9);
  EXPECT_EQ(TpuRoofline{}.bound_tops(2888), 92);
}

TEST(DnnBuilder, NarrowFiltersShareBlocksInPairs) {
  DnnBuilderStage stage{same_convolution("c", 16, 16, 8, 3), 4, 8};
  EXPECT_EQ(dnnbuilder_dsp(stage), 32);
  stage.layer.bits = {8, 8};
  EXPECT_EQ(dnnbuilder_dsp(stage), 16);
  stage.kpf = 1;
  EXPECT_EQ(dnnbuilder_dsp(stage), 4);
  stage.kpf = 0;
  EXPECT_EQ(thrown_by([&] { return dnnbuilder_cost({stage}).bottleneck; }),
            "2: stage `c`: CPF = 4, KPF = 0, needed: at least 1");
  EXPECT_EQ(thrown_by([] { return dnnbuilder_cost({}).bottleneck; }), "2: a pipeline without stages");
}

TEST(Finn, UnitsOfLayersAndTheirResources) {
  ConvLayer layer = same_convolution("c", 64, 128, 12, 3);
  layer.bits = {2, 2};
  const FinnUnit unit = finn_unit(layer, 16, 32);
  EXPECT_EQ(unit, (FinnUnit{"c", 128, 576, 144, 16, 32, {2, 2}}));
  EXPECT_EQ(finn_cycles(unit), 20736);
  // 300 + 1.1 x 16 x (32 x 1 x 4 + 4 x 63)
  EXPECT_NEAR(finn_lut(unit), 300 + 1.1 * 16 * (128 + 252), 1e-9);
  EXPECT_EQ(finn_dsp(unit, FinnMultiplier::hls), 512);
  EXPECT_EQ(finn_dsp(unit, FinnMultiplier::rtl_dsp48_4bit), 4 * 32);
  EXPECT_EQ(finn_dsp(unit, FinnMultiplier::rtl_dsp58_8bit), 16 * 11);
  EXPECT_EQ(finn_weight_bram18(unit), 29);  // 1,024 bits by 144 words
  const FinnUnit depthwise = finn_unit(same_convolution("d", 32, 32, 8, 3, 1, 32), 4, 9);
  EXPECT_EQ(finn_cycles(depthwise), 32 / 4 * 64);
}

TEST(Finn, TheSlowestUnitBoundsTheNetwork) {
  const std::vector<FinnUnit> units{{"a", 64, 27, 900, 16, 3, {1, 8}}, {"b", 512, 256, 1, 1, 4, {1, 1}}};
  const StagePipelineCost cost = finn_cost(units);
  EXPECT_EQ(cost.bottleneck, 32768);
  EXPECT_EQ(cost.slowest, 1U);
  EXPECT_NEAR(cost.fps(100e6), 3051.8, 0.05);
  EXPECT_EQ(thrown_by([] { return finn_cycles({"a", 10, 27, 1, 3, 3, {1, 1}}); }),
            "2: unit `a`: PE = 3 of 10 rows, SIMD = 3 of 27 columns, needed: divisors");
  EXPECT_EQ(thrown_by([] { return finn_cost({}).bottleneck; }), "2: a pipeline without units");
}

}  // namespace
}  // namespace kasimir
