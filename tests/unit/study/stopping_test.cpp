// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/stopping.h"

#include "fake.h"
#include "server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace kasimir::study {
namespace {

TEST(PredictLate, IsALineWithStudentsDeviation) {
  // The line is 0.2 + early; residuals 0.01, -0.02, 0.01 and one degree of freedom.
  const auto found = predict_late({{0.1, 0.31}, {0.2, 0.38}, {0.3, 0.51}}, 0.4);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->expected, 0.6, 1e-12);
  EXPECT_EQ(found->freedom, 1);
  EXPECT_NEAR(found->scale, std::sqrt(6e-4 * (1 + 1.0 / 3 + 0.04 / 0.02)), 1e-12);
  EXPECT_NEAR(found->chance_above(0.6), 0.5, 1e-12);
  EXPECT_NEAR(found->chance_above(0.6 + found->scale), 0.25, 1e-12);  // Cauchy's
}

TEST(PredictLate, NeedsThreePairsAndManagesWithEqualOnes) {
  EXPECT_FALSE(predict_late({{0.1, 0.3}, {0.2, 0.4}}, 0.4));
  const auto equal = predict_late({{0.1, 0.3}, {0.1, 0.4}, {0.1, 0.5}}, 0.9);
  ASSERT_TRUE(equal);
  EXPECT_NEAR(equal->expected, 0.4, 1e-12);
  const auto exact = predict_late({{0.1, 0.5}, {0.1, 0.5}, {0.1, 0.5}}, 0.1);
  EXPECT_EQ(exact->chance_above(0.4), 1);
  EXPECT_EQ(exact->chance_above(0.5), 0);
}

/// A chance is the tail of Student's distribution.
TEST(LatePrediction, HasTheTailsOfTables) {
  const auto student_tail = [](double t, int freedom) { return LatePrediction{0, 1, freedom}.chance_above(t); };
  // With one degree the distribution is Cauchy's, with two it has a closed form.
  for (const double t : {-3.0, -0.5, 0.0, 0.1, 1.0, 7.0}) {
    EXPECT_NEAR(student_tail(t, 1), 0.5 - std::atan(t) / std::numbers::pi, 1e-12) << t;
    EXPECT_NEAR(student_tail(t, 2), 0.5 - t / (2 * std::sqrt(2 + t * t)), 1e-12) << t;
  }
  // Quantiles as tables print them, to four digits.
  EXPECT_NEAR(student_tail(2.228, 10), 0.025, 2e-5);
  EXPECT_NEAR(student_tail(1.697, 30), 0.05, 3e-5);
  EXPECT_NEAR(student_tail(3.385, 30), 0.001, 1e-6);
  // Of a great many degrees it is normal.
  for (const double t : {-2.0, 0.5, 1.96, 4.0})
    EXPECT_NEAR(student_tail(t, 10'000'000), 0.5 * std::erfc(t / std::numbers::sqrt2), 1e-7) << t;
}

TEST(BarToBeat, IsTheBestOfThoseThatAreNotLarger) {
  const std::vector<RungResult> results = {
      {1, 0.9, {200, 20}, {}}, {2, 0.8, {100, 10}, {}}, {3, 0.7, {100, 10}, {}}, {4, 0.85, {50, 30}, {}}};
  EXPECT_EQ(bar_to_beat(results, {150, 15}, 1), 0.8);
  EXPECT_EQ(bar_to_beat(results, {200, 20}, 1), 0.9);
  EXPECT_EQ(bar_to_beat(results, {90, 25}, 1), std::nullopt) << "smaller than all: on the front in any case";
}

TEST(BarToBeat, IsLowerWhereOthersThanTheFrontAreFinalists) {
  // All are as large, so that the front is one, and the second and third finalist are beaten by it.
  const std::vector<RungResult> results = {
      {1, 0.9, {100, 10}, {}}, {2, 0.8, {100, 10}, {}}, {3, 0.7, {100, 10}, {}}, {4, 0.6, {100, 10}, {}}};
  EXPECT_EQ(bar_to_beat(results, {100, 10}, 1), 0.9);
  EXPECT_EQ(bar_to_beat(results, {100, 10}, 2), 0.8);
  EXPECT_EQ(bar_to_beat(results, {100, 10}, 3), 0.7);
  EXPECT_EQ(bar_to_beat(results, {100, 10}, 5), std::nullopt) << "every one of five is a finalist";
  // A larger one loses to all of them and is taken last.
  EXPECT_EQ(bar_to_beat(results, {200, 10}, 3), 0.7);
}

