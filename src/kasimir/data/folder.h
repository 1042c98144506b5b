// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kasimir {

/// What a folder holds, in the byte order of the names, which no locale changes.
/// @throws Error (input) if it cannot be listed.
std::vector<std::filesystem::directory_entry> sorted_entries(const std::filesystem::path& folder);

/// The names in a folder for a message: "a, b/, c and 7 more"; folders end with a slash.
std::string entries_text(const std::filesystem::path& folder);

}  // namespace kasimir
