// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/file_range.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// A regular file in a tar archive.
struct TarMember {
  std::string name;
  std::int64_t at = 0;  ///< of its first byte in the archive
  std::int64_t size = 0;
};

struct TarListing {
  std::vector<TarMember> members;     ///< whole ones only
  std::optional<std::string> damage;  ///< why the archive could not be read to its end
};

/// The members of a tar archive (POSIX.1-2001 `pax` and `ustar`, GNU long names), found by their headers alone.
/// Folders and links are passed over. @throws Error (input) only if the system refuses to read.
TarListing list_tar(const RangeFile& file);

}  // namespace kasimir
