// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/report.h"

#include "kasimir/base/files.h"
#include "kasimir/report/frame.h"
#include "kasimir/report/parts.h"

namespace kasimir::report {

std::vector<Section> report_sections(const View& view, Catalog catalog, const ReportOptions& options) {
  return {{"trade-offs", "Trade-offs", "Trade-offs", trade_offs(view)},
          {"finalists", "Finalists", "Finalists", finalist_table(view)},
          {"kernels", "Kernels", "The finalists' kernels", kernel_cards(view, view.finalists, catalog, options.dot)},
          {"curves", "Learning curves", "Learning curves", learning_curves(view)},
          {"trials", "All trials", "All trials", trial_table(view)},
          {"others", "", "The best of the other kernels", kernel_cards(view, view.others, catalog, options.dot)},
          {"rejections", "Rejections", "Rejections and failures", rejections(view)},
          {"asked", "Asked and used", "Asked and used", asked_and_used(view, options.program)},
          {"command", "", "To repeat it", command(view)}};
}

std::string report_html(const study::Store& store, Catalog catalog, const ReportOptions& options) {
  const View view = look_at(store, options.others);
  return framed("Kasimir report", headline(view, options.goal), report_sections(view, catalog, options));
}

void write_report(const study::Store& store, Catalog catalog, const std::filesystem::path& path,
                  const ReportOptions& options) {
  write_file(path, report_html(store, catalog, options));
}

}  // namespace kasimir::report
