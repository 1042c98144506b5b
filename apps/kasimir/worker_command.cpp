// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/evaluate.h"
#include "kasimir/stop.h"

#include "kasimir/train/machine.h"

namespace kasimir {
namespace {

int work(const std::string& path) {
  const std::atomic<int>& stop = catch_interrupts();
  set_threads(1);  // two threads collapse when anything else runs: workers are processes of one thread
  const auto spec = SearchSpec::from_json(study::Store::view(path).info().spec);
  Evaluator evaluator(spec);
  evaluator.belongs_to(path);
  study::WorkerOptions options;
  options.stop = &stop;
  study::run_worker(
      path, [&](int number) { return evaluator.ask(number); },
      [&](const study::Job& job, const study::Trial& trial, study::JobObserver& observer) {
        return evaluator.evaluate(job, trial, observer);
      },
      options);
  return 0;
}

}  // namespace

void add_worker(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("worker", "works on a study that `kasimir search` has begun, also from another machine");
  auto path = std::make_shared<std::string>();
  command->add_option("study", *path, study_help)->required();
  command->callback([path, &action] { action = [path] { return work(*path); }; });
}

}  // namespace kasimir
