// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/store.h"

#include "kasimir/base/error.h"
#include "kasimir/study/query.h"

namespace kasimir::study {
namespace {

// Workers give a sign of life every few seconds, so a longer silence means that none of them lived.
constexpr double pause_s = 30;

}  // namespace

void Store::transact(const std::function<void()>& change) { database_->transact(change); }

void Store::tick(double now) {
  transact([&] {
    double mark = 0;
    Query(*database_, "select active_mark from study where id = 1").out(mark).next();
    const double passed = now - mark;
    // Workers on several machines may disagree by a little: time that was counted is not counted again. A clock that
    // was set back by much starts anew.
    if (passed <= 0 && passed > -pause_s) return;
    const double active = passed > 0 && passed <= pause_s ? passed : 0;
    Query(*database_, "update study set active_seconds = active_seconds + :a, active_mark = :b where id = 1")
        .in(active, now)
        .run();
  });
}

void Store::set_state(int trial, TrialState state, std::string_view rule, std::string_view reason) {
  Query(*database_, "update trials set state = :a, rule = :b, reason = :c where number = :d")
      .in(state, rule, reason, trial)
      .run();
}

void Store::stop_others(std::optional<Rung> rung, std::string_view reason) {
  const int wanted = rung ? static_cast<int>(*rung) : -1;
  Query(*database_,
        "update trials set state = 'stopped', rule = 'not promoted', reason = :a where state = 'running' "
        "and number > 0 and number not in (select trial from jobs where rung = :b)")
      .in(reason, wanted)
      .run();
}

void Store::set_phase(int phase) { Query(*database_, "update study set phase = :a where id = 1").in(phase).run(); }

void Store::add_event(double now, std::string_view kind, std::string_view text, const Json& data) {
  transact([&] {
    Query(*database_, "insert into events (id, at, kind, text, data) values (:a, :b, :c, :d, :e)")
        .in(last_event() + 1, now, kind, text, data)
        .run();
  });
}

bool Store::queue(int trial, Rung rung, int seed) {
  bool added = false;
  transact([&] {
    std::int64_t id = 0;
    Query(*database_, "select coalesce(max(id), 0) + 1 from jobs").out(id).next();
    added = Query(*database_,
                  "insert into jobs (id, trial, rung, seed, state, worker, fence, lease_until, attempts, lost, "
                  "started, finished, result, reason) values (:a, :b, :c, :d, 'queued', '', 0, 0, 0, 0, 0, 0, '{}', '')"
                  " on conflict (trial, rung, seed) do nothing")
                .in(id, trial, rung, seed)
                .run() == 1;
  });
  return added;
}

int Store::drop_queued_of(int trial) {
  Query drop(*database_, "delete from jobs where state = 'queued' and trial = :a");
  return static_cast<int>(drop.in(trial).run());
}

int Store::drop_queued(Rung rung) {
  Query drop(*database_, "delete from jobs where state = 'queued' and rung = :a");
  return static_cast<int>(drop.in(rung).run());
}

}  // namespace kasimir::study
