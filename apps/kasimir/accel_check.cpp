// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accel.h"

#include "kasimir/base/error.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/check_engine.h"
#include "kasimir/hardware/pipeline/check_pipelines.h"
#include "kasimir/hardware/preset_texts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace kasimir {
namespace {

struct CheckCommand {
  std::string folder;
  bool searches = false;
  bool json = false;
};

std::filesystem::path folder_of(const CheckCommand& options) {
  if (!options.folder.empty()) return options.folder;
  const std::filesystem::path usual = KASIMIR_REFERENCE_DIR;
  if (!std::filesystem::is_directory(usual))
    throw input_error("the reference numbers are not at {}", usual.string())
        .note("name their folder: kasimir accel check FOLDER (tests/reference/hardware of the source tree)");
  return usual;
}

int check(const CheckCommand& options) {
  const std::filesystem::path folder = folder_of(options);
  std::vector<CheckRow> rows = check_engine(folder);
  for (CheckRow& row : check_pipelines(folder)) rows.push_back(std::move(row));
  if (options.searches)
    for (CheckRow& row : check_searches()) rows.push_back(std::move(row));
  const auto broken = std::ranges::count_if(rows, [](const CheckRow& row) { return !row.holds; });
  Table table({{"numbers", "", Table::Align::left},
               {"points", ""},
               {"asked", "", Table::Align::left},
               {"found", "", Table::Align::left},
               {"holds", "", Table::Align::left}});
  for (const CheckRow& row : rows) {
    if (options.json)
      fmt::print("{}\n", nlohmann::json{{"set", row.set},
                                        {"points", row.points},
                                        {"asked", row.asked},
                                        {"found", row.found},
                                        {"holds", row.holds},
                                        {"source", row.source}}
                             .dump());
    table.row(
        {row.set, grouped(static_cast<std::int64_t>(row.points)), row.asked, row.found, row.holds ? "yes" : "NO"});
  }
  if (!options.json)
    fmt::print("{}\n{}\n", table.str(),
               broken == 0 ? fmt::format("all {} hold", rows.size())
                           : fmt::format("{} of {} do not hold", broken, rows.size()));
  return broken == 0 ? 0 : 1;
}

int list_presets() {
  Table table({{"preset", "", Table::Align::left},
               {"levels", "", Table::Align::left},
               {"units", ""},
               {"clock", "MHz"},
               {"source", "", Table::Align::left}});
  for (const PresetText& text : preset_texts()) {
    const Architecture architecture = preset(text.name);
    std::vector<std::string> levels;
    for (const MemoryLevel& level : architecture.levels) levels.push_back(level.name);
    table.row({std::string(text.name), join(levels, " > "), grouped(static_cast<std::int64_t>(architecture.units())),
               fmt::format("{:.0f}", architecture.clock_mhz), architecture.source});
  }
  fmt::print("{}", table.str());
  return 0;
}

int print_preset(const std::string& name) {
  static_cast<void>(preset(name));  // refuses other names
  for (const PresetText& text : preset_texts())
    if (text.name == name) fmt::print("{}", text.toml);
  return 0;
}

}  // namespace

void add_accel_check(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("check", "compares the models with numbers from outside, in one table");
  auto options = std::make_shared<CheckCommand>();
  command->add_option("folder", options->folder,
                      "of the numbers (default: tests/reference/hardware of the source tree)");
  command->add_flag("--searches", options->searches,
                    "the search engines and their speed, too: half a minute on a machine at rest");
  command->add_flag("--json", options->json, "one object per row and line");
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

void add_accel_presets(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("presets", "lists the machines that come with the program, or prints one as TOML");
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "prints this one; change it and give the file to --arch");
  command->callback(
      [name, &action] { action = [name] { return name->empty() ? list_presets() : print_preset(*name); }; });
}

}  // namespace kasimir
