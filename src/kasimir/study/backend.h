// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"
#include "kasimir/study/place.h"

#include <soci/soci.h>

#include <memory>
#include <string>
#include <vector>

namespace kasimir::study {

class Database;
enum class OpenMode { create, write, read };

/// What SQLite and PostgreSQL each do their own way. One object for one connection.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Opens the session of `database`. @throws Error: as Database.
  virtual void open(Database& database, OpenMode mode) = 0;
  /// The settings for writers.
  virtual void prepare_to_write(Database& database) = 0;
  /// From here on the session refuses to write.
  virtual void forbid_writes(Database& database) = 0;
  /// Begins a transaction that excludes other writers from its beginning.
  virtual void begin_change(Database& database) = 0;
  /// Begins a transaction that sees one state of the study.
  virtual void begin_read(Database& database) = 0;
  /// The tables that there are.
  virtual std::vector<std::string> tables(Database& database) = 0;
  /// The Error that a database error means.
  [[nodiscard]] virtual Error meaning(const StudyPlace& place, const soci::soci_error& error) const = 0;
};

std::unique_ptr<Backend> sqlite_backend();
std::unique_ptr<Backend> postgresql_backend();

}  // namespace kasimir::study
