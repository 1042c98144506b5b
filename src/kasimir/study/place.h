// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace kasimir::study {

/// Where a study is kept: an SQLite file such as `first.db`, or a schema of a PostgreSQL database, written as libpq's
/// address with the schema behind it: `postgresql://user@host:5432/database#first` (without `#NAME`: `kasimir`).
/// Converts from text and paths, so that either can be given where a study is asked for.
class StudyPlace {
 public:
  StudyPlace(std::string text);  // NOLINT(google-explicit-constructor)
  StudyPlace(const char* text) : StudyPlace(std::string(text)) {}
  StudyPlace(const std::filesystem::path& file) : StudyPlace(file.string()) {}

  [[nodiscard]] bool on_server() const { return !schema_.empty(); }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }  ///< empty on a server
  [[nodiscard]] const std::string& address() const { return address_; }      ///< for libpq; empty for a file
  [[nodiscard]] const std::string& schema() const { return schema_; }        ///< empty for a file
  /// For people: as it was given, but for a password.
  [[nodiscard]] std::string str() const;
  /// For another process: whole.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// What belongs to the study and is no row of it, such as `first.html`: beside the file, or, of a study on a server,
  /// in the current folder.
  [[nodiscard]] std::filesystem::path beside(std::string_view ending) const;

 private:
  std::string text_;
  std::filesystem::path file_;
  std::string address_;
  std::string schema_;
};

}  // namespace kasimir::study
