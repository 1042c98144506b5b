// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/study/database.h"
#include "kasimir/study/query.h"

#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace kasimir::study {
namespace {

// Longer than any transaction of ours by far, so that running into it means a foreign program holds the file.
constexpr int busy_timeout_s = 60;

std::string percent_encoded(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

Error missing_study(const std::filesystem::path& path) {
  Error error = input_error("there is no study {}", path.string());
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::vector<std::string> known;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".db") known.push_back(entry.path().filename().string());
  }
  std::sort(known.begin(), known.end());
  if (known.empty()) return error.note(fmt::format("no file in {} ends in .db", folder.string()));
  return error.note(suggestion(path.filename().string(), known));
}

class SqliteBackend : public Backend {
 public:
  void open(Database& database, OpenMode mode) override {
    const std::filesystem::path& file = database.place().file();
    if (file.string().find_first_of("\"\n") != std::string::npos) {
      throw input_error("the path of a study must not have quotes or line ends: {}", file.string());
    }
    if (std::filesystem::is_directory(file)) {
      throw input_error("{} is a folder, not a study", file.string())
          .note("a study is a file such as first.db, or postgresql://USER@HOST/DATABASE#STUDY");
    }
    if (mode == OpenMode::create) {
      if (file.has_parent_path() && !std::filesystem::is_directory(file.parent_path())) {
        throw input_error("cannot create study {}: there is no folder {}", file.string(), file.parent_path().string());
      }
    } else if (!std::filesystem::exists(file)) {
      throw missing_study(file);
    }
    connect(database, file.string());
    if (mode == OpenMode::read) make_readable(database, file);
  }

  void prepare_to_write(Database& database) override {
    // WAL: readers never block the writer, and a process killed in the middle of a write leaves the database as it was
    // before that transaction. Switching to it needs the file alone for a moment and does not wait by itself.
    std::string mode;
    Query(database, "pragma journal_mode").out(mode).next();
    for (int attempt = 0; mode != "wal"; ++attempt) {
      try {
        Query(database, "pragma journal_mode = wal").out(mode).next();
      } catch (const Error&) {
        if (attempt == 100) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
    // NORMAL: what was committed survives the death of any process, as the system's cache has it. A power cut may take
    // the last few commits, jobs that are then done again, but never leaves a damaged file; FULL would pay a wait for
    // the disk at every epoch for no more than that.
    Query(database, "pragma synchronous = normal").run();
  }

  void forbid_writes(Database& database) override { Query(database, "pragma query_only = on").run(); }
  void begin_change(Database& database) override { Query(database, "begin immediate").run(); }
  void begin_read(Database& database) override { Query(database, "begin").run(); }

  std::vector<std::string> tables(Database& database) override {
    std::string name;
    Query query(database, database.session().get_backend()->get_table_names_query());
    query.out(name);
    std::vector<std::string> names;
    while (query.next()) names.push_back(name);
    return names;
  }

  [[nodiscard]] Error meaning(const StudyPlace& place, const soci::soci_error& error) const override {
    const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error);
    const std::string why = error.get_error_message();
    const std::string study = place.str();
    switch (sqlite == nullptr ? SQLITE_CANTOPEN : sqlite->result() & 0xff) {
      case SQLITE_FULL:
      case SQLITE_IOERR:
        return system_error("cannot write study {}: the disk is full or refuses ({})", study, why)
            .note("all finished work is kept; free some space and repeat the same command");
      case SQLITE_NOTADB:
        return input_error("{} is not a kasimir study: it is not an SQLite file", study)
            .note("nothing was changed; give another --study");
      case SQLITE_CORRUPT:
        return system_error("study {} is damaged ({})", study, why)
            .note("`sqlite3 OLD .recover | sqlite3 NEW` saves what can be read");
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return system_error("study {} has been locked by another program for {} s", study, busy_timeout_s)
            .note("end that program, or wait for it, and repeat the same command");
      case SQLITE_READONLY:
      case SQLITE_PERM:
      case SQLITE_AUTH:
      case SQLITE_CANTOPEN:
        return system_error("cannot open study {} ({})", study, why)
            .note("the file and its folder must be yours to write; if they are not, give another --study");
      default:
        return Error(Fault::bug, fmt::format("internal error: study {}: {}", study, why));
    }
  }

 private:
  static void connect(Database& database, const std::string& name) {
    try {
      database.session().open(soci::sqlite3, fmt::format("dbname=\"{}\"", name));
      database.session() << fmt::format("pragma busy_timeout = {}", busy_timeout_s * 1000);
      database.session() << "pragma foreign_keys = on";
    } catch (const soci::soci_error& error) {
      database.translate(error);
    }
  }

  void make_readable(Database& database, const std::filesystem::path& file) {
    try {
      tables(database);
    } catch (const Error& error) {
      // A write-ahead log needs files beside the database. Where they cannot be made nobody is writing either, so the
      // file may be read as it stands, unless it has a log that was never merged.
      const auto log = std::filesystem::path(file.string() + "-wal");
      std::error_code ignored;
      const bool merged = !std::filesystem::exists(log) || std::filesystem::file_size(log, ignored) == 0;
      if (error.fault() != Fault::system || !merged) throw;
      database.session().close();
      connect(database, "file:" + percent_encoded(std::filesystem::absolute(file).string()) + "?immutable=1");
    }
  }
};

}  // namespace

std::unique_ptr<Backend> sqlite_backend() { return std::make_unique<SqliteBackend>(); }

}  // namespace kasimir::study
