// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernelzoo/entry.h"

#include <filesystem>
#include <vector>

namespace kasimir::kernelzoo {

/// The files `*.txt` of the folders, by the kernels' names; folders that do not exist have none.
/// @throws Error (input) as parse_entry and check_entry, and for two kernels of one name or one fingerprint.
std::vector<Entry> read_zoo(const std::vector<std::filesystem::path>& folders, Catalog catalog);

/// The entry of that name. @throws Error (input) with near names.
const Entry& entry_named(const std::vector<Entry>& entries, std::string_view name);

/// @throws Error (input) if one of them has the entry's name or computes what it computes.
void check_new(const Entry& entry, const std::vector<Entry>& entries);

}  // namespace kasimir::kernelzoo
