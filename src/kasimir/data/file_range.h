// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace kasimir {

/// A file that is read in places.
class RangeFile {
 public:
  /// @throws Error (input) if it cannot be opened, with the system's reason.
  explicit RangeFile(const std::filesystem::path& path);
  RangeFile(const RangeFile&) = delete;
  RangeFile& operator=(const RangeFile&) = delete;
  ~RangeFile();

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::string name() const { return path_.string(); }
  /// `count` bytes from `at`, fewer only at the file's end. Several threads may read at once.
  /// @throws Error (input) if the system refuses.
  [[nodiscard]] std::string read(std::int64_t at, std::int64_t count) const;

 private:
  std::filesystem::path path_;
  int number_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace kasimir
