// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/hardware/pipeline/check_pipelines.h"
#include "kasimir/hardware/pipeline/csv.h"
#include "kasimir/hardware/pipeline/nba_search.h"

#include <cmath>

namespace kasimir {
namespace {

constexpr std::string_view released = "Auto-NBA, released code 8ddaf3e, run unmodified";

struct Tally {
  std::size_t points = 0, equal = 0;
  void add(double found, double wanted) {
    ++points;
    if (found == wanted) ++equal;
  }
  [[nodiscard]] CheckRow row(std::string set, std::size_t records, std::string_view source) const {
    return {std::move(set),
            points,
            "all equal",
            fmt::format("{} of {} ({} records)", equal, points, records),
            points > 0 && equal == points,
            std::string(source)};
  }
};

CheckRow check_layers(const std::filesystem::path& file) {
  Tally tally;
  const std::vector<CsvRow> rows = csv_rows(read_file(file), file.filename().string());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow& r = rows[i];
    const auto whole = [&](std::size_t c) { return whole_cell(r, c, rows[0].cells.at(c)); };
    const auto number = [&](std::size_t c) { return number_cell(r, c, rows[0].cells.at(c)); };
    const PaperLayer layer{number(10), number(11), number(12), number(13), whole(0) == 1};
    const ChunkShape shape{whole(1), whole(2), whole(3), whole(4), whole(5), whole(6), whole(7), whole(8), whole(9)};
    const ChunkLayerCost cost = paper_layer_cost(layer, shape, number(15));
    const double found[] = {cost.compute, cost.read_input,    cost.read_weights,    cost.write_output,
                            cost.cycles,  cost.resources.dsp, cost.resources.bram18};
    for (std::size_t k = 0; k < std::size(found); ++k) tally.add(found[k], number(16 + k));
  }
  return tally.row("Auto-NBA layers, mode paper", rows.empty() ? 0 : rows.size() - 1, released);
}

CheckRow check_networks(const std::filesystem::path& file) {
  Tally tally;
  const std::vector<NbaReference> references = read_nba_references(file);
  for (const NbaReference& reference : references) {
    const NbaCost cost = paper_cost(reference.network, reference.design, auto_nba_budget());
    tally.add(cost.bottleneck, reference.bottleneck);
    tally.add(cost.resources.dsp, reference.dsp);
    tally.add(cost.resources.bram18, reference.bram18);
    tally.add(cost.fps(), reference.fps);
    tally.add(static_cast<double>(cost.layers), static_cast<double>(reference.layers));
    for (std::size_t b = 0; b < reference.block_cycles.size(); ++b)
      tally.add(cost.block_cycles.at(b), reference.block_cycles[b]);
    for (const auto& [name, cycles] : reference.chunk_cycles) {
      const auto found = cost.chunk_cycles.find(name);
      tally.add(found == cost.chunk_cycles.end() ? 0 : found->second, cycles);
    }
  }
  return tally.row("Auto-NBA networks, mode paper", references.size(), released);
}

CheckRow check_optima(const std::filesystem::path& file) {
  std::size_t points = 0, equal = 0, proved = 0;
  const std::vector<CsvRow> rows = csv_rows(read_file(file), file.filename().string());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow& r = rows[i];
    NbaQuestion question;
    question.network = nba_example(r.cells.at(0) == "cifar" ? NbaInput::cifar : NbaInput::imagenet);
    question.free_mode = whole_cell(r, 1, "free") == 1;
    if (const int bits = whole_cell(r, 2, "bits"); bits > 0) question.network.bits.assign(22, bits);
    const NbaSolution solution = solve_nba(question);
    ++points;
    const double fps = std::round(10 * solution.cost.fps()) / 10;
    const bool cycles_equal = r.cells.size() < 5 || solution.answer.cycles == number_cell(r, 4, "cycles");
    if (fps == number_cell(r, 3, "fps") && cycles_equal) ++equal;
    if (solution.answer.optimal()) ++proved;
  }
  return {"Auto-NBA optima, exact solver",
          points,
          "all equal and proved",
          fmt::format("{} of {}, {} proved", equal, points, proved),
          points > 0 && equal == points && proved == points,
          "enumeration of the released problem"};
}

}  // namespace

std::vector<NbaReference> read_nba_references(const std::filesystem::path& file) {
  std::vector<NbaReference> references;
  for (const CsvRow& r : csv_rows(read_file(file), file.filename().string())) {
    const std::string& kind = r.cells[0];
    if (kind == "network") {
      references.emplace_back();
      NbaReference& n = references.back();
      n.network.input = r.cells.at(2) == "cifar" ? NbaInput::cifar : NbaInput::imagenet;
      n.bottleneck = number_cell(r, 3, "bottleneck");
      n.dsp = number_cell(r, 4, "dsp");
      n.bram18 = number_cell(r, 5, "bram");
      n.fps = number_cell(r, 6, "fps");
      n.layers = static_cast<std::size_t>(whole_cell(r, 7, "layers"));
      continue;
    }
    if (references.empty() || (kind != "block" && kind != "chunk"))
      throw input_error("a line `{}`, needed: network first, then block and chunk", kind).note(r.where());
    NbaReference& n = references.back();
    if (kind == "block") {
      n.network.blocks.push_back(r.cells.at(2));
      n.network.bits.push_back(whole_cell(r, 3, "bits"));
      n.block_cycles.push_back(number_cell(r, 4, "cycles"));
      continue;
    }
    const auto whole = [&](std::size_t c) { return whole_cell(r, c, "shape"); };
    n.design[r.cells.at(2)] = {whole(3), whole(4), whole(5),  whole(6), whole(7),
                               whole(8), whole(9), whole(10), whole(11)};
    n.chunk_cycles[r.cells.at(2)] = number_cell(r, 13, "cycles");
  }
  return references;
}

std::vector<CheckRow> check_auto_nba(const std::filesystem::path& reference) {
  return {check_layers(reference / "auto_nba_layers.csv"), check_networks(reference / "auto_nba_networks.csv"),
          check_optima(reference / "auto_nba_optima.csv")};
}

}  // namespace kasimir
