// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/ladder.h"

#include "kasimir/base/error.h"
#include "kasimir/base/statistics.h"
#include "kasimir/study/forecast.h"
#include "kasimir/study/stopping.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kasimir::study {
namespace {

/// Pairs of accuracies that predictions are made of: the newest. Enough for their deviation, and quick to read.
constexpr int stop_pairs = 500;

std::vector<RungResult> candidates_on(const Store& store, Rung rung) {
  std::vector<RungResult> results = store.results(rung);
  std::erase_if(results, [](const RungResult& r) { return r.trial == 0; });
  return results;
}

/// What stopping is decided from. On rung longer alone: finalists are as many as were asked for.
class Outlook {
 public:
  Outlook(const Store& store, const LadderConfig& config)
      : store_(store), config_(config), done_(candidates_on(store, Rung::longer)) {}

  /// Why a candidate that had this accuracy `when` will hardly be a finalist or on the front.
  [[nodiscard]] std::optional<Rejection> stops(int trial, double early, const std::vector<RungPair>& pairs,
                                               const std::string& when) const {
    const auto bar = bar_to_beat(done_, store_.trial(trial).network, config_.finalists);
    if (!bar) return std::nullopt;
    const auto prediction = hopeless(pairs, early, *bar, {config_.stop_below});
    if (!prediction) return std::nullopt;
    return Rejection{
        "the front is out of reach",
        fmt::format("{:.2g} % chance of more than {:.1f} % on rung longer: {:.1f} ± {:.1f} % is expected after "
                    "{:.1f} % {}, from {} pairs",
                    100 * prediction->chance_above(*bar), 100 * *bar, 100 * prediction->expected,
                    100 * prediction->scale, 100 * early, when, pairs.size())};
  }

 private:
  const Store& store_;
  const LadderConfig& config_;
  std::vector<RungResult> done_;
};

/// One question of one worker, inside its transaction.
class Step {
 public:
  Step(Store& store, const Claim& claim) : store_(store), claim_(claim) {
    store_.tick(claim.now);
    const StudyInfo info = store_.info();
    config_ = LadderConfig::from_json(info.spec.at("ladder"));
    phase_ = info.phase;
    active_ = info.active_seconds;
    store_.requeue_expired(claim.now, config_.max_lost);
  }

  Next answer() {
    while (phase_ < rung_count) {
      if (auto work = work_in_phase()) return *work;
      advance();
    }
    return Finished{};
  }

 private:
  /// A job, a reason to wait, or nothing: the phase is over.
  std::optional<Next> work_in_phase() {
    const auto rung = static_cast<Rung>(phase_);
    const int leased = store_.count_jobs(JobState::leased);
    if (rung == Rung::latency && leased > 0 && store_.count_jobs(JobState::queued) > 0) {
      return Wait{"another latency is being measured"};
    }
    if (rung == Rung::longer && longer_is_enough()) {
      const int dropped = store_.drop_queued(rung);
      if (dropped > 0) {
        event("phase", fmt::format("time is short: {} jobs of rung longer are left out", dropped),
              {{"left_out", dropped}});
      }
    }
    if (rung == Rung::longer) stop_hopeless();
    if (rung == Rung::full && config_.original_first && original_in_training())
      return Wait{"the others of rung full wait for the original"};
    if (auto lease = store_.lease(rung, claim_.worker, claim_.now, claim_.lease_s)) return *lease;
    if (rung == Rung::quick && wants_more()) return store_.propose(claim_.worker, claim_.now, claim_.lease_s);
    if (leased > 0) return Wait{fmt::format("other workers have the last jobs of rung {}", name_of(rung))};
    return std::nullopt;
  }

  /// Whether the strategy answers with nothing but rejections.
  [[nodiscard]] bool exhausted(const Numbers& numbers) const {
    return numbers.next - 1 - numbers.last_accepted >= config_.give_up_after;
  }

  bool wants_more() {
    const Numbers numbers = store_.numbers();
    if (numbers.next == 0) return true;  // the original comes first
    const int candidates = numbers.candidates();
    if (exhausted(numbers) || (config_.trials > 0 && candidates >= config_.trials)) return false;
    return config_.time_limit_s == 0 || candidates < config_.finalists || time_to_explore(candidates);
  }

  bool time_to_explore(int candidates) {
    if (active_ >= config_.time_limit_s) return false;
    if (active_ < config_.explore_min * config_.time_limit_s) return true;
    const double unit = seconds_per_cost(store_, config_).value_or(0);
    const double one_more = config_.rung_cost[0] * unit;
    return active_ + one_more + longer_seconds(config_, candidates + 1, unit) +
               finalist_seconds(config_, candidates + 1, unit) <=
           config_.time_limit_s;
  }

