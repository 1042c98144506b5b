// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch_folder.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/table.h"

#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

json object_in(const fs::path& file) {
  json found = json::parse(read_file(file), nullptr, false);
  if (!found.is_object()) throw input_error("{}: no JSON object of a joint search", file.string());
  return found;
}

/// "goes on: 300 steps of the weights, 120 of 600 of the choices".
std::string progress_of(const fs::path& folder, const json& spec) {
  if (fs::exists(folder / "result.json")) return "finished";
  if (!fs::exists(folder / "state.json")) return "not begun, or in its warm-up";
  const json state = object_in(folder / "state.json");
  return fmt::format("not finished: {} steps of the weights, {} of {} of the choices",
                     state["state"].value("weight_steps", 0), state["state"].value("choice_steps", 0),
                     spec.value("choice_steps", 0));
}

}  // namespace

bool is_cosearch_folder(const fs::path& path) {
  if (!fs::is_directory(path) || !fs::exists(path / "spec.json")) return false;
  const json spec = json::parse(read_file(path / "spec.json"), nullptr, false);
  return spec.is_object() && spec.contains("choice_steps") && spec.contains("target");
}

std::string cosearch_listing(const fs::path& folder, bool as_json, bool csv) {
  const json spec = object_in(folder / "spec.json");
  const bool ended = fs::exists(folder / "result.json");
  const json result = ended ? object_in(folder / "result.json") : json::object();
  const json finalists = result.value("finalists", json::array());
  std::string lines = csv ? "finalist,cost,validation,test,design\n" : "";
  Table table({{"finalist", "", Table::Align::left},
               {"cost", result.value("unit", "")},
               {"validation", "%"},
               {"test", "%"},
               {"operators and bits", "", Table::Align::left}});
  for (const json& one : finalists) {
    if (as_json) lines += one.dump() + "\n";
    if (csv)
      lines += fmt::format("{},{},{},{},{}\n", one.value("folder", ""), one.value("cost", 0.0),
                           one.value("validation", 0.0), one.value("test", 0.0), one.value("design", ""));
    table.row({one.value("folder", ""), fmt::format("{:.4g}", one.value("cost", 0.0)),
               fmt::format("{:.2f}", 100 * one.value("validation", 0.0)),
               fmt::format("{:.2f}", 100 * one.value("test", 0.0)), one.value("design", "")});
  }
  if (as_json || csv) return lines;
  return fmt::format("a joint search (kasimir cosearch): {} on {}, goal {}; {}\n\n{}", spec.value("space", ""),
                     spec.value("target", ""), spec.value("goal", ""), progress_of(folder, spec), table.str());
}

fs::path cosearch_page_of(const fs::path& folder) {
  if (!fs::exists(folder / "report.html"))
    throw input_error("{} holds a joint search that has not ended: its page comes at the end", folder.string())
        .note("`kasimir cosearch` with the same options goes on");
  return folder / "report.html";
}

}  // namespace kasimir
