// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/database.h"

#include "kasimir/base/error.h"
#include "kasimir/study/query.h"

#include <algorithm>
#include <array>

namespace kasimir::study {
namespace {

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

}  // namespace

Database::Database(StudyPlace place, Mode mode)
    : place_(std::move(place)), backend_(place_.on_server() ? postgresql_backend() : sqlite_backend()) {
  backend_->open(*this, mode);
}

bool Database::has_table(const std::string& wanted) {
  const std::vector<std::string> there = backend_->tables(*this);
  return std::ranges::find(there, wanted) != there.end();
}

void Database::create_tables() {
  for (const char* statement : tables) Query(*this, statement).run();
}

void Database::enclose(void (Backend::*begin)(Database&), const std::function<void()>& action) {
  if (depth_ > 0) return action();
  (backend_.get()->*begin)(*this);
  depth_ = 1;
  try {
    action();
    Query(*this, "commit").run();
  } catch (...) {
    depth_ = 0;
    try {
      Query(*this, "rollback").run();
    } catch (const Error&) {
      // After some errors, a full disk or a lost connection among them, the database has rolled back already.
    }
    throw;
  }
  depth_ = 0;
}

void Database::transact(const std::function<void()>& change) { enclose(&Backend::begin_change, change); }
void Database::snapshot(const std::function<void()>& read) { enclose(&Backend::begin_read, read); }

}  // namespace kasimir::study
