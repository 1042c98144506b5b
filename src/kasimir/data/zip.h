// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/file_range.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kasimir {

/// A file in a zip archive.
struct ZipEntry {
  std::string name;
  int method = 0;         ///< 0: stored, 8: deflated
  std::uint32_t crc = 0;  ///< CRC-32 of the content
  std::int64_t packed = 0;
  std::int64_t size = 0;
  std::int64_t header = 0;  ///< where its local header begins
};

/// A zip archive (PKWARE APPNOTE 6.3, Zip64 included), read by its central directory.
class ZipFile {
 public:
  /// @throws Error (input) if it is none, ends early, or has encrypted entries.
  explicit ZipFile(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }
  /// @throws Error (input) for another method than the two, damage, or a checksum that does not match.
  [[nodiscard]] std::string content(const ZipEntry& entry) const;
  /// Where a stored entry's content begins.
  [[nodiscard]] std::int64_t begin(const ZipEntry& entry) const;
  [[nodiscard]] std::string name() const { return file_.name(); }

 private:
  RangeFile file_;
  std::vector<ZipEntry> entries_;
};

}  // namespace kasimir
