// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/database.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/study/query.h"

#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace kasimir::study {
namespace {

// Longer than any transaction of ours by far, so that running into it means a foreign program holds the file.
constexpr int busy_timeout_s = 60;

constexpr std::array<const char*, 10> tables = {
    R"(create table study (
      id integer primary key check (id = 1),
      schema_version integer not null,
      program text not null,
      machine text not null,
      created double precision not null,
      spec text not null,
      phase integer not null,
      active_seconds double precision not null,
      active_mark double precision not null,
      next_trial integer not null,
      rejected_trials integer not null,
      next_fence bigint not null))",
    R"(create table trials (
      number integer primary key,
      state text not null,
      kernel text not null,
      hash text unique,
      origin text not null,
      replaced_macs bigint not null,
      replaced_params bigint not null,
      network_macs bigint not null,
      network_params bigint not null,
      budget_use text not null,
      rule text not null,
      reason text not null,
      created double precision not null))",
    R"(create table jobs (
      id integer primary key,
      trial integer not null references trials (number),
      rung integer not null,
      seed integer not null,
      state text not null,
      worker text not null,
      fence bigint not null,
      lease_until double precision not null,
      attempts integer not null,
      lost integer not null,
      started double precision not null,
      finished double precision not null,
      accuracy double precision,
      test_accuracy double precision,
      loss double precision,
      latency_ms double precision,
      result text not null,
      reason text not null,
      unique (trial, rung, seed)))",
    "create index jobs_by_state on jobs (state, rung, seed, trial)",
    "create index jobs_by_accuracy on jobs (rung, accuracy)",
    R"(create table curves (
      job integer not null references jobs (id) on delete cascade,
      epoch integer not null,
      train_loss double precision,
      train_accuracy double precision,
      validation_loss double precision,
      validation_accuracy double precision,
      learning_rate double precision,
      seconds double precision,
      primary key (job, epoch)))",
    R"(create table latency_samples (
      trial integer not null references trials (number),
      threads integer not null,
      batch integer not null,
      sample integer not null,
      kernel_ms double precision not null,
      original_ms double precision not null,
      primary key (trial, threads, batch, sample)))",
    R"(create table events (
      id integer primary key,
      at double precision not null,
      kind text not null,
      text text not null,
      data text not null))",
    "create index events_by_kind on events (kind)",
    "create index trials_by_rule on trials (state, rule)",
};

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

}  // namespace

Database::Database(std::filesystem::path path, Mode mode) : path_(std::move(path)) {
  if (path_.string().find_first_of("\"\n") != std::string::npos) {
    throw input_error("the path of a study must not have quotes or line ends: {}", path_.string());
  }
  if (mode == Mode::create) {
    if (path_.has_parent_path() && !std::filesystem::is_directory(path_.parent_path())) {
      throw input_error("cannot create study {}: there is no folder {}", path_.string(), path_.parent_path().string());
    }
  } else if (!std::filesystem::exists(path_)) {
    throw missing_study(path_);
  }
  if (mode == Mode::read) {
    connect_to_read();
  } else {
    connect(path_.string());
  }
}

void Database::connect(const std::string& name) {
  try {
    session_.open(soci::sqlite3, fmt::format("dbname=\"{}\"", name));
    session_ << fmt::format("pragma busy_timeout = {}", busy_timeout_s * 1000);
    session_ << "pragma foreign_keys = on";
  } catch (const soci::soci_error& error) {
    translate(error);
  }
}

void Database::connect_to_read() {
  connect(path_.string());
  try {
    Query(*this, session_.get_backend()->get_table_names_query()).run();
  } catch (const Error& error) {
    // A write-ahead log needs files beside the database. Where they cannot be made nobody is writing either, so the
    // file may be read as it stands, unless it has a log that was never merged.
    const auto log = std::filesystem::path(path_.string() + "-wal");
    std::error_code ignored;
    const bool merged = !std::filesystem::exists(log) || std::filesystem::file_size(log, ignored) == 0;
    if (error.fault() != Fault::system || !merged) throw;
    session_.close();
    connect("file:" + percent_encoded(std::filesystem::absolute(path_).string()) + "?immutable=1");
  }
}

void Database::prepare_to_write() {
  // WAL: readers never block the writer, and a process killed in the middle of a write leaves the database as it was
  // before that transaction. Switching to it needs the file alone for a moment and does not wait by itself.
  std::string mode;
  Query(*this, "pragma journal_mode").out(mode).next();
  for (int attempt = 0; mode != "wal"; ++attempt) {
    try {
      Query(*this, "pragma journal_mode = wal").out(mode).next();
    } catch (const Error&) {
      if (attempt == 100) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  // NORMAL: what was committed survives the death of any process, as the system's cache has it. A power cut may take
  // the last few commits, jobs that are then done again, but never leaves a damaged file; FULL would pay a wait for
  // the disk at every epoch for no more than that.
  Query(*this, "pragma synchronous = normal").run();
}

bool Database::empty() {
  std::string name;
  return !Query(*this, session_.get_backend()->get_table_names_query()).out(name).next();
}

bool Database::has_table(const std::string& wanted) {
  std::string name;
  Query query(*this, session_.get_backend()->get_table_names_query());
  query.out(name);
  while (query.next()) {
    if (name == wanted) return true;
  }
  return false;
}

void Database::create_tables() {
  for (const char* statement : tables) Query(*this, statement).run();
}

void Database::enclose(const char* begin, const std::function<void()>& action) {
  if (depth_ > 0) return action();
  Query(*this, begin).run();
  depth_ = 1;
  try {
    action();
    Query(*this, "commit").run();
  } catch (...) {
    depth_ = 0;
    try {
      Query(*this, "rollback").run();
    } catch (const Error&) {
      // After some errors, a full disk among them, SQLite has rolled back already.
    }
    throw;
  }
  depth_ = 0;
}

void Database::transact(const std::function<void()>& change) { enclose("begin immediate", change); }
void Database::snapshot(const std::function<void()>& read) { enclose("begin", read); }

void Database::translate(const soci::soci_error& error) const {
  const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error);
  const std::string why = error.get_error_message();
  switch (sqlite == nullptr ? SQLITE_CANTOPEN : sqlite->result() & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      throw system_error("cannot write study {}: the disk is full or refuses ({})", path_.string(), why)
          .note("all finished work is kept; free some space and repeat the same command");
    case SQLITE_NOTADB:
      throw input_error("{} is not a kasimir study: it is not an SQLite file", path_.string())
          .note("nothing was changed; give another --study");
    case SQLITE_CORRUPT:
      throw system_error("study {} is damaged ({})", path_.string(), why)
          .note("`sqlite3 OLD .recover | sqlite3 NEW` saves what can be read");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw system_error("study {} has been locked by another program for {} s", path_.string(), busy_timeout_s)
          .note("end that program, or wait for it, and repeat the same command");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      throw system_error("cannot open study {} ({})", path_.string(), why)
          .note("the file and its folder must be yours to write; if they are not, give another --study");
    default:
      throw Error(Fault::bug, fmt::format("internal error: study {}: {}", path_.string(), why));
  }
}

}  // namespace kasimir::study
