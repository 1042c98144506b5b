// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/report.h"

#include "kasimir/base/files.h"
#include "kasimir/report/assets.h"
#include "kasimir/report/parts.h"

namespace kasimir::report {

std::string report_html(const study::Store& store, Catalog catalog, const ReportOptions& options) {
  const View view = look_at(store, options.others);
  return fill_in(report_page, {{"style", std::string(report_style)},
                               {"script", std::string(report_script)},
                               {"headline", headline(view, options.goal).str()},
                               {"trade-offs", trade_offs(view).str()},
                               {"finalists", finalist_table(view).str()},
                               {"kernels", kernel_cards(view, view.finalists, catalog, options.dot).str()},
                               {"curves", learning_curves(view).str()},
                               {"trials", trial_table(view).str()},
                               {"rejections", rejections(view).str()},
                               {"others", kernel_cards(view, view.others, catalog, options.dot).str()},
                               {"asked", asked_and_used(view, options.program).str()},
                               {"command", command(view).str()}});
}

void write_report(const study::Store& store, Catalog catalog, const std::filesystem::path& path,
                  const ReportOptions& options) {
  write_file(path, report_html(store, catalog, options));
}

}  // namespace kasimir::report
