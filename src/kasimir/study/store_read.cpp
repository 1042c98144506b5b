// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/near_miss.h"
#include "kasimir/study/rows.h"
#include "kasimir/study/store.h"

#include <limits>

namespace kasimir::study {
namespace {

std::vector<std::pair<int, LatencySample>> samples_between(Database& database, int low, int high) {
  int trial = 0;
  LatencySample sample;
  Query query(database,
              "select trial, threads, batch, sample, kernel_ms, original_ms from latency_samples "
              "where trial between :a and :b order by trial, batch, threads, sample");
  query.in(low, high).out(trial, sample.threads, sample.batch, sample.index, sample.kernel_ms, sample.original_ms);
  std::vector<std::pair<int, LatencySample>> samples;
  while (query.next()) samples.emplace_back(trial, sample);
  return samples;
}

std::vector<RungPair> pairs_of(Query& query) {
  RungPair pair;
  query.out(pair.early, pair.late);
  std::vector<RungPair> pairs;
  while (query.next()) pairs.push_back(pair);
  return pairs;
}

}  // namespace

void Store::snapshot(const std::function<void()>& read) const { database_->snapshot(read); }

StudyInfo Store::info() const {
  StudyInfo info;
  Query query(*database_,
              "select spec, schema_version, program, machine, created, phase, active_seconds from study where id = 1");
  query.out(info.spec, info.schema, info.program, info.machine, info.created, info.phase, info.active_seconds);
  KASIMIR_CHECK(query.next(), "study {} has no row of its own", place().str());
  return info;
}

std::vector<Trial> Store::trials() const { return select_trials(*database_, "order by number"); }

Trial Store::trial(int number) const {
  std::vector<Trial> found = select_trials(*database_, "where number = :a", number);
  if (!found.empty()) return found.front();
  const int last = numbers().next - 1;
  if (last < 0) throw input_error("study {} has no trial {}: it has none yet", place().str(), number);
  throw input_error("study {} has no trial {}: its trials are 0 to {}", place().str(), number, last);
}

std::vector<Job> Store::jobs() const { return select_jobs(*database_, "order by id"); }

std::vector<Job> Store::jobs_of(int trial) const {
  return select_jobs(*database_, "where trial = :a order by rung, seed", trial);
}

std::vector<Curve> Store::curves(int trial) const {
  Rung rung{};
  int seed = 0;
  CurveRow row;
  Query query(*database_,
              "select j.rung, j.seed, c.epoch, c.train_loss, c.train_accuracy, c.validation_loss, "
              "c.validation_accuracy, c.learning_rate, c.seconds from curves c join jobs j on j.id = c.job "
              "where j.trial = :a order by j.rung, j.seed, c.epoch");
  query.in(trial).out(rung, seed, row.epoch, row.train_loss, row.train_accuracy, row.validation_loss,
                      row.validation_accuracy, row.learning_rate, row.seconds);
  std::vector<Curve> curves;
  while (query.next()) {
    if (curves.empty() || curves.back().rung != rung || curves.back().seed != seed) {
      curves.push_back({trial, rung, seed, {}});
    }
    curves.back().rows.push_back(row);
  }
  return curves;
}

std::vector<LatencySample> Store::latency_samples(int trial) const {
  std::vector<LatencySample> samples;
  for (const auto& [of, sample] : samples_between(*database_, trial, trial)) samples.push_back(sample);
  return samples;
}

std::vector<std::pair<int, LatencySample>> Store::latency_samples() const {
  return samples_between(*database_, 0, std::numeric_limits<int>::max());
}

std::vector<Event> Store::events(std::int64_t after_id) const {
  Event event;
  Query query(*database_, "select id, at, kind, text, data from events where id > :a order by id");
  query.in(after_id).out(event.id, event.at, event.kind, event.text, event.data);
  std::vector<Event> events;
  while (query.next()) events.push_back(event);
  return events;
}

std::int64_t Store::last_event() const {
  std::int64_t id = 0;
  Query(*database_, "select coalesce(max(id), 0) from events").out(id).next();
  return id;
}

std::map<TrialState, int> Store::trial_counts() const {
  TrialState state{};
  int count = 0;
  Query query(*database_, "select state, count(*) from trials where number > 0 group by state");
  query.out(state, count);
  std::map<TrialState, int> counts;
  while (query.next()) counts[state] = count;
  return counts;
}

std::map<std::string, int> Store::reasons(TrialState state) const {
  std::string rule;
  int count = 0;
  Query query(*database_, "select rule, count(*) from trials where number > 0 and state = :a group by rule");
  query.in(state).out(rule, count);
  std::map<std::string, int> counts;
  while (query.next()) counts[rule] = count;
  return counts;
}

std::map<std::string, std::string> Store::nearest_misses(TrialState state) const {
  std::string rule;
  std::string reason;
  Query query(*database_, "select rule, reason from trials where number > 0 and state = :a order by number");
  query.in(state).out(rule, reason);
  std::map<std::string, std::string> nearest;
  while (query.next()) {
    if (reason.starts_with(rule + " (") && reason.ends_with(")"))
      reason = reason.substr(rule.size() + 2, reason.size() - rule.size() - 3);
    keep_nearest(nearest[rule], rule, reason == rule ? "" : reason);
  }
  return nearest;
}

std::map<Rung, JobCounts> Store::job_counts() const {
  Rung rung{};
  JobState state{};
  int count = 0;
  double seconds = 0;
  Query query(*database_, "select rung, state, count(*), sum(finished - started) from jobs group by rung, state");
  query.out(rung, state, count, seconds);
  std::map<Rung, JobCounts> counts;
  while (query.next()) {
    JobCounts& of = counts[rung];
    if (state == JobState::queued) of.queued = count;
    if (state == JobState::leased) of.leased = count;
    if (state == JobState::failed) of.failed = count;
    if (state == JobState::done) {
      of.done = count;
      of.done_seconds = seconds;
    }
  }
  return counts;
}

int Store::count_jobs(JobState state, std::optional<Rung> rung) const {
  int count = 0;
  const int low = rung ? static_cast<int>(*rung) : 0;
  const int high = rung ? low : rung_count;
  Query(*database_, "select count(*) from jobs where state = :a and rung between :b and :c")
      .in(state, low, high)
      .out(count)
      .next();
  return count;
}

std::vector<std::pair<Rung, double>> Store::recent_seconds(int count) const {
  Rung rung{};
  double seconds = 0;
  Query query(*database_,
              "select rung, finished - started from jobs where state = 'done' and accuracy is not null "
              "order by id desc limit :a");
  query.in(count).out(rung, seconds);
  std::vector<std::pair<Rung, double>> rows;
  while (query.next()) rows.emplace_back(rung, seconds);
  return rows;
}

std::vector<RungResult> Store::results(Rung rung) const {
  RungResult result;
  Query query(*database_,
              "select j.trial, avg(j.accuracy), avg(j.latency_ms), t.network_macs, t.network_params, t.budget_use "
              "from jobs j join trials t on t.number = j.trial "
              "where j.rung = :a and j.state = 'done' and j.accuracy is not null "
              "and t.state not in ('failed', 'rejected') "
              "group by j.trial, t.network_macs, t.network_params, t.budget_use order by j.trial");
  Json use;
  query.in(rung).out(result.trial, result.accuracy, result.latency_ms, result.network.macs, result.network.params, use);
  std::vector<RungResult> results;
  while (query.next()) {
    result.network.accelerator = accelerator_in(use);
    results.push_back(result);
  }
  return results;
}

std::vector<Json> Store::recent_results(Rung rung, int count) const {
  Json result;
  Query query(*database_,
              "select result from jobs where state = 'done' and rung = :a and trial > 0 order by id desc limit :b");
  query.in(rung, count).out(result);
  std::vector<Json> results;
  while (query.next()) results.push_back(std::exchange(result, {}));
  return results;
}

std::vector<RungPair> Store::rung_pairs(Rung early, Rung late, int count) const {
  Query query(*database_,
              "select avg(e.accuracy), avg(l.accuracy) from jobs l join jobs e on e.trial = l.trial "
              "where l.rung = :a and e.rung = :b and l.state = 'done' and e.state = 'done' and l.accuracy is not null "
              "and e.accuracy is not null and l.trial > 0 group by l.trial order by max(l.finished) desc, l.trial desc "
              "limit :c");
  return pairs_of(query.in(late, early, count));
}

std::vector<RungPair> Store::epoch_pairs(Rung rung, int epoch, int count) const {
  Query query(*database_,
              "select avg(c.validation_accuracy), avg(j.accuracy) from jobs j join curves c on c.job = j.id "
              "where j.rung = :a and c.epoch = :b and j.state = 'done' and j.accuracy is not null and j.trial > 0 "
              "and exists (select 1 from curves later where later.job = j.id and later.epoch > c.epoch) "
              "group by j.trial order by max(j.finished) desc, j.trial desc limit :c");
  return pairs_of(query.in(rung, epoch, count));
}

std::optional<Job> Store::next_queued(Rung rung) const {
  const auto found =
      select_jobs(*database_, "where state = 'queued' and rung <= :a order by rung, seed, id limit 1", rung);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

Numbers Store::numbers() const {
  Numbers numbers;
  Query(*database_, "select next_trial, rejected_trials from study where id = 1")
      .out(numbers.next, numbers.uncounted)
      .next();
  Query(*database_, "select number from trials where state <> 'rejected' order by number desc limit 1")
      .out(numbers.last_accepted)
      .next();
  return numbers;
}

}  // namespace kasimir::study
