// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/supervisor.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/error.h"
#include "kasimir/study/process.h"

#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

namespace kasimir::study {
namespace {

class Team {
 public:
  Team(const StudyPlace& place, const SupervisorOptions& options, const ReportProgress& report)
      : store_(Store::join(place)),
        options_(options),
        report_(report),
        begun_(store_.last_event()),
        seen_(begun_),
        max_lost_(LadderConfig::from_json(store_.info().spec.at("ladder")).max_lost) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { kill_all(); }

  WorkerEnd run() {
    store_.requeue_dead_local(now(), std::nullopt);
    for (int i = 0; i < options_.workers; ++i) workers_.push_back(start_process(options_.argv));
    while (!workers_.empty()) {
      std::this_thread::sleep_for(std::chrono::duration<double>(options_.poll_s));
      obey_stop();
      collect();
      tell(false);
    }
    const bool finished = store_.info().phase == rung_count;
    if (!finished) event("stop", "stopped; the same command goes on from here", Json::object());
    tell(true);
    return finished ? WorkerEnd::finished : WorkerEnd::stopped;
  }

 private:
  [[nodiscard]] double now() const { return options_.clock(); }
  [[nodiscard]] int asked() const { return options_.stop == nullptr ? go_on : options_.stop->load(); }

  void event(std::string_view kind, const std::string& text, const Json& data) {
    store_.add_event(now(), kind, text, data);
  }

  void tell(bool last) {
    const std::vector<Event> events = store_.events(seen_);
    const auto time = std::chrono::steady_clock::now();
    if (!last && events.empty() && time - told_ < std::chrono::seconds(1)) return;
    told_ = time;
    if (!events.empty()) seen_ = events.back().id;
    report_(progress(store_), events);
  }

  void obey_stop() {
    if (asked() == go_on) return;
    const auto time = std::chrono::steady_clock::now();
    if (!stopping_) {
      stopping_ = time;
      for (const pid_t worker : workers_) ::kill(worker, SIGINT);
    }
    const bool patience_over = time - *stopping_ > std::chrono::duration<double>(options_.grace_s);
    if (asked() != stop_now && !patience_over) return;
    kill_all();
    store_.requeue_dead_local(now(), std::nullopt);
  }

  void kill_all() {
    for (const pid_t worker : workers_) ::kill(worker, SIGKILL);
    for (const pid_t worker : workers_) {
      while (::waitpid(worker, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    workers_.clear();
  }

  void collect() {
    for (std::size_t i = 0; i < workers_.size();) {
      int status = 0;
      const pid_t worker = workers_[i];
      if (::waitpid(worker, &status, WNOHANG) != worker) {
        ++i;
        continue;
      }
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
      if (replace(worker, status)) {
        workers_.insert(workers_.begin() + static_cast<std::ptrdiff_t>(i), start_process(options_.argv));
        ++i;
      }
    }
  }

  /// Judges the end of a worker: true if another has to take its place. @throws Error if the search cannot go on.
  bool replace(pid_t worker, int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const bool over = store_.info().phase == rung_count;
    if (code == 0 && (over || asked() != go_on)) return false;
    if (code == static_cast<int>(Fault::input) || code == static_cast<int>(Fault::unsolved) ||
        code == static_cast<int>(Fault::system)) {
      throw error_of(static_cast<Fault>(code));
    }
    store_.requeue_dead_local(now(), max_lost_);
    const bool needed = !over && asked() == go_on;
    event("death",
          fmt::format("worker {} died: {}{}", worker, end_text(status), needed ? "; another takes its place" : ""),
          {{"pid", worker}, {"end", end_text(status)}});
    if (!needed) return false;
    const int closed = store_.count_jobs(JobState::done) + store_.count_jobs(JobState::failed);
    deaths_ = closed == closed_ ? deaths_ + 1 : 1;
    closed_ = closed;
    // A job that kills its workers fails after max_lost deaths, and every worker may have such a job in hand.
    if (deaths_ > max_lost_ * options_.workers + 2) {
      throw system_error("the workers keep dying: {} deaths without a finished job, the last by {}", deaths_,
                         end_text(status))
          .note("all finished work is kept; the same command goes on once the cause is removed");
    }
    return true;
  }

  /// The Error that ended a worker, as it left it in the store.
  Error error_of(Fault fault) {
    Error error(fault, fmt::format("a worker ended with exit code {}", static_cast<int>(fault)));
    for (const Event& e : store_.events(begun_)) {
      if (e.kind != "error" || e.data.at("fault") != static_cast<int>(fault)) continue;
      error = Error(fault, e.data.at("message").get<std::string>());
      for (const Json& note : e.data.at("notes")) error.note(note.get<std::string>());
    }
    return error;
  }

  Store store_;
  const SupervisorOptions& options_;
  const ReportProgress& report_;
  std::int64_t begun_;  ///< the last event before this run
  std::int64_t seen_;   ///< the last event that was told
  int max_lost_;
  std::vector<pid_t> workers_;
  std::optional<std::chrono::steady_clock::time_point> stopping_;
  std::chrono::steady_clock::time_point told_{};
  int deaths_ = 0;
  int closed_ = -1;
};

}  // namespace

WorkerEnd supervise(const StudyPlace& place, const SupervisorOptions& options, const ReportProgress& report) {
  return Team(place, options, report).run();
}

}  // namespace kasimir::study
