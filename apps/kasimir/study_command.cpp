// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"

#include "kasimir/base/error.h"
#include "kasimir/report/listing.h"
#include "kasimir/study/store.h"

namespace kasimir {
namespace {

struct StudyCommand {
  std::string path;
  bool json = false;
  bool csv = false;
};

int show(const StudyCommand& options) {
  const auto store = study::Store::view(options.path);
  if (options.json) {
    fmt::print("{}", report::study_json(store));
  } else if (options.csv) {
    fmt::print("{}", report::study_csv(store));
  } else {
    fmt::print("{}\n{}", report::study_table(store).str(), report::rejection_table(store).str());
  }
  return 0;
}

}  // namespace

void add_study(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("study", "looks into a study");
  command->require_subcommand(1);
  auto* shown = command->add_subcommand("show", "the trials as a table");
  auto options = std::make_shared<StudyCommand>();
  shown->add_option("study", options->path, "the study's file")->required();
  shown->add_flag("--json", options->json,
                  "one object per trial and line, with state, kernel, accuracy, latency_ms, macs, params, reason");
  shown->add_flag("--csv", options->csv, "comma-separated values with a header");
  shown->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace kasimir
