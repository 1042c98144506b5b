// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/study/process.h"
#include "kasimir/study/rows.h"
#include "kasimir/study/store.h"

#include <cmath>

namespace kasimir::study {
namespace {

std::optional<double> finite(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// Whether a candidate's accuracy is one that no other candidate on the rung reaches with as few MACs.
bool improves(Database& database, const Store& store, const RungResult& mine, Rung rung) {
  if (rung == Rung::full) {
    for (const RungResult& other : store.results(rung)) {
      if (other.trial != 0 && other.trial != mine.trial && other.accuracy >= mine.accuracy &&
          other.network.macs <= mine.network.macs)
        return false;
    }
    return true;
  }
  int found = 0;
  return !Query(database,
                "select 1 from jobs j join trials t on t.number = j.trial where j.rung = :a and j.accuracy >= :b "
                "and j.state = 'done' and j.trial > 0 and j.trial <> :c and t.network_macs <= :d limit 1")
              .in(rung, mine.accuracy, mine.trial, mine.network.macs)
              .out(found)
              .next();
}

void record_improvement(Database& database, Store& store, const Job& job, double now) {
  int open = 0;
  Query(database, "select count(*) from jobs where trial = :a and rung = :b and state in ('queued', 'leased')")
      .in(job.trial, job.rung)
      .out(open)
      .next();
  if (open > 0) return;
  RungResult mine;
  Query(database, "select avg(accuracy) from jobs where trial = :a and rung = :b and state = 'done'")
      .in(job.trial, job.rung)
      .out(mine.accuracy)
      .next();
  const Trial trial = store.trial(job.trial);
  mine.trial = job.trial;
  mine.network = trial.network;
  if (!improves(database, store, mine, job.rung)) return;

  Json data = {{"trial", mine.trial},        {"rung", name_of(job.rung)},      {"accuracy", mine.accuracy},
               {"macs", trial.network.macs}, {"params", trial.network.params}, {"hash", trial.hash}};
  std::string beside;
  std::string share;
  std::optional<double> original;
  std::int64_t macs = 0;
  Query(database,
        "select avg(j.accuracy), t.network_macs from jobs j join trials t on t.number = j.trial "
        "where j.trial = 0 and j.rung = :a and j.state = 'done' group by t.network_macs")
      .in(job.rung)
      .out(original, macs)
      .next();
  if (original) {
    beside = fmt::format(" (original {})", percent(*original));
    data["original_accuracy"] = *original;
  }
  if (macs > 0) {
    const double ratio = static_cast<double>(trial.network.macs) / static_cast<double>(macs);
    share = fmt::format(", {} of the original's", percent(ratio));
    data["macs_ratio"] = ratio;
  }
  store.add_event(now, "improvement",
                  fmt::format("trial {}: accuracy {}{} on rung {}, {} MACs{}", mine.trial, percent(mine.accuracy),
                              beside, name_of(job.rung), si(static_cast<double>(trial.network.macs)), share),
                  data);
}

}  // namespace

int Store::requeue(const std::vector<Job>& jobs, double now, std::optional<int> max_lost) {
  for (const Job& job : jobs) {
    const int lost = job.lost + (max_lost ? 1 : 0);
    const bool given_up = max_lost && lost >= *max_lost;
    Query(*database_, "update jobs set lost = :a, state = :b, finished = :c where id = :d")
        .in(lost, given_up ? JobState::failed : JobState::queued, given_up ? now : 0.0, job.id)
        .run();
    if (!given_up) continue;
    fail_job(job, JobResult::failed("the worker died", fmt::format("the worker died {} times", lost)), now);
  }
  return static_cast<int>(jobs.size());
}

int Store::requeue_expired(double now, int max_lost) {
  int count = 0;
  transact([&] {
    const auto jobs = select_jobs(*database_, "where state = 'leased' and lease_until < :a order by id", now);
    count = requeue(jobs, now, max_lost);
  });
  return count;
}

int Store::requeue_dead_local(double now, std::optional<int> max_lost) {
  int count = 0;
  transact([&] {
    std::vector<Job> jobs = select_jobs(*database_, "where state = 'leased' order by id");
    std::erase_if(jobs, [](const Job& job) { return !is_dead_local(job.worker); });
    count = requeue(jobs, now, max_lost);
  });
  return count;
}

Lease Store::take(const Job& job, const std::string& worker, double now, double lease_s) {
  std::int64_t fence = 0;
  Query(*database_, "select next_fence from study where id = 1").out(fence).next();
  Query(*database_, "update study set next_fence = :a where id = 1").in(fence + 1).run();
  Query(*database_,
        "update jobs set state = 'leased', worker = :a, fence = :b, lease_until = :c, attempts = attempts + 1, "
        "started = :d, finished = 0 where id = :e")
      .in(worker, fence, now + lease_s, now, job.id)
      .run();
  Query(*database_, "delete from curves where job = :a").in(job.id).run();
  return {select_jobs(*database_, "where id = :a", job.id).front(), trial(job.trial)};
}

std::optional<Lease> Store::lease(Rung rung, const std::string& worker, double now, double lease_s) {
  std::optional<Lease> lease;
  transact([&] {
    if (const auto found = next_queued(rung)) lease = take(*found, worker, now, lease_s);
  });
  return lease;
}

Lease Store::propose(const std::string& worker, double now, double lease_s) {
  Lease lease;
  transact([&] {
    const int number = numbers().next;
    Query(*database_, "update study set next_trial = :a where id = 1").in(number + 1).run();
    Query(*database_,
          "insert into trials (number, state, kernel, origin, replaced_macs, replaced_params, network_macs, "
          "network_params, budget_use, rule, reason, created) "
          "values (:a, 'proposed', '', 'null', 0, 0, 0, 0, 'null', '', '', :b)")
        .in(number, now)
        .run();
    queue(number, Rung::quick, 0);
    lease = take(jobs_of(number).front(), worker, now, lease_s);
  });
  return lease;
}

bool Store::holds(const Job& job) const {
  int found = 0;
  return Query(*database_, "select 1 from jobs where id = :a and fence = :b and state = 'leased'")
      .in(job.id, job.fence)
      .out(found)
      .next();
}

bool Store::accept(const Lease& lease, const Proposal& proposal, double now) {
  const int number = lease.trial.number;
  KASIMIR_CHECK(number == 0 || !proposal.hash.empty(), "trial {} has no hash", number);
  bool accepted = false;
  transact([&] {
    if (!holds(lease.job)) return;
    int twin = 0;
    if (Query(*database_, "select number from trials where hash = :a and number <> :b")
            .in(proposal.hash, number)
            .out(twin)
            .next()) {
      reject(lease, "the same kernel as an earlier trial", fmt::format("the same kernel as trial {}", twin), now);
      return;
    }
    const auto hash = proposal.hash.empty() ? std::nullopt : std::optional(proposal.hash);
    Query(*database_,
          "update trials set state = 'running', kernel = :a, hash = :b, origin = :c, replaced_macs = :d, "
          "replaced_params = :e, network_macs = :f, network_params = :g, budget_use = :h where number = :i")
        .in(proposal.kernel, hash, proposal.origin, proposal.replaced.macs, proposal.replaced.params,
            proposal.network.macs, proposal.network.params, with_accelerator(proposal.budget_use, proposal.network),
            number)
        .run();
    accepted = true;
  });
  return accepted;
}

std::optional<int> Store::add_finalist(const Proposal& proposal, int seeds, double now) {
  KASIMIR_CHECK(!proposal.hash.empty(), "a finalist has no hash: {}", proposal.kernel);
  std::optional<int> added;
  transact([&] {
    int twin = 0;
    if (Query(*database_, "select number from trials where hash = :a").in(proposal.hash).out(twin).next()) return;
    const int number = numbers().next;
    Query(*database_, "update study set next_trial = :a, rejected_trials = rejected_trials + 1 where id = 1")
        .in(number + 1)
        .run();
    Query(*database_,
          "insert into trials (number, state, kernel, hash, origin, replaced_macs, replaced_params, network_macs, "
          "network_params, budget_use, rule, reason, created) "
          "values (:a, 'running', :b, :c, :d, :e, :f, :g, :h, :i, '', '', :j)")
        .in(number, proposal.kernel, proposal.hash, proposal.origin, proposal.replaced.macs, proposal.replaced.params,
            proposal.network.macs, proposal.network.params, with_accelerator(proposal.budget_use, proposal.network),
            now)
        .run();
    for (int seed = 0; seed < seeds; ++seed) queue(number, Rung::full, seed);
    set_phase(static_cast<int>(Rung::full));
    added = number;
  });
  return added;
}

bool Store::reject(const Lease& lease, std::string_view rule, std::string_view reason, double now) {
  return finish(lease.job, JobResult::rejected(std::string(rule), std::string(reason)), now);
}

bool Store::heartbeat(const Job& job, double now, double lease_s) {
  bool held = false;
  transact([&] {
    tick(now);
    held = Query(*database_, "update jobs set lease_until = :a where id = :b and fence = :c and state = 'leased'")
               .in(now + lease_s, job.id, job.fence)
               .run() == 1;
  });
  return held;
}

bool Store::add_epoch(const Job& job, const CurveRow& row) {
  bool held = false;
  transact([&] {
    held = holds(job);
    if (!held) return;
    Query(*database_,
          "insert into curves (job, epoch, train_loss, train_accuracy, validation_loss, validation_accuracy, "
          "learning_rate, seconds) values (:a, :b, :c, :d, :e, :f, :g, :h)")
        .in(job.id, row.epoch, row.train_loss, row.train_accuracy, row.validation_loss, row.validation_accuracy,
            row.learning_rate, row.seconds)
        .run();
  });
  return held;
}

bool Store::finish(const Job& job, const JobResult& result, double now) {
  KASIMIR_CHECK(result.verdict != Verdict::stopped, "job {} was given up, not finished", job.id);
  const bool failed = result.verdict == Verdict::failed;
  const bool ok = result.verdict == Verdict::ok;
  bool stored = false;
  transact([&] {
    tick(now);
    // A job that went back to the queue and that nobody has taken since still takes its late result: the work is done.
    stored = Query(*database_,
                   "update jobs set state = :a, finished = :b, accuracy = :c, test_accuracy = :d, loss = :e, "
                   "latency_ms = :f, result = :g, reason = :h "
                   "where id = :i and fence = :j and state in ('leased', 'queued')")
                 .in(failed ? JobState::failed : JobState::done, now, ok ? finite(result.accuracy) : std::nullopt,
                     ok ? finite(result.test_accuracy) : std::nullopt, finite(result.loss), finite(result.latency_ms),
                     result.extra, result.reason, job.id, job.fence)
                 .run() == 1;
    if (!stored) return;
    if (failed) return fail_job(job, result, now);
    if (result.verdict == Verdict::hopeless)
      return set_state(job.trial, TrialState::stopped, result.rule, result.reason);
    if (!ok) {
      Query(*database_, "delete from jobs where trial = :a and state = 'queued'").in(job.trial).run();
      // Two seeds of a finalist may both be refused; the original is not a candidate.
      Query(*database_,
            "update study set rejected_trials = rejected_trials + 1 where id = 1 and exists "
            "(select 1 from trials where number = :a and number > 0 and state <> 'rejected')")
          .in(job.trial)
          .run();
      return set_state(job.trial, TrialState::rejected, result.rule.empty() ? result.reason : result.rule,
                       result.reason);
    }
    store_latency(job.trial, result.latency);
    if (job.trial > 0 && job.rung != Rung::latency && finite(result.accuracy)) {
      record_improvement(*database_, *this, job, now);
    }
  });
  return stored;
}

void Store::store_latency(int trial, const std::vector<LatencySample>& samples) {
  if (samples.empty()) return;
  Query(*database_, "delete from latency_samples where trial = :a").in(trial).run();
  for (const LatencySample& s : samples) {
    Query(*database_,
          "insert into latency_samples (trial, threads, batch, sample, kernel_ms, original_ms) "
          "values (:a, :b, :c, :d, :e, :f)")
        .in(trial, s.threads, s.batch, s.index, s.kernel_ms, s.original_ms)
        .run();
  }
}

void Store::fail_job(const Job& job, const JobResult& result, double now) {
  Query(*database_, "update jobs set reason = :a where id = :b").in(result.reason, job.id).run();
  const std::string rule = result.rule.empty() ? result.reason : result.rule;
  add_event(now, "failure",
            fmt::format("trial {}: rung {}, seed {}: {}", job.trial, name_of(job.rung), job.seed, result.reason),
            {{"trial", job.trial}, {"rung", name_of(job.rung)}, {"seed", job.seed}, {"rule", rule}});
  int others = 0;
  if (job.rung == Rung::latency) return;
  if (job.rung == Rung::full) {
    Query(*database_, "select count(*) from jobs where trial = :a and rung = :b and state <> 'failed'")
        .in(job.trial, job.rung)
        .out(others)
        .next();
  }
  if (others == 0) set_state(job.trial, TrialState::failed, rule, result.reason);
}

bool Store::release(const Job& job, double now) {
  bool held = false;
  transact([&] {
    tick(now);
    held = Query(*database_, "update jobs set state = 'queued' where id = :a and fence = :b and state = 'leased'")
               .in(job.id, job.fence)
               .run() == 1;
  });
  return held;
}

}  // namespace kasimir::study
