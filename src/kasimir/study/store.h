// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/place.h"
#include "kasimir/study/record.h"

#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace kasimir::study {

class Database;

/// The schema that this version writes and reads.
constexpr int schema_version = 1;

/// What a study was asked for and by whom.
struct StudyInfo {
  Json spec;
  int schema = schema_version;
  std::string program;  ///< name and version of what created it
  std::string machine;
  double created = 0;
  int phase = 0;              ///< the rung being worked on; rung_count: finished
  double active_seconds = 0;  ///< see LadderConfig
};

/// Results of one trial on one rung: finished evaluations that have an accuracy.
struct RungResult {
  int trial = 0;
  double accuracy = 0;  ///< mean over its seeds
  Counts network;
  std::optional<double> latency_ms;
};

/// The accuracy of a candidate early and late in its training.
struct RungPair {
  double early = 0;
  double late = 0;
};

/// Trial numbers, without a look at every trial.
struct Numbers {
  int next = 0;           ///< the one to be given out next
  int last_accepted = 0;  ///< the highest whose trial was not rejected
  int uncounted = 0;      ///< how many were rejected, or added as finalists
  /// Candidates that count against `LadderConfig::trials`.
  [[nodiscard]] int candidates() const { return next - 1 - uncounted; }
};

struct JobCounts {
  int queued = 0;
  int leased = 0;
  int done = 0;
  int failed = 0;
  double done_seconds = 0;  ///< sum over done jobs
};

/// A study: an SQLite file, or a schema of a PostgreSQL database. Every change is one transaction, so killing a process
/// at any point loses at most the job in flight. Several processes may use the same file, each with its own Store; one
/// Store is for one thread.
class Store {
 public:
  /// Creates the study, or goes on with the one that is there; `resumed()` tells which. A changed resumable key is
  /// taken over, and with more trials or time the search starts to propose again.
  /// @throws Error (input): a newer schema, not a study, another spec; Error (system): no right to write, disk full.
  static Store start(const StudyPlace& place, const Json& spec, std::string_view program, std::string_view machine,
                     double now);
  /// For a worker: a study that exists. @throws Error as `start`; input with near names if there is none.
  static Store join(const StudyPlace& place);
  /// For reading only; also from a folder that cannot be written. @throws Error as `join`.
  static Store view(const StudyPlace& place);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  [[nodiscard]] const StudyPlace& place() const;
  [[nodiscard]] bool resumed() const { return resumed_; }

  // Reading ------------------------------------------------------------------------------------------------------
  [[nodiscard]] StudyInfo info() const;
  [[nodiscard]] std::vector<Trial> trials() const;  ///< by number
  [[nodiscard]] Trial trial(int number) const;      ///< @throws Error (input) with the numbers that exist
  [[nodiscard]] std::vector<Job> jobs() const;      ///< by id
  [[nodiscard]] std::vector<Job> jobs_of(int trial) const;
  [[nodiscard]] std::vector<Curve> curves(int trial) const;                          ///< by rung, seed; rows by epoch
  [[nodiscard]] std::vector<LatencySample> latency_samples(int trial) const;         ///< by batch, threads, index
  [[nodiscard]] std::vector<std::pair<int, LatencySample>> latency_samples() const;  ///< with their trial, by trial
  [[nodiscard]] std::vector<Event> events(std::int64_t after_id = 0) const;
  [[nodiscard]] std::map<TrialState, int> trial_counts() const;        ///< without trial 0
  [[nodiscard]] std::map<std::string, int> reasons(TrialState) const;  ///< rule -> number of trials in that state
  /// Rule -> what is said of the trial in that state that missed it least (base/near_miss.h); of the first where the
  /// rule has no number. Without the rule itself.
  [[nodiscard]] std::map<std::string, std::string> nearest_misses(TrialState) const;
  [[nodiscard]] std::map<Rung, JobCounts> job_counts() const;
  [[nodiscard]] std::vector<RungResult> results(Rung rung) const;  ///< by trial; without failed and rejected trials
  [[nodiscard]] std::int64_t last_event() const;                   ///< 0: none
  [[nodiscard]] int count_jobs(JobState state, std::optional<Rung> rung = {}) const;
  /// Rungs and seconds of the last `count` jobs that gave an accuracy, newest first.
  [[nodiscard]] std::vector<std::pair<Rung, double>> recent_seconds(int count) const;
  /// What evaluators said beside the numbers of the last `count` finished jobs of candidates on a rung, newest first;
  /// also of those that they refused.
  [[nodiscard]] std::vector<Json> recent_results(Rung rung, int count) const;
  /// Accuracies of the last `count` candidates that have one on both rungs, newest first; means over seeds.
  [[nodiscard]] std::vector<RungPair> rung_pairs(Rung early, Rung late, int count) const;
  /// The same with the accuracy after an epoch of the rung itself, which is not its last, as the early one.
  [[nodiscard]] std::vector<RungPair> epoch_pairs(Rung rung, int epoch, int count) const;
  /// What `lease` would hand out next.
  [[nodiscard]] std::optional<Job> next_queued(Rung rung) const;
  [[nodiscard]] Numbers numbers() const;
  /// Runs several reads on one state of the study, whatever workers write meanwhile.
  void snapshot(const std::function<void()>& read) const;

