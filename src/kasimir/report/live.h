// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/report/report.h"

#include <string>

/// What a server tells about a study that is running (`kasimir serve`). Nothing here writes to the study.
namespace kasimir::report {

/// Changes whenever a page of the study would: with every job that begins or ends, and every event.
std::string live_token(const study::Store& store);

/// For the script of `live_html`: {"token": .., "text": one line of how far the search is, "finished": ..}.
std::string live_state(const study::Store& store);

/// The report with what workers do now, the log, and a script that asks the page's own server for `state` every few
/// seconds and loads the page anew once its token has changed. It asks nobody else for anything.
std::string live_html(const study::Store& store, Catalog catalog, const ReportOptions& options = {});

}  // namespace kasimir::report