TEST(BarToBeat, IsWhereRankTakesTheNewcomer) {
  const std::uint64_t seed = 5;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  for (std::uint64_t round = 0; round < 200; ++round) {
    Rng rng(seed, round);
    std::vector<RungResult> results;
    for (int i = 0; i < 12; ++i)
      results.push_back({i,
                         0.05 * static_cast<double>(rng.below(20)),
                         {static_cast<std::int64_t>(rng.below(4)), static_cast<std::int64_t>(rng.below(4))},
                         {}});
    const Counts size{static_cast<std::int64_t>(rng.below(4)), static_cast<std::int64_t>(rng.below(4))};
    const int finalists = 1 + static_cast<int>(rng.below(4));
    const auto bar = bar_to_beat(results, size, finalists);
    for (int step = 0; step <= 20; ++step) {
      const double accuracy = 0.05 * step + 0.01;
      std::vector<RungResult> with = results;
      with.push_back({99, accuracy, size, {}});
      const std::vector<int> chosen = rank(with, static_cast<std::size_t>(finalists));
      const bool finalist = std::ranges::find(chosen, 99) != chosen.end();
      const bool front = std::ranges::none_of(results, [&](const RungResult& r) {
        return r.accuracy >= accuracy && r.network.macs <= size.macs && r.network.params <= size.params;
      });
      EXPECT_EQ(finalist || front, !bar || accuracy > *bar) << "round " << round << ", accuracy " << accuracy;
    }
  }
}

TEST(Hopeless, WaitsForPairsAndKeepsToItsBound) {
  std::vector<RungPair> pairs;
  for (int i = 0; i < 11; ++i) pairs.push_back({0.5 + 0.01 * i, 0.6 + 0.01 * i + (i % 2 == 0 ? 0.01 : -0.01)});
  EXPECT_FALSE(hopeless(pairs, 0.5, 0.9, {0.05}));
  pairs.push_back({0.52, 0.62});
  EXPECT_TRUE(hopeless(pairs, 0.5, 0.9, {0.05}));
  EXPECT_FALSE(hopeless(pairs, 0.5, 0.9, {0}));
  EXPECT_FALSE(hopeless(pairs, 0.5, 0.6, {0.05}));
}

/// A made-up candidate: its accuracy on rung quick, after the epochs of rung longer, the last of which is its result.
struct Simulated {
  double quick = 0;
  std::array<double, 3> epochs{};
  Counts counts;
  [[nodiscard]] double result() const { return epochs.back(); }
};

/// Learning curves that rise towards a quality of their own at a pace of their own, with noise in every number.
std::vector<Simulated> simulated_study(Rng& rng, bool curved) {
  std::vector<Simulated> study;
  const double noise = 0.003 + 0.015 * rng.unit();
  for (int i = 0; i < 100; ++i) {
    Simulated candidate;
    const double quality = 0.7 + 0.06 * rng.normal();
    const double pace = 0.5 + 0.1 * rng.normal();
    const auto at = [&](double epochs) {
      const double reached = quality - 0.3 * std::exp(-pace * epochs);
      return (curved ? 1 - std::pow(1 - std::clamp(reached, 0.0, 1.0), 1.5) : reached) + noise * rng.normal();
    };
    candidate.quick = at(2);
    candidate.epochs = {at(3), at(4), at(6)};
    const auto size = static_cast<std::int64_t>(100 + rng.below(100));
    candidate.counts = {size, size};
    study.push_back(candidate);
  }
  return study;
}

/// A rung longer as the ladder plays it, the best of rung quick first; counts those that were stopped, those of them
/// that would have been on the front or finalists, and epochs.
struct Played {
  int stopped = 0;
  int wrong = 0;
  int epochs = 0;

