// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/worker.h"

#include "kasimir/base/error.h"
#include "kasimir/study/ladder.h"
#include "kasimir/study/process.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace kasimir::study {
namespace {

std::chrono::duration<double> seconds(double s) { return std::chrono::duration<double>(s); }

/// Extends the lease of the job in hand from a thread and a connection of its own.
class Heart {
 public:
  Heart(const StudyPlace& place, const WorkerOptions& options)
      : store_(Store::join(place)), options_(options), thread_([this] { beat(); }) {}
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;
  ~Heart() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void watch(const Job& job) {
    const std::lock_guard lock(mutex_);
    job_ = job;
    lost_ = false;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    job_.reset();
  }
  void mark_lost() {
    const std::lock_guard lock(mutex_);
    lost_ = true;
  }
  [[nodiscard]] bool lost() {
    const std::lock_guard lock(mutex_);
    return lost_ || failure_;
  }
  /// Throws what the thread or an observer met: the store cannot be written.
  void check() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }

 private:
  void beat() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, seconds(options_.heartbeat_s), [this] { return over_; })) {
      if (!job_ || failure_) continue;
      const Job job = *job_;
      lock.unlock();
      bool held = true;
      try {
        held = store_.heartbeat(job, options_.clock(), options_.lease_s);
      } catch (...) {
        fail(std::current_exception());
      }
      lock.lock();
      // The job may have been finished meanwhile, and another be in hand.
      if (!held && job_ && job_->fence == job.fence) lost_ = true;
    }
  }

  Store store_;
  const WorkerOptions& options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Job> job_;
  std::exception_ptr failure_;
  bool lost_ = false;
  bool over_ = false;
  std::thread thread_;
};

class Worker {
 public:
  Worker(const StudyPlace& place, const Ask& ask, const Evaluate& evaluate, const WorkerOptions& options)
      : store_(Store::join(place)), ask_(ask), evaluate_(evaluate), options_(options), heart_(place, options) {}

  WorkerEnd run() {
    const std::string id = options_.id.empty() ? local_worker_id() : options_.id;
    // Where the search is one process, and it died, there was no supervisor to say so.
    const LadderConfig ladder = LadderConfig::from_json(store_.info().spec.at("ladder"));
    store_.requeue_dead_local(options_.clock(), ladder.max_lost);
    while (!stop_asked()) {
      heart_.check();
      const Next what = next(store_, {id, options_.clock(), options_.lease_s});
      if (std::holds_alternative<Finished>(what)) return WorkerEnd::finished;
      if (const auto* lease = std::get_if<Lease>(&what)) {
        work(*lease);
      } else {
        std::this_thread::sleep_for(seconds(options_.poll_s));
      }
    }
    return WorkerEnd::stopped;
  }

 private:
  [[nodiscard]] bool stop_asked() const { return options_.stop != nullptr && options_.stop->load() != go_on; }

  void work(Lease lease) {
    heart_.watch(lease.job);
    std::optional<JobResult> result;
    try {
      if (lease.trial.state != TrialState::proposed || propose(lease)) result = evaluate(lease);
    } catch (const Error& error) {
      give_up(lease.job, error);
      throw;
    }
    heart_.release();
    if (!result) return;
    if (result->verdict == Verdict::stopped) {
      store_.release(lease.job, options_.clock());
    } else {
      // A refused result is one whose job was given to another worker; the store has counted that as lost.
      store_.finish(lease.job, *result, options_.clock());
    }
  }

  /// Asks for the kernel. False: there is none, or the lease is lost; the job is closed.
  bool propose(Lease& lease) {
    const Outcome<Proposal> proposal = ask_(lease.trial.number);
    if (!proposal) {
      store_.reject(lease, proposal.rejection().rule, proposal.rejection().str(), options_.clock());
      return false;
    }
    if (!store_.accept(lease, *proposal, options_.clock())) return false;
    lease.trial = store_.trial(lease.trial.number);
    return true;
  }

  JobResult evaluate(const Lease& lease) {
    bool told = false;
    std::optional<Rejection> hopeless;
    JobObserver observer;
    observer.epoch = [&](const CurveRow& row) {
      try {
        if (!store_.add_epoch(lease.job, row)) heart_.mark_lost();
        if (!hopeless) hopeless = stops_after(store_, lease.job, row);
      } catch (const Error&) {
        // The evaluator may take any exception for a failure of the candidate; `check` throws this one again.
        heart_.fail(std::current_exception());
        throw;
      }
    };
    observer.should_stop = [&] {
      const bool stop = hopeless || stop_asked() || heart_.lost();
      told = told || stop;
      return stop;
    };
    JobResult result = guarded(lease, observer);
    heart_.check();
    if (result.verdict == Verdict::stopped && hopeless) return {Verdict::hopeless, hopeless->rule, hopeless->with};
    if (result.verdict == Verdict::stopped && !told) {
      return JobResult::failed("gave up", "the evaluator gave up without being asked to");
    }
    return result;
  }

  JobResult guarded(const Lease& lease, JobObserver& observer) {
    try {
      return evaluate_(lease.job, lease.trial, observer);
    } catch (const Error& error) {
      if (error.fault() == Fault::input || error.fault() == Fault::system) throw;
      return JobResult::failed("internal error", error.what());
    } catch (const std::bad_alloc&) {
      return JobResult::failed("out of memory", "out of memory");
    } catch (const std::exception& error) {
      return JobResult::failed("exception", error.what());
    }
  }

  /// Tells the others why this worker ends and gives its job back, as far as the store can still be written.
  void give_up(const Job& job, const Error& error) {
    heart_.release();
    try {
      store_.release(job, options_.clock());
      store_.add_event(options_.clock(), "error", error.what(),
                       {{"fault", static_cast<int>(error.fault())},
                        {"message", error.message()},
                        {"notes", error.notes()},
                        {"trial", job.trial}});
    } catch (const Error&) {
      // The store itself is what failed; the caller throws the first Error, and the lease will run out.
    }
  }

  Store store_;
  const Ask& ask_;
  const Evaluate& evaluate_;
  const WorkerOptions& options_;
  Heart heart_;
};

}  // namespace

WorkerEnd run_worker(const StudyPlace& place, const Ask& ask, const Evaluate& evaluate, const WorkerOptions& options) {
  return Worker(place, ask, evaluate, options).run();
}

}  // namespace kasimir::study
