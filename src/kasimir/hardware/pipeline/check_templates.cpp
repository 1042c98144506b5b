// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/hardware/pipeline/check_pipelines.h"
#include "kasimir/hardware/pipeline/csv.h"
#include "kasimir/hardware/pipeline/eyeriss.h"
#include "kasimir/hardware/pipeline/stage_pipeline.h"
#include "kasimir/hardware/pipeline/systolic.h"
#include "kasimir/hardware/pipeline/tpu.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kasimir {
namespace {

std::vector<CsvRow> rows_of(const std::filesystem::path& file) {
  return csv_rows(read_file(file), file.filename().string());
}

CheckRow counted(std::string set, std::size_t points, std::size_t equal, std::string_view source) {
  return {
      std::move(set),     points, "all equal", fmt::format("{} of {}", equal, points), points > 0 && equal == points,
      std::string(source)};
}

// A number as printed in the source, with that many digits after the point.
bool as_printed(double found, const CsvRow& row, std::size_t column) {
  const std::string& text = row.cells.at(column);
  const auto point = text.find('.');
  const std::size_t digits = point == std::string::npos ? 0 : text.size() - point - 1;
  return fmt::format("{:.{}f}", found, digits) == text;
}

CheckRow check_systolic(const std::filesystem::path& file) {
  const std::map<std::string, SystolicDataflow> dataflows{{"os", SystolicDataflow::output_stationary},
                                                          {"ws", SystolicDataflow::weight_stationary},
                                                          {"is", SystolicDataflow::input_stationary}};
  std::size_t points = 0, equal = 0;
  const std::vector<CsvRow> rows = rows_of(file);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto at = [&](std::size_t c) { return whole_cell(rows[i], c, rows[0].cells.at(c)); };
    const auto dataflow = dataflows.find(rows[i].cells.at(0));
    if (dataflow == dataflows.end())
      throw input_error("unknown dataflow `{}`", rows[i].cells.at(0)).note(rows[i].where());
    const SystolicCost cost = systolic_cost(Gemm{at(3), at(4), at(5)}, {at(1), at(2), dataflow->second});
    ++points;
    if (cost.cycles - 1 == at(6)) ++equal;
  }
  return counted("SCALE-Sim cycles", points, equal, "SCALE-Sim v2, runs");
}

// Errors of a model in percent.
struct Errors {
  std::vector<double> percent;
  void add(double model, double measured) { percent.push_back(100 * (model / measured - 1)); }
  [[nodiscard]] double worst() const {
    double worst = 0;
    for (const double e : percent) worst = std::max(worst, std::abs(e));
    return worst;
  }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double e : percent) sum += std::abs(e);
    return percent.empty() ? 0 : sum / static_cast<double>(percent.size());
  }
};

std::vector<CheckRow> check_eyeriss(const std::filesystem::path& file) {
  const std::string source = "Chen et al., JSSC 52(1) 2017, tables V and VI, chip";
  std::vector<EyerissRun> alexnet, vgg;
  for (const CsvRow& row : rows_of(file)) {
    if (row.cells[0] == "net" || row.cells.at(1) == "total") continue;
    const EyerissRun run{number_cell(row, 5, "GMAC") * 1e9, number_cell(row, 6, "active_PE"),
                         number_cell(row, 9, "glb_MB") * 1e6, number_cell(row, 4, "processing_latency_ms")};
    (row.cells[0] == "alexnet" ? alexnet : vgg).push_back(run);
  }
  if (vgg.empty()) throw input_error("no layers of VGG-16").note(file.string());
  std::vector<EyerissRun> fitted = alexnet;
  fitted.push_back(vgg.front());
  const EyerissRoofline model = fit_eyeriss(fitted);
  Errors train, alex, held_out;
  for (const EyerissRun& run : fitted) train.add(model.latency_ms(run), run.processing_ms);
  for (const EyerissRun& run : alexnet) alex.add(model.latency_ms(run), run.processing_ms);
  for (std::size_t i = 1; i < vgg.size(); ++i) held_out.add(model.latency_ms(vgg[i]), vgg[i].processing_ms);
  return {
      {"Eyeriss VGG-16 latency, held out", held_out.percent.size(), "4 % each",
       fmt::format("mean {:.1f} %, worst {:.1f} %", held_out.mean(), held_out.worst()), held_out.worst() <= 4, source},
      {"Eyeriss AlexNet latency, fitted", alex.percent.size(), "13 % each; with VGG 1-1 mean 4 %",
       fmt::format("worst {:.1f} %; mean {:.1f} %, without VGG 1-1 {:.1f} %", alex.worst(), train.mean(), alex.mean()),
       alex.worst() <= 13 && train.mean() <= 4, source}};
}

