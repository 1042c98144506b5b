// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/study/database.h"
#include "kasimir/study/query.h"

#include <soci/postgresql/soci-postgresql.h>

namespace kasimir::study {
namespace {

// Longer than any transaction of ours by far, so that running into it means a foreign program holds the study.
constexpr int lock_timeout_s = 60;

Error missing_study(Database& database) {
  Error error = input_error("there is no study {}", database.place().str());
  std::string name;
  Query query(database, "select table_schema from information_schema.tables where table_name = 'study' order by 1");
  query.out(name);
  std::vector<std::string> known;
  while (query.next()) known.push_back(name);
  if (known.empty()) return error.note("this database holds none");
  return error.note(suggestion(database.place().schema(), known));
}

class PostgresqlBackend : public Backend {
 public:
  void open(Database& database, OpenMode mode) override {
    try {
      database.session().open(soci::postgresql, database.place().address());
    } catch (const soci::soci_error& error) {
      // What libpq says ends in a line break and may hold several lines.
      std::string why = error.get_error_message();
      for (char& c : why)
        if (c == '\n') c = ' ';
      throw system_error("cannot reach study {} ({})", database.place().str(), trim(why))
          .note(
              "the address is postgresql://USER@HOST:PORT/DATABASE#STUDY; a password is read from ~/.pgpass or "
              "PGPASSWORD");
    }
    // "already exists, skipping" is no news.
    Query(database, "set client_min_messages = error").run();
    Query(database, fmt::format("set lock_timeout = '{}s'", lock_timeout_s)).run();
    Query(database, fmt::format("set search_path = \"{}\"", database.place().schema())).run();
    if (mode == OpenMode::create) {
      database.transact(
          [&] { Query(database, fmt::format("create schema if not exists \"{}\"", database.place().schema())).run(); });
    } else if (!database.has_table("study")) {
      throw missing_study(database);
    }
  }

  /// Nothing: the server's own settings keep what was committed.
  void prepare_to_write(Database&) override {}

  void forbid_writes(Database& database) override { Query(database, "set default_transaction_read_only = on").run(); }

  void begin_change(Database& database) override {
    Query(database, "begin").run();
    // One writer at a time, as with a file: what a change reads stays true until it has written. A lock that belongs to
    // the name works before there are tables, and ends with the transaction or the connection.
    Query(database, "select pg_advisory_xact_lock(hashtext('kasimir'), hashtext(:a))")
        .in(database.place().schema())
        .run();
  }

  void begin_read(Database& database) override {
    Query(database, "begin transaction isolation level repeatable read read only").run();
  }

  std::vector<std::string> tables(Database& database) override {
    std::string name;
    Query query(database, "select table_name from information_schema.tables where table_schema = :a");
    query.in(database.place().schema()).out(name);
    std::vector<std::string> names;
    while (query.next()) names.push_back(name);
    return names;
  }

  // Codes: PostgreSQL's documentation, appendix A.
  [[nodiscard]] Error meaning(const StudyPlace& place, const soci::soci_error& error) const override {
    const auto* server = dynamic_cast<const soci::postgresql_soci_error*>(&error);
    const std::string code = server == nullptr ? "" : server->sqlstate();
    const std::string why(trim(error.get_error_message()));
    const std::string study = place.str();
    if (code.starts_with("53"))
      return system_error("cannot write study {}: the server is out of disk, memory or connections ({})", study, why)
          .note("all finished work is kept; repeat the same command when it has room");
    if (code == "55P03")
      return system_error("study {} has been locked by another program for {} s", study, lock_timeout_s)
          .note("end that program, or wait for it, and repeat the same command");
    if (code == "42501" || code == "25006" || code.starts_with("28"))
      return system_error("the server does not let you use study {} ({})", study, why)
          .note("ask for the right to create schemas in the database, and tables in the schema");
    // Class 08, an administrator's shutdown, and no code at all where the connection broke.
    if (code.starts_with("08") || code.starts_with("57P") || code.find_first_not_of(' ') == std::string::npos ||
        code[0] == '\0')
      return system_error("the connection to study {} was lost ({})", study, why)
          .note("all finished work is kept; repeat the same command when the server is back");
    return Error(Fault::bug, fmt::format("internal error: study {}: {}", study, why));
  }
};

}  // namespace

std::unique_ptr<Backend> postgresql_backend() { return std::make_unique<PostgresqlBackend>(); }

}  // namespace kasimir::study
