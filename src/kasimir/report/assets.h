// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace kasimir::report {

/// The files of report/assets, embedded by report/embed.cmake.
extern const std::string_view report_style;   ///< report.css
extern const std::string_view report_script;  ///< report.js
extern const std::string_view report_live;    ///< live.js
extern const std::string_view report_frame;   ///< frame.html

}  // namespace kasimir::report