CheckRow check_eyeriss_traffic(const std::filesystem::path& file) {
  Errors errors;
  for (const CsvRow& row : rows_of(file)) {
    if (row.cells[0] == "layer") continue;
    const auto at = [&](std::size_t c) { return whole_cell(row, c, "layer or mapping"); };
    ConvLayer layer = same_convolution(row.cells[0], at(1), at(2), at(3), at(4), at(5), at(6));
    layer.padding_h = layer.padding_w = at(7);
    const RowStationary mapping{at(8), at(9), at(10), at(11), at(12), at(13), at(14)};
    constexpr int batch = 4;
    errors.add(row_stationary_traffic(layer, mapping, batch).bytes() * 1e-6, number_cell(row, 15, "glb_MB"));
  }
  return {"Eyeriss AlexNet buffer traffic",
          errors.percent.size(),
          "5 % each",
          fmt::format("mean {:.1f} %, worst {:.1f} %", errors.mean(), errors.worst()),
          !errors.percent.empty() && errors.worst() <= 5,
          "JSSC tables III and V; C3 with the folding of C4"};
}

CheckRow check_tpu(const std::filesystem::path& file) {
  std::size_t points = 0, below = 0;
  double closest = 0;
  for (const CsvRow& row : rows_of(file)) {
    if (row.cells[0] == "app") continue;
    const double bound = TpuRoofline{}.bound_tops(number_cell(row, 1, "mac_per_weight_byte"));
    const double measured = number_cell(row, 2, "measured_TOPS");
    ++points;
    if (measured <= bound) ++below;
    closest = std::max(closest, measured / bound);
  }
  return {"TPUv1 roofline",
          points,
          "no program above its bound",
          fmt::format("{} of {} below, closest {:.0f} %", below, points, 100 * closest),
          points > 0 && below == points,
          "Jouppi et al., ISCA 2017, tables 1 and 3, chip"};
}

CheckRow check_dnnbuilder(const std::filesystem::path& file) {
  constexpr double clock = 200e6;
  std::map<std::string, std::vector<DnnBuilderStage>> networks;
  std::size_t points = 0, equal = 0;
  for (const CsvRow& row : rows_of(file)) {
    const auto at = [&](std::size_t c) { return whole_cell(row, c, "stage"); };
    if (row.cells[0] == "stage") {
      ConvLayer layer{row.cells.at(2), at(3), at(4), at(5), at(6), at(7), at(7), at(8), at(9), at(10), at(10), {}};
      require_legal(layer, row.where());
      networks[row.cells[1]].push_back({layer, at(11), at(12)});
      continue;
    }
    const StagePipelineCost cost = dnnbuilder_cost(networks[row.cells.at(1)]);
    points += 3;
    equal += (cost.bottleneck == number_cell(row, 2, "cycles") ? 1 : 0) +
             (as_printed(cost.fps(clock), row, 3) ? 1 : 0) + (cost.multipliers == number_cell(row, 4, "dsp") ? 1 : 0);
    if (row.cells.size() <= 5) continue;
    ++points;
    equal += as_printed(cost.gops(clock), row, 5) ? 1 : 0;
  }
  return counted("DNNBuilder cycles, FPS, DSP, GOPS", points, equal, "AccDNN 982b98f, its examples");
}

CheckRow check_finn(const std::filesystem::path& file) {
  std::size_t points = 0, equal = 0;
  for (const CsvRow& row : rows_of(file)) {
    if (row.cells[0] == "unit") continue;
    const auto at = [&](std::size_t c) { return whole_cell(row, c, "unit"); };
    const FinnUnit unit{row.cells[0], at(1), at(2), at(3), at(4), at(5), {at(6), at(7)}};
    ++points;
    if (finn_cycles(unit) == at(8)) ++equal;
  }
  return counted("FINN CNV-w1a1 cycles", points, equal, "FINN's example network");
}

}  // namespace

std::vector<CheckRow> check_templates(const std::filesystem::path& reference) {
  std::vector<CheckRow> rows{check_systolic(reference / "systolic_scalesim.csv")};
  for (CheckRow& row : check_eyeriss(reference / "eyeriss_jssc17.csv")) rows.push_back(std::move(row));
  rows.push_back(check_eyeriss_traffic(reference / "eyeriss_traffic.csv"));
  rows.push_back(check_tpu(reference / "tpuv1.csv"));
  rows.push_back(check_dnnbuilder(reference / "dnnbuilder.csv"));
  rows.push_back(check_finn(reference / "finn.csv"));
  return rows;
}

std::vector<CheckRow> check_pipelines(const std::filesystem::path& reference) {
  std::vector<CheckRow> rows = check_auto_nba(reference);
  for (CheckRow& row : check_templates(reference)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace kasimir
