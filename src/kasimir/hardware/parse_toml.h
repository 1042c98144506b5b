// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace kasimir {

/// The text as TOML. @throws Error (input) with file, line and column.
toml::table parse_toml(std::string_view text, const std::string& file);

/// A text as a TOML string, quoted.
std::string toml_string(std::string_view text);

}  // namespace kasimir