  bool longer_is_enough() {
    if (config_.time_limit_s == 0 || store_.count_jobs(JobState::queued, Rung::longer) == 0) return false;
    const std::vector<RungResult> done = candidates_on(store_, Rung::longer);
    if (static_cast<int>(done.size()) < config_.finalists) return false;
    const double unit = seconds_per_cost(store_, config_).value_or(0);
    const double one_more = config_.rung_cost[1] * unit;
    return active_ + one_more + finalist_seconds(config_, config_.finalists, unit) > config_.time_limit_s;
  }

  /// Of its first repetition on rung full. While it is queued it is the next job: it was queued first.
  bool original_in_training() {
    const std::vector<Job> jobs = store_.jobs_of(0);
    return std::any_of(jobs.begin(), jobs.end(), [](const Job& job) {
      return job.rung == Rung::full && job.seed == 0 && job.state == JobState::leased;
    });
  }

  /// Stops the candidates next in the queue that would hardly reach the front, until one may.
  void stop_hopeless() {
    if (config_.stop_below <= 0) return;
    std::optional<Outlook> outlook;
    std::vector<RungPair> pairs;
    while (const auto job = store_.next_queued(Rung::longer)) {
      const auto early = job->trial > 0 ? accuracy_on(job->trial, Rung::quick) : std::nullopt;
      if (!early) return;
      if (!outlook) {
        outlook.emplace(store_, config_);
        pairs = store_.rung_pairs(Rung::quick, Rung::longer, stop_pairs);
      }
      const auto why = outlook->stops(job->trial, *early, pairs, "on rung quick");
      if (!why) return;
      store_.drop_queued_of(job->trial);
      store_.set_state(job->trial, TrialState::stopped, why->rule, why->with);
    }
  }

  std::optional<double> accuracy_on(int trial, Rung rung) {
    std::vector<double> accuracies;
    for (const Job& job : store_.jobs_of(trial))
      if (job.rung == rung && job.state == JobState::done && job.accuracy) accuracies.push_back(*job.accuracy);
    return accuracies.empty() ? std::nullopt : std::optional(mean(accuracies));
  }

  void advance() {
    if (phase_ == 0) promote();
    if (phase_ == 1) choose_finalists();
    if (phase_ == 2) queue_latency();
    if (phase_ == 3) complete();
    store_.set_phase(++phase_);
  }

  void promote() {
    if (exhausted(store_.numbers())) {
      event("phase", fmt::format("no more candidates: {} in a row were rejected", config_.give_up_after),
            {{"rejected_in_a_row", config_.give_up_after}});
    }
    std::vector<RungResult> results = candidates_on(store_, Rung::quick);
    if (config_.promote == 0 || results.empty()) return;
    std::stable_sort(results.begin(), results.end(),
                     [](const RungResult& a, const RungResult& b) { return a.accuracy > b.accuracy; });
    const auto share = static_cast<int>(std::ceil(config_.promote * static_cast<double>(results.size())));
    const auto keep = std::min(results.size(), static_cast<std::size_t>(std::max(share, config_.finalists)));
    climb(0, Rung::longer, 1);
    for (std::size_t i = 0; i < keep; ++i) climb(results[i].trial, Rung::longer, 1);
    store_.stop_others(Rung::longer, fmt::format("not among the best {} of {} on rung quick", keep, results.size()));
    event("phase", fmt::format("rung longer: {} of {} candidates go on", keep, results.size()),
          {{"rung", "longer"}, {"candidates", keep}});
  }

  void choose_finalists() {
    const auto count = static_cast<std::size_t>(config_.finalists);
    std::vector<int> chosen = rank(candidates_on(store_, Rung::longer), count);
    std::vector<RungResult> others = candidates_on(store_, Rung::quick);
    const std::size_t candidates = others.size();
    std::erase_if(
        others, [&](const RungResult& r) { return std::find(chosen.begin(), chosen.end(), r.trial) != chosen.end(); });
    for (const int trial : rank(others, count - chosen.size())) chosen.push_back(trial);
    if (!chosen.empty()) climb(0, Rung::full, config_.finalist_seeds);
    for (const int trial : chosen) climb(trial, Rung::full, config_.finalist_seeds);
    store_.stop_others(Rung::full, fmt::format("not among the {} finalists", chosen.size()));
    event("phase",
          fmt::format("rung full: {} finalists of {} candidates, {} seeds each", chosen.size(), candidates,
                      config_.finalist_seeds),
          {{"rung", "full"}, {"candidates", chosen.size()}, {"trials", chosen}});
  }

