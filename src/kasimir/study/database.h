// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <soci/soci.h>

#include <filesystem>
#include <functional>
#include <string>

namespace kasimir::study {

/// One connection to a study's database: all that is special to SQLite is here. The statements elsewhere, and the
/// table layout, are those that SQLite and PostgreSQL share.
class Database {
 public:
  enum class Mode { create, write, read };

  /// Opens the file; in mode `read` also where the folder cannot be written.
  /// @throws Error: see `translate`; input if there is no such file (modes write and read).
  Database(std::filesystem::path path, Mode mode);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] soci::session& session() { return session_; }

  /// Runs `change` in a transaction that excludes other writers from its beginning: what it reads stays true until it
  /// has written. Calls nest. @throws Error: see `translate`.
  void transact(const std::function<void()>& change);
  /// Runs `read` on one state of the store, whatever others write meanwhile.
  void snapshot(const std::function<void()>& read);

  /// True if the database has no table at all: new, or its creation was interrupted.
  [[nodiscard]] bool empty();
  [[nodiscard]] bool has_table(const std::string& name);
  /// The settings for writers; call it once it is known that the file is a study or empty.
  void prepare_to_write();
  void create_tables();

  /// Throws the Error that a database error means: full disk, no right to write, locked, damaged, not a database.
  [[noreturn]] void translate(const soci::soci_error& error) const;

 private:
  void connect(const std::string& name);
  void connect_to_read();
  void enclose(const char* begin, const std::function<void()>& action);

  std::filesystem::path path_;
  soci::session session_;
  int depth_ = 0;
};

}  // namespace kasimir::study
