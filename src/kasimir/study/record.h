// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The search as rows: what a study stores and what its callbacks exchange. Times are seconds since 1970-01-01 UTC.
namespace kasimir::study {

using Json = nlohmann::json;

/// Seconds since 1970-01-01 UTC. Comes in as a function, so that tests can move it.
using Clock = std::function<double()>;
double wall_clock();

/// One step of the evaluation ladder, each more expensive than the last.
enum class Rung : int {
  quick = 0,   ///< short training of every candidate
  longer = 1,  ///< longer training of the best share
  full = 2,    ///< full training of the finalists, several seeds
  latency = 3  ///< latency of the finalists' networks, alone on the machine
};
constexpr int rung_count = 4;
std::string_view name_of(Rung rung);  ///< "quick", "longer", "full", "latency"

enum class TrialState {
  proposed,  ///< has a number, not yet a kernel
  running,   ///< somewhere on the ladder
  complete,  ///< went through the whole ladder
  rejected,  ///< no legal kernel, the same as an earlier one, or refused by a screen
  failed,    ///< its evaluation failed: diverged, out of memory, out of time, the worker died
  stopped    ///< evaluated, but not among those that go on: by its rank, or because the front is out of reach
};
std::string_view name_of(TrialState state);
TrialState trial_state(std::string_view name);

enum class JobState { queued, leased, done, failed };
std::string_view name_of(JobState state);
JobState job_state(std::string_view name);

/// What one run of a network takes on the accelerator that a search is for.
struct AcceleratorCost {
  double cycles = 0;
  double energy_uj = 0;
  double value = 0;  ///< of the search's objective on it (cycles, energy or their product); less is better
  bool operator==(const AcceleratorCost&) const = default;
};

/// Multiply-accumulates of one image and learned numbers; of a whole network also its cost on an accelerator, where the
/// search is for one.
struct Counts {
  std::int64_t macs = 0;
  std::int64_t params = 0;
  std::optional<AcceleratorCost> accelerator = {};
  bool operator==(const Counts&) const = default;
};

/// A trial's `budget_use` as the store keeps it: with the network's cost on the accelerator, if it has one.
Json with_accelerator(Json budget_use, const Counts& network);
/// That cost, if there is one.
std::optional<AcceleratorCost> accelerator_in(const Json& budget_use);

/// What a strategy answers for a trial number. Number 0 is the original network: `kernel` is empty.
struct Proposal {
  std::string kernel;  ///< the kernel's text form
  std::string hash;    ///< canonical identity; two trials never share it
  Json origin;         ///< strategy, seed, attempt
  Counts replaced;     ///< of the part of the network that is replaced
  Counts network;      ///< of the whole network
  Json budget_use;     ///< what was asked and used, for people
};

struct Trial {
  int number = 0;
  TrialState state = TrialState::proposed;
  std::string kernel;
  std::string hash;
  Json origin;
  Counts replaced;
  Counts network;
  Json budget_use;
  std::string rule;    ///< the rule that rejected it or the kind of failure, the same text each time, for counting
  std::string reason;  ///< why it was rejected, failed or stopped, with the values
  double created = 0;
};

struct Job {
  std::int64_t id = 0;
  int trial = 0;
  Rung rung = Rung::quick;
  int seed = 0;  ///< number of the repetition, from 0; the same for all trials, so that comparisons are paired
  JobState state = JobState::queued;
  std::string worker;      ///< who has it or had it last
  std::int64_t fence = 0;  ///< grows with every lease of the study; a result with an older one is refused
  double lease_until = 0;
  int attempts = 0;  ///< how often it was leased
  int lost = 0;      ///< how often its worker vanished
  double started = 0;
  double finished = 0;
  std::optional<double> accuracy;       ///< on the validation split, 0..1
  std::optional<double> test_accuracy;  ///< on the test split, 0..1; rung `full` only
  std::optional<double> loss;
  std::optional<double> latency_ms;  ///< of the whole network; a quick estimate before rung `latency`
  Json result;                       ///< whatever else the evaluator said
  std::string reason;
};

/// One epoch of training.
struct CurveRow {
  int epoch = 0;
  double train_loss = 0;
  double train_accuracy = 0;
  double validation_loss = 0;
  double validation_accuracy = 0;
  double learning_rate = 0;
  double seconds = 0;
};

struct Curve {
  int trial = 0;
  Rung rung = Rung::quick;
  int seed = 0;
  std::vector<CurveRow> rows;
};

/// One run of the network with the kernel and, right beside it, one of the original.
struct LatencySample {
  int threads = 1;
  int batch = 1;
  int index = 0;
  double kernel_ms = 0;
  double original_ms = 0;
};

struct Event {
  std::int64_t id = 0;
  double at = 0;
  std::string kind;  ///< study, resume, phase, improvement, failure, death, stop, finish
  std::string text;  ///< one line for people
  Json data;         ///< the same for programs
};

/// A job and its trial, handed to one worker until `job.lease_until`.
struct Lease {
  Job job;
  Trial trial;
};

enum class Verdict {
  ok,
  rejected,  ///< a screen refused the kernel
  failed,    ///< a recorded result as well: diverged, out of memory, out of time
  stopped,   ///< given up because `should_stop` said so: the job goes back to the queue
  hopeless   ///< the same because the ladder stopped the candidate: the job is over
};

/// What an evaluator answers.
struct JobResult {
  Verdict verdict = Verdict::ok;
  std::string rule;    ///< for counting: "diverged", "signal variance"; empty takes `reason`
  std::string reason;  ///< with the values
  std::optional<double> accuracy = {};
  std::optional<double> test_accuracy = {};
  std::optional<double> loss = {};
  std::optional<double> latency_ms = {};
  std::vector<LatencySample> latency = {};  ///< rung `latency` only
  Json extra = Json::object();              ///< stored as it is

  static JobResult rejected(std::string rule, std::string reason) {
    return {Verdict::rejected, std::move(rule), std::move(reason)};
  }
  static JobResult failed(std::string rule, std::string reason) {
    return {Verdict::failed, std::move(rule), std::move(reason)};
  }
  static JobResult stopped() { return {Verdict::stopped, "", ""}; }
};

}  // namespace kasimir::study
