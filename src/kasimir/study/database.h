// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/backend.h"

#include <functional>
#include <memory>
#include <string>

namespace kasimir::study {

/// One connection to a study's database. The statements and the table layout are those that SQLite and PostgreSQL
/// share; a Backend has the rest.
class Database {
 public:
  using Mode = OpenMode;

  /// Opens the file, in mode `read` also where the folder cannot be written, or connects to the server.
  /// @throws Error: see `translate`; input if there is no such study (modes write and read).
  Database(StudyPlace place, Mode mode);

  [[nodiscard]] const StudyPlace& place() const { return place_; }
  [[nodiscard]] soci::session& session() { return session_; }

  /// Runs `change` in a transaction that excludes other writers from its beginning: what it reads stays true until it
  /// has written. Calls nest. @throws Error: see `translate`.
  void transact(const std::function<void()>& change);
  /// Runs `read` on one state of the store, whatever others write meanwhile.
  void snapshot(const std::function<void()>& read);

  /// True if the database has no table at all: new, or its creation was interrupted.
  [[nodiscard]] bool empty() { return backend_->tables(*this).empty(); }
  [[nodiscard]] bool has_table(const std::string& name);
  /// The settings for writers; call it once it is known that the file is a study or empty.
  void prepare_to_write() { backend_->prepare_to_write(*this); }
  void forbid_writes() { backend_->forbid_writes(*this); }
  void create_tables();

  /// Throws the Error that a database error means: full disk, no right to write, locked, damaged, not a database, no
  /// server.
  [[noreturn]] void translate(const soci::soci_error& error) const { throw backend_->meaning(place_, error); }

 private:
  void enclose(void (Backend::*begin)(Database&), const std::function<void()>& action);

  StudyPlace place_;
  std::unique_ptr<Backend> backend_;
  soci::session session_;
  int depth_ = 0;
};

}  // namespace kasimir::study