  void play(std::vector<Simulated> study, const StopRule& rule, int finalists) {
    std::ranges::sort(study, std::greater(), &Simulated::quick);
    std::vector<Simulated> pairs;
    std::vector<RungResult> done;
    for (const Simulated& candidate : study) {
      const auto bar = bar_to_beat(done, candidate.counts, finalists);
      const auto stops = [&](double early, auto of) {
        std::vector<RungPair> seen;
        for (const Simulated& other : pairs) seen.push_back({of(other), other.result()});
        return bar && hopeless(seen, early, *bar, rule);
      };
      bool out = stops(candidate.quick, [](const Simulated& s) { return s.quick; });
      for (std::size_t e = 0; e < candidate.epochs.size() && !out; ++e) {
        ++epochs;
        if (e + 1 < candidate.epochs.size())
          out = stops(candidate.epochs[e], [e](const Simulated& s) { return s.epochs[e]; });
      }
      if (out) {
        ++stopped;
        wrong += candidate.result() > *bar ? 1 : 0;
        continue;
      }
      pairs.push_back(candidate);
      done.push_back({static_cast<int>(done.size()), candidate.result(), candidate.counts, {}});
    }
  }
};

TEST(Hopeless, StopsWronglyNoMoreOftenThanItSays) {
  const std::uint64_t seed = 2024;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  for (const bool curved : {false, true}) {
    for (const double below : {0.05, 0.2}) {
      Rng rng(seed, curved ? 1 : 0);
      Played played;
      for (int study = 0; study < 20; ++study) played.play(simulated_study(rng, curved), {below}, 3);
      const std::string found =
          fmt::format("{} of 2,000 were stopped, {} of them wrongly; {} of 6,000 epochs were trained", played.stopped,
                      played.wrong, played.epochs);
      fmt::print("{} curves, below {}: {}\n", curved ? "bent" : "straight", below, found);
      EXPECT_GT(played.stopped, 400) << found;
      EXPECT_LE(played.wrong, below * played.stopped) << found;
    }
  }
}

