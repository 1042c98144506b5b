// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace kasimir {

/// The whole file. @throws Error (input) if it cannot be read, with the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

/// Writes beside the target, flushes and renames, so that a reader or a crash never sees half a file. Keeps the
/// permissions of an old file and follows links; a device or a pipe is written in place.
/// @throws Error (system) on a full disk, a missing folder or a refused write; the old file is then unchanged.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Makes the folder and those above it, where they are not there. @throws Error (system) with the system's reason.
void make_folder(const std::filesystem::path& path);

}  // namespace kasimir
