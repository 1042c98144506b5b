// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/primitive.h"
#include "kasimir/study/store.h"
#include "kasimir/study/summary.h"

#include <filesystem>
#include <string>

namespace kasimir::report {

struct ReportOptions {
  study::Goal goal;         ///< what the headline measures the kernels against
  std::string program;      ///< name and version of what writes the report
  std::size_t others = 10;  ///< how many kernels beside the finalists are shown in full
  std::string dot = "dot";  ///< the program that draws graphs
};

/// A study as one self-contained HTML page: it asks the network for nothing and is complete without scripts. A pure
/// function of the study and the options. What the study's spec lacks is left out; a kernel that cannot be read or
/// drawn (no `dot`) has the reason in place of its picture.
std::string report_html(const study::Store& store, Catalog catalog, const ReportOptions& options = {});

/// The page as a file. @throws Error (system) as write_file.
void write_report(const study::Store& store, Catalog catalog, const std::filesystem::path& path,
                  const ReportOptions& options = {});

}  // namespace kasimir::report