  // Changing: for ladder, worker and supervisor --------------------------------------------------------------------
  /// Runs `change` in one transaction that excludes all other writers; calls may nest.
  void transact(const std::function<void()>& change);

  /// Counts active seconds up to now. A gap of more than `pause_s` since the last call is a pause, not activity.
  void tick(double now);
  /// Jobs whose lease ran out go back to the queue, or fail when it is the `max_lost`-th time. Returns how many.
  int requeue_expired(double now, int max_lost);
  /// The same at once for the jobs of all workers of this machine whose process is gone. Without `max_lost` it is not
  /// held against the jobs: the whole search was killed.
  int requeue_dead_local(double now, std::optional<int> max_lost);

  /// The queued job on rungs up to `rung` that was queued first, the best candidate of a promotion before the others,
  /// handed to `worker`.
  std::optional<Lease> lease(Rung rung, const std::string& worker, double now, double lease_s);
  /// A new trial number with its job on rung `quick`, handed to `worker`, which has to ask for the kernel.
  Lease propose(const std::string& worker, double now, double lease_s);
  /// Stores the kernel. The same kernel in an earlier trial rejects this one, and closes the job.
  /// False: the lease is lost, or the trial was rejected.
  bool accept(const Lease& lease, const Proposal& proposal, double now);
  /// There is no kernel for this number; closes the job. False: the lease is lost.
  bool reject(const Lease& lease, std::string_view rule, std::string_view reason, double now);
  /// A trial that no strategy proposed and that begins as a finalist, with its jobs on rung `full`, on which the study
  /// goes on. Its number; nothing if a trial has its hash.
  std::optional<int> add_finalist(const Proposal& proposal, int seeds, double now);
  /// Extends a lease. False: it is lost.
  bool heartbeat(const Job& job, double now, double lease_s);
  /// Stores an epoch at once. False: the lease is lost.
  bool add_epoch(const Job& job, const CurveRow& row);
  /// Stores a result, once: false if the job was leased anew or is finished already.
  bool finish(const Job& job, const JobResult& result, double now);
  /// Gives a job back unfinished; not counted as lost.
  bool release(const Job& job, double now);

  /// Queues a job unless it is there already. Returns whether it is new.
  bool queue(int trial, Rung rung, int seed);
  int drop_queued(Rung rung);
  int drop_queued_of(int trial);
  void set_state(int trial, TrialState state, std::string_view rule, std::string_view reason);
  /// Running candidates without a job on `rung` are stopped; without a rung all that are still running.
  void stop_others(std::optional<Rung> rung, std::string_view reason);
  void set_phase(int phase);
  void add_event(double now, std::string_view kind, std::string_view text, const Json& data);

 private:
  explicit Store(std::unique_ptr<Database> database);
  int requeue(const std::vector<Job>& jobs, double now, std::optional<int> max_lost);
  void fail_job(const Job& job, const JobResult& result, double now);
  Lease take(const Job& job, const std::string& worker, double now, double lease_s);
  void store_latency(int trial, const std::vector<LatencySample>& samples);
  [[nodiscard]] bool holds(const Job& job) const;

  std::unique_ptr<Database> database_;
  bool resumed_ = false;
};

}  // namespace kasimir::study
