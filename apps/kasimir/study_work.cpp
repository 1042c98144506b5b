// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study_work.h"

#include "kasimir/options.h"

#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/report/listing.h"
#include "kasimir/report/report.h"
#include "kasimir/study/supervisor.h"

namespace kasimir {
namespace {

class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool json) : json_(json) {}

  void operator()(const study::Progress& progress, const std::vector<study::Event>& events) {
    for (const study::Event& event : events) {
      print(event, progress);
      over_ = over_ || event.kind == "finish" || event.kind == "stop";
    }
    if (json_ || over_ || progress.active_seconds < next_) return;
    next_ = progress.active_seconds + 20;  // an improvement has its own line; between them a sign of life
    print_totals(progress);
  }

 private:
  void print(const study::Event& event, const study::Progress& progress) {
    if (json_) {
      fmt::print(
          "{}\n",
          nlohmann::json{{"at", event.at}, {"kind", event.kind}, {"text", event.text}, {"data", event.data}}.dump());
    } else {
      fmt::print("{:>9}  {:<12} {}\n", duration_text(progress.active_seconds), event.kind, event.text);
    }
    std::fflush(stdout);
  }

  static void print_totals(const study::Progress& progress) {
    fmt::print("{:>9}  {:<12} {}\n", duration_text(progress.active_seconds), "progress", study::str(progress));
    std::fflush(stdout);
  }

  bool json_;
  bool over_ = false;
  double next_ = 20;
};

}  // namespace

study::WorkerEnd work_and_report(const std::string& study, const StudyWork& work, const std::atomic<int>& stop) {
  study::SupervisorOptions supervisor;
  supervisor.argv = {own_path(), "worker", study};
  supervisor.workers = work.workers;
  supervisor.stop = &stop;
  ProgressPrinter printer(work.log_json);
  const auto end = study::supervise(study, supervisor, std::ref(printer));

  const auto store = study::Store::view(study);
  const std::string report = work.report.empty() ? store.place().beside(".html").string() : work.report;
  report::write_report(store, catalog(), report, {.goal = {}, .program = "kasimir " KASIMIR_VERSION});
  if (!work.log_json) fmt::print("\n{}\nreport  {}\n", report::study_table(store).str(), report);
  std::fflush(stdout);
  return end;
}

}  // namespace kasimir
