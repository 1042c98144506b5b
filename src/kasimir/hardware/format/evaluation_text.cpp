// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/format/evaluation_text.h"

#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

nlohmann::json totals_json(const CostModel& model, const Evaluation& evaluation) {
  nlohmann::json busy = nlohmann::json::object();
  nlohmann::json energies{
      {"compute", evaluation.compute_pj}, {"links", evaluation.hop_pj}, {"leakage", evaluation.leakage_pj}};
  for (std::size_t l = 0; l < model.architecture.levels.size(); ++l) {
    busy[model.architecture.levels[l].name] = evaluation.level_cycles[l];
    energies[model.architecture.levels[l].name] = evaluation.level_pj[l];
  }
  return {{"cycles", evaluation.cycles},
          {"compute_cycles", evaluation.compute_cycles},
          {"stall_cycles", evaluation.stall_cycles()},
          {"pause_cycles", evaluation.pause_cycles},
          {"level_cycles", busy},
          {"energy_pj", evaluation.energy_pj},
          {"energy_pj_by", energies},
          {"power_mw", power_mw(model, evaluation)},
          {"utilization", evaluation.utilization},
          {"area_um2", evaluation.area_um2}};
}

std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

nlohmann::json evaluation_json(const CostModel& model, const Mapping& mapping, const Evaluation& evaluation) {
  nlohmann::json rows = nlohmann::json::array();
  nlohmann::json broken = nlohmann::json::array();
  for (int i = 0; i < evaluation.counts.violation_count; ++i)
    broken.push_back(describe(model, evaluation.counts.violations[static_cast<std::size_t>(i)]));
  for (const LevelRow& row : level_rows(model, evaluation))
    rows.push_back({{"level", row.level},
                    {"operand", row.operand},
                    {"instances", row.instances},
                    {"footprint", row.footprint},
                    {"bits", row.bits},
                    {"reads", row.reads},
                    {"fills", row.fills},
                    {"updates", row.updates},
                    {"energy_pj", row.energy_pj}});
  return {{"problem", str(model.problem)},
          {"architecture", model.architecture.name},
          {"mapping", str(mapping, model.problem, model.architecture)},
          {"fits", evaluation.fits()},
          {"violations", broken},
          {"levels", rows},
          {"totals", totals_json(model, evaluation)}};
}

std::string_view evaluation_csv_header() {
  return "name,level,operand,instances,footprint,bits,reads,fills,updates,energy_pj,cycles,compute_cycles,utilization,"
         "fits\n";
}

std::string evaluation_csv(std::string_view name, const CostModel& model, const Evaluation& evaluation) {
  std::string text;
  for (const LevelRow& row : level_rows(model, evaluation))
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},,,,\n", cell(name), cell(row.level), cell(row.operand),
                        row.instances, row.footprint, row.bits, row.reads, row.fills, row.updates, row.energy_pj);
  text += fmt::format("{},total,,,,,,,,{},{},{},{},{}\n", cell(name), evaluation.energy_pj, evaluation.cycles,
                      evaluation.compute_cycles, evaluation.utilization, evaluation.fits());
  return text;
}

}  // namespace kasimir