  void queue_latency() {
    if (config_.latency_s == 0) return;
    const std::vector<RungResult> finalists = candidates_on(store_, Rung::full);
    for (const RungResult& result : finalists) store_.queue(result.trial, Rung::latency, 0);
    event("phase", fmt::format("rung latency: {} finalists", finalists.size()),
          {{"rung", "latency"}, {"candidates", finalists.size()}});
  }

  void complete() {
    for (const RungResult& result : store_.results(Rung::full)) {
      int failed = 0;
      std::string why;
      for (const Job& job : store_.jobs_of(result.trial)) {
        if (job.state != JobState::failed) continue;
        ++failed;
        why = fmt::format("rung {}, seed {}: {}", name_of(job.rung), job.seed, job.reason);
      }
      if (failed > 1) why = fmt::format("{} jobs failed, the last: {}", failed, why);
      store_.set_state(result.trial, TrialState::complete, failed > 0 ? "a job failed" : "", why);
    }
    store_.stop_others(std::nullopt, "it has no result");
    event("finish", "the search is finished", Json::object());
  }

  /// Queues a trial's jobs on a rung; the original only as long as it works.
  void climb(int trial, Rung rung, int seeds) {
    if (trial == 0 && store_.trial(0).state == TrialState::failed) return;
    bool any = false;
    for (int seed = 0; seed < seeds; ++seed) any = store_.queue(trial, rung, seed) || any;
    if (any) store_.set_state(trial, TrialState::running, "", "");
  }

  void event(std::string_view kind, const std::string& text, const Json& data) {
    store_.add_event(claim_.now, kind, text, data);
  }

  Store& store_;
  const Claim& claim_;
  LadderConfig config_;
  int phase_ = 0;
  double active_ = 0;
};

}  // namespace

Next next(Store& store, const Claim& claim) {
  std::optional<Next> answer;
  store.transact([&] { answer = Step(store, claim).answer(); });
  return *answer;
}

std::optional<Rejection> stops_after(const Store& store, const Job& job, const CurveRow& row) {
  if (job.rung != Rung::longer || job.trial == 0) return std::nullopt;
  const LadderConfig config = LadderConfig::from_json(store.info().spec.at("ladder"));
  if (config.stop_below <= 0) return std::nullopt;
  const auto pairs = store.epoch_pairs(job.rung, row.epoch, stop_pairs);
  return Outlook(store, config).stops(job.trial, row.validation_accuracy, pairs, fmt::format("in epoch {}", row.epoch));
}

std::vector<int> rank(const std::vector<RungResult>& results, std::size_t count) {
  const bool timed =
      std::all_of(results.begin(), results.end(), [](const auto& r) { return r.latency_ms.has_value(); });
  const bool placed = std::ranges::all_of(results, [](const auto& r) { return r.network.accelerator.has_value(); });
  // Negated accuracy: less is better everywhere.
  const auto key = [timed, placed](const RungResult& r) {
    const double work = placed ? r.network.accelerator->value : static_cast<double>(r.network.macs);
    return std::array<double, 4>{-r.accuracy, work, static_cast<double>(r.network.params),
                                 timed && !placed ? *r.latency_ms : 0};
  };
  const auto beats = [&key](const RungResult& a, const RungResult& b) {
    const auto x = key(a);
    const auto y = key(b);
    bool no_worse = true;
    for (std::size_t i = 0; i < x.size(); ++i) no_worse = no_worse && x[i] <= y[i];
    return no_worse && x != y;
  };
  // In this order whatever beats a result stands before it, and comparing with the front so far is enough.
  std::vector<RungResult> left = results;
  std::stable_sort(left.begin(), left.end(), [&key](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<int> order;
  while (!left.empty() && order.size() < count) {
    std::vector<RungResult> front;
    std::vector<RungResult> beaten;
    for (const RungResult& r : left) {
      const bool lost = std::any_of(front.begin(), front.end(), [&](const RungResult& f) { return beats(f, r); });
      (lost ? beaten : front).push_back(r);
    }
    for (const RungResult& r : front) order.push_back(r.trial);
    left = std::move(beaten);
  }
  order.resize(std::min(order.size(), count));
  return order;
}

}  // namespace kasimir::study
