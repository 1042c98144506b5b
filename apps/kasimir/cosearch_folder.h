// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace kasimir {

/// Whether a path is the folder of `kasimir cosearch`, not a study.
bool is_cosearch_folder(const std::filesystem::path& path);

/// What `kasimir study show` says of it: what was asked, how far it is, and the networks that were trained in full.
/// JSON: one object per network and line; CSV with a header. @throws Error (input) for files that cannot be read.
std::string cosearch_listing(const std::filesystem::path& folder, bool json, bool csv);

/// The page that the search wrote at its end. @throws Error (input) where it has not ended.
std::filesystem::path cosearch_page_of(const std::filesystem::path& folder);

}  // namespace kasimir
