// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace kasimir::report {

/// The files of report/assets, embedded by report/embed.cmake.
extern const std::string_view report_page;         ///< report.html
extern const std::string_view report_style;        ///< report.css
extern const std::string_view report_script;       ///< report.js
extern const std::string_view report_accelerator;  ///< accelerator.html
extern const std::string_view report_cosearch;     ///< cosearch.html

}  // namespace kasimir::report
