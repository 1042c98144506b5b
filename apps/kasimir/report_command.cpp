// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/cosearch_folder.h"

#include "kasimir/base/error.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/report/report.h"

#include <filesystem>

namespace kasimir {

void add_report(CLI::App& app, Action& action) {
  struct ReportCommand {
    std::string path;
    std::string out;
  };
  auto* command = app.add_subcommand("report", "writes a study's report as one HTML file");
  auto options = std::make_shared<ReportCommand>();
  command->add_option("study", options->path, study_help)->required();
  command->add_option("--out", options->out, "the page's file (default: beside the study)");
  command->callback([options, &action] {
    action = [options] {
      if (is_cosearch_folder(options->path)) {
        fmt::print("{} is a joint search, whose page is {}\n", options->path, cosearch_page_of(options->path).string());
        return 0;
      }
      const auto store = study::Store::view(options->path);
      const std::string out = options->out.empty() ? store.place().beside(".html").string() : options->out;
      report::write_report(store, catalog(), out, {.goal = {}, .program = "kasimir " KASIMIR_VERSION});
      fmt::print("wrote {}\n", out);
      return 0;
    };
  });
}

}  // namespace kasimir