/// A search of 40 candidates that are all promoted and whose accuracy rises along curves, on a file and on a server.
class StoppingSearch : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (on_server() && fake::Server::shared() == nullptr) GTEST_SKIP() << fake::no_server;
  }
  [[nodiscard]] static bool on_server() { return GetParam() == std::string("server"); }
  StudyPlace place() {
    return on_server() ? StudyPlace(fake::Server::shared()->fresh_study()) : folder / fmt::format("{}.db", ++files);
  }

  StudyPlace begin(double stop_below) {
    Json spec = fake::spec(40);
    spec["ladder"]["promote"] = 1;
    spec["ladder"]["latency_s"] = 0;
    spec["ladder"]["stop_below"] = stop_below;
    const StudyPlace study = place();
    fake::start(study, spec);
    return study;
  }

  static Outcome<Proposal> propose(int number) {
    return Proposal{"k", fmt::format("h{}", number), nullptr, {1, 1}, {1000, 7}, nullptr};
  }

  static JobResult train(const Job& job, const Trial&, JobObserver& observer) {
    Rng noise(7, static_cast<std::uint64_t>(job.trial * 10 + static_cast<int>(job.rung)));
    JobResult result;
    const double quality = job.trial == 0 ? 0.7 : 0.5 + 0.005 * ((job.trial * 17) % 40);
    // In epoch 1 there is much noise, in epoch 2 little: what rung quick lets pass, epoch 2 may stop.
    for (int epoch = 1; epoch <= 3; ++epoch) {
      const double scatter = epoch == 1 ? 0.05 : 0.004;
      result.accuracy = quality + 0.1 * static_cast<int>(job.rung) + 0.02 * epoch + scatter * noise.normal();
      observer.epoch({epoch, 0, 0, 0, *result.accuracy, 0.1, 0.01});
      if (observer.should_stop()) return JobResult::stopped();
    }
    if (job.rung == Rung::quick) *result.accuracy += 0.02 * noise.normal();
    return result;
  }

  StudyPlace search(double stop_below) {
    const StudyPlace study = begin(stop_below);
    EXPECT_EQ(run_worker(study, propose, train), WorkerEnd::finished);
    return study;
  }

  /// Of candidates on rung longer: those with a result.
  static int count(const Store& store) { return static_cast<int>(store.results(Rung::longer).size()) - 1; }

  fake::Folder folder;
  int files = 0;
};
INSTANTIATE_TEST_SUITE_P(Places, StoppingSearch, testing::Values("file", "server"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(StoppingSearch, TrainsAllWithoutARule) { EXPECT_EQ(count(Store::view(search(0))), 40); }

TEST_P(StoppingSearch, LeavesOutWhatWouldNotReachTheFrontAndSaysWhy) {
  const Store store = Store::view(search(0.05));
  EXPECT_GE(count(store), 12);
  EXPECT_LE(count(store), 30);
  int before = 0;
  int during = 0;
  for (const Trial& trial : store.trials()) {
    if (trial.rule != "the front is out of reach") continue;
    EXPECT_EQ(trial.state, TrialState::stopped);
    EXPECT_THAT(trial.reason, testing::MatchesRegex(
                                  "[0-9.e-]+ % chance of more than [0-9.]+ % on rung longer: [0-9.]+ ± [0-9.]+ % is "
                                  "expected after [0-9.]+ % (on rung quick|in epoch [12]), from [0-9]+ pairs"));
    const auto jobs = store.jobs_of(trial.number);
    ++(jobs.size() == 1 ? before : during);
    if (jobs.size() == 1) continue;
    EXPECT_EQ(jobs.back().state, JobState::done);
    EXPECT_EQ(jobs.back().accuracy, std::nullopt);
    EXPECT_EQ(jobs.back().reason, trial.reason);
    EXPECT_LT(store.curves(trial.number).back().rows.size(), 3U);
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(during, 0);
  EXPECT_EQ(before + during, 40 - count(store));
  EXPECT_EQ(store.trial_counts().at(TrialState::complete), 3) << "as many finalists as were asked for";
}

TEST_P(StoppingSearch, FindsTheSameFinalistsWithLessTraining) {
  const auto finalists = [](const Store& store) {
    std::vector<int> trials;
    for (const RungResult& result : store.results(Rung::full)) trials.push_back(result.trial);
    return trials;
  };
  EXPECT_EQ(finalists(Store::view(search(0.05))), finalists(Store::view(search(0))));
}

TEST_P(StoppingSearch, DecidesTheSameAfterInterruptions) {
  const std::string whole = fake::outcome_text(Store::view(search(0.05)));
  EXPECT_EQ(fake::outcome_text(Store::view(search(0.05))), whole);
  const StudyPlace study = begin(0.05);
  std::atomic<int> stop{go_on};
  int epochs = 0;
  const Evaluate interrupted = [&](const Job& job, const Trial& trial, JobObserver& observer) {
    JobObserver inner = observer;
    inner.epoch = [&](const CurveRow& row) {
      observer.epoch(row);
      if (++epochs % 19 == 0) stop = stop_soon;
    };
    return train(job, trial, inner);
  };
  WorkerOptions options;
  options.stop = &stop;
  int stops = 0;
  while (run_worker(study, propose, interrupted, options) == WorkerEnd::stopped) {
    ++stops;
    stop = go_on;
  }
  EXPECT_GE(stops, 3);
  EXPECT_EQ(fake::outcome_text(Store::view(study)), whole);
}

TEST_P(StoppingSearch, NeverHasFewerFinalistsThanAsked) {
  Json spec = fake::spec(40);
  spec["ladder"]["promote"] = 1;
  spec["ladder"]["latency_s"] = 0;
  spec["ladder"]["stop_below"] = 0.5;
  spec["ladder"]["finalists"] = 20;
  const StudyPlace study = place();
  fake::start(study, spec);
  run_worker(study, propose, train);
  EXPECT_EQ(Store::view(study).results(Rung::full).size(), 21U);
}

TEST_P(StoppingSearch, AsksAgainWhenMoreTrialsBringMorePairs) {
  const StudyPlace study = search(0.05);
  Json spec = Store::view(study).info().spec;
  spec["ladder"]["trials"] = 50;
  fake::start(study, spec);
  EXPECT_EQ(run_worker(study, propose, train), WorkerEnd::finished);
  const Store store = Store::view(study);
  for (const Trial& trial : store.trials()) EXPECT_NE(trial.state, TrialState::running) << trial.number;
  for (const Job& job : store.jobs()) EXPECT_EQ(job.state, JobState::done) << job.trial;
}

}  // namespace
}  // namespace kasimir::study
