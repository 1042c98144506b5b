// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/study/ladder.h"
#include "kasimir/study/worker.h"

#include <unistd.h>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

/// A search whose candidates cost nothing: the contract of this layer is the scheduling, not the training.
namespace kasimir::study::fake {

/// A folder of its own that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kasimir-study-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline Json spec(int trials, std::uint64_t seed = 1) {
  LadderConfig ladder;
  ladder.trials = trials;
  ladder.finalist_seeds = 2;
  return {{"network", "resnet8"}, {"seed", seed}, {"ladder", ladder.to_json()}};
}

inline Store start(const StudyPlace& place, const Json& asked, double now = 1000) {
  return Store::start(place, asked, "kasimir 0.1.0", "test machine", now);
}

/// One number in six has no kernel; one in ten repeats the kernel of number 1.
inline Ask ask(std::uint64_t seed) {
  return [seed](int number) -> Outcome<Proposal> {
    if (number == 0) return Proposal{"", "", {{"strategy", "original"}}, {1000, 100}, {1200, 120}, nullptr};
    Rng rng(seed, static_cast<std::uint64_t>(number));
    if (number > 2 && rng.below(6) == 0) return Rejection{"budget: macs", fmt::format("macs = {}", number)};
    const bool twin = number > 2 && rng.below(10) == 0;
    const auto macs = static_cast<std::int64_t>(100 + rng.below(900));
    const auto params = static_cast<std::int64_t>(10 + rng.below(90));
    const std::string hash = fmt::format("h{}", twin ? 1 : number);
    return Proposal{fmt::format("kernel {}", number),
                    hash,
                    {{"strategy", "random"}, {"seed", seed}, {"attempt", number}},
                    {macs, params},
                    {macs + 200, params + 20},
                    {{"macs", 0.5}}};
  };
}

/// The accuracy of a candidate: noise shrinks as the rungs climb.
inline double accuracy(const Job& job) {
  Rng quality(17, static_cast<std::uint64_t>(job.trial));
  Rng noise(31, static_cast<std::uint64_t>(job.trial * 100 + static_cast<int>(job.rung) * 10 + job.seed));
  const double best = job.trial == 0 ? 0.9 : 0.5 + 0.4 * quality.unit();
  return best + 0.02 * (noise.unit() - 0.5) / (1 + static_cast<int>(job.rung));
}

/// Waits `pause` per epoch. Numbers that end in 7 are refused by a screen, those that end in 8 diverge.
inline Evaluate evaluate(std::chrono::microseconds pause = {}) {
  return [pause](const Job& job, const Trial&, JobObserver& observer) {
    if (job.trial % 10 == 7) return JobResult::rejected("signal variance", fmt::format("variance {}", job.trial));
    for (int epoch = 1; epoch <= 3; ++epoch) {
      if (pause.count() > 0) std::this_thread::sleep_for(pause);
      if (observer.should_stop()) return JobResult::stopped();
      observer.epoch({epoch, 1.0 / epoch, 0.5, 1.1 / epoch, 0.4, 0.1, 0.01});
    }
    if (job.trial % 10 == 8) return JobResult::failed("diverged", "the loss is not finite at epoch 3");
    JobResult result;
    if (job.rung == Rung::latency) {
      for (int i = 0; i < 5; ++i) result.latency.push_back({1, 1, i, 2.0 + 0.1 * i + 0.01 * job.trial, 4.0});
      result.latency_ms = 2.2;
      return result;
    }
    result.accuracy = accuracy(job);
    result.loss = 1 - *result.accuracy;
    if (job.rung == Rung::full) result.test_accuracy = *result.accuracy - 0.01;
    return result;
  };
}

/// The whole outcome of a search as text: what two runs with the same seed share.
inline std::string outcome_text(const Store& store) {
  std::string text;
  for (const Trial& t : store.trials()) {
    text += fmt::format("{} {} {} {} {} {}\n", t.number, name_of(t.state), t.kernel, t.network.macs, t.rule, t.reason);
    for (const Job& j : store.jobs_of(t.number)) {
      text += fmt::format("  {} {} {} {} {}\n", name_of(j.rung), j.seed, name_of(j.state), j.accuracy.value_or(-1),
                          j.reason);
    }
  }
  return text;
}

}  // namespace kasimir::study::fake
