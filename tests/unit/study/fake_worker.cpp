// SPDX-License-Identifier: Apache-2.0
// A worker process for the tests: study_fake_worker STUDY MICROSECONDS_PER_EPOCH [die|error].
// `die` kills itself over trial 3, `error` ends with an Error over trial 3.
// study_fake_worker STUDY begin TRIALS makes a study; study_fake_worker STUDY show fails unless there is one.
#include "fake.h"

#include "kasimir/base/error.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<int> stop{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_interrupt(int) { stop = kasimir::study::stop_soon; }

}  // namespace

int main(int argc, char** argv) {
  using namespace kasimir::study;
  if (argc < 3) return 70;
  std::signal(SIGINT, on_interrupt);
  const std::string path = argv[1];
  if (argv[2] == std::string("begin") || argv[2] == std::string("show")) {
    try {
      if (argv[2] == std::string("begin")) fake::start(path, fake::spec(std::atoi(argv[3])), wall_clock());
      Store::view(path);
      return 0;
    } catch (const kasimir::Error& error) {
      return static_cast<int>(error.fault());
    }
  }
  const std::chrono::microseconds pause(std::atoi(argv[2]));
  const std::string mode = argc > 3 ? argv[3] : "";
  const Evaluate honest = fake::evaluate(pause);
  const Evaluate evaluate = [&](const Job& job, const Trial& trial, JobObserver& observer) {
    if (trial.number == 3 && mode == "die") std::raise(SIGKILL);
    if (trial.number == 3 && mode == "error") {
      throw kasimir::input_error("the data folder is gone").note("put it back");
    }
    return honest(job, trial, observer);
  };
  try {
    WorkerOptions options;
    options.stop = &stop;
    options.poll_s = 0.005;
    options.heartbeat_s = 0.05;
    const auto seed = Store::view(path).info().spec.at("seed").get<std::uint64_t>();
    run_worker(path, fake::ask(seed), evaluate, options);
    return 0;
  } catch (const kasimir::Error& error) {
    if (mode != "error") std::fprintf(stderr, "fake worker: %s\n", error.what());
    return static_cast<int>(error.fault());
  }
}
