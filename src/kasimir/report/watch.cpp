// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/watch.h"

#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/report/view.h"
#include "kasimir/study/ladder.h"

#include <algorithm>
#include <cmath>

namespace kasimir::report {
namespace {

using Align = Table::Align;

/// Rows of the front and of the last trials: all of a terminal of 40 lines is enough for the block.
constexpr std::size_t most_front = 8;
constexpr std::size_t most_last = 5;

std::string progress_line(const study::Progress& progress, double now) {
  std::string line = fmt::format("{}: {}", study::phase_text(progress.phase), str(progress));
  if (progress.seconds_left && progress.phase < study::rung_count)
    line += fmt::format(", at {} UTC", time_text(now + *progress.seconds_left));
  return line + "\n";
}

std::string rung_table(const study::Progress& progress) {
  Table table({{"rung", "", Align::left}, {"queued", ""}, {"at work", ""}, {"done", ""}, {"failed", ""}});
  for (const auto& [rung, jobs] : progress.jobs)
    table.row({std::string(study::name_of(rung)), grouped(jobs.queued), grouped(jobs.leased), grouped(jobs.done),
               grouped(jobs.failed)});
  return progress.jobs.empty() ? "" : "\n" + table.str();
}

/// A worker renews its lease with every heartbeat; one that has run out belongs to a worker that is gone.
std::string lease_text(double left) {
  const double seconds = std::round(std::abs(left));
  return left >= 0 ? fmt::format("{:.0f} s left", seconds) : fmt::format("silent, over for {:.0f} s", seconds);
}

std::string worker_table(const std::vector<study::Job>& jobs, double now) {
  Table table({{"worker", "", Align::left},
               {"trial", ""},
               {"rung", "", Align::left},
               {"seed", ""},
               {"for", ""},
               {"lease", "", Align::left}});
  bool any = false;
  for (const study::Job& job : jobs) {
    if (job.state != study::JobState::leased) continue;
    any = true;
    table.row({job.worker, std::to_string(job.trial), std::string(study::name_of(job.rung)), std::to_string(job.seed),
               duration_text(std::max(0.0, std::round(now - job.started))), lease_text(job.lease_until - now)});
  }
  return any ? "\n" + table.str() : "\nno worker has a job\n";
}

std::string share(const std::optional<study::Measured>& accuracy) {
  return accuracy ? fmt::format("{:.1f}", 100 * accuracy->value) : "";
}

std::vector<std::string> cells_of(const study::TrialSummary& trial) {
  return {std::to_string(trial.number),
          kernel_name(trial.kernel),
          trial.rung ? std::string(study::name_of(*trial.rung)) : "",
          share(trial.accuracy),
          si(static_cast<double>(trial.network.macs)),
          si(static_cast<double>(trial.network.params)),
          trial.latency_ms ? fmt::format("{:.3g}", trial.latency_ms->value) : ""};
}

std::vector<Table::Column> columns() {
  return {{"trial", ""},
          {"kernel", "", Align::left},
          {"rung", "", Align::left},
          {"accuracy", "%"},
          {"MACs", ""},
          {"params", ""},
          {"latency", "ms"}};
}

std::string front_table(const std::vector<study::TrialSummary>& rows) {
  const auto front = study::pareto_front(rows, study::Measure::macs);
  if (front.empty()) return "\nno candidate has a result yet\n";
  Table table(columns());
  // The most accurate ones, where there are more than fit.
  for (std::size_t i = front.size() - std::min(front.size(), most_front); i < front.size(); ++i)
    table.row(cells_of(rows[front[i]]));
  std::string text = "\nfront of accuracy and MACs\n" + table.str();
  if (front.size() > most_front) text += fmt::format("and {} with fewer MACs\n", front.size() - most_front);
  return text;
}

std::string last_table(const std::vector<study::TrialSummary>& rows) {
  Table table({{"trial", ""},
               {"kernel", "", Align::left},
               {"state", "", Align::left},
               {"accuracy", "%"},
               {"", "", Align::left}});
  const std::size_t shown = std::min(most_last, rows.size());
  if (shown == 0) return "";
  for (std::size_t i = rows.size(); i > rows.size() - shown; --i) {
    const study::TrialSummary& trial = rows[i - 1];
    // A proposed trial has no kernel yet, and only the original never gets one.
    const bool waits = trial.number > 0 && trial.kernel.empty();
    table.row({std::to_string(trial.number), waits ? "" : kernel_name(trial.kernel),
               std::string(study::name_of(trial.state)), share(trial.accuracy), trial.rule});
  }
  return "\nlast trials\n" + table.str();
}

}  // namespace

WatchBlock watch_block(const study::Store& store, double now) {
  WatchBlock block;
  store.snapshot([&] {
    const study::StudyInfo info = store.info();
    const study::Progress progress = study::progress(store);
    const auto rows = study::summaries(store);
    block.finished = progress.phase >= study::rung_count;
    block.text = fmt::format("{}  {} on {}, {} UTC, {} of work\n", store.place().str(), info.spec.value("network", "?"),
                             info.spec.value("data", "?"), time_text(now), duration_text(progress.active_seconds));
    block.text += progress_line(progress, now) + rung_table(progress);
    if (!block.finished) block.text += worker_table(store.jobs(), now);
    block.text += front_table(rows) + last_table(rows);
  });
  return block;
}

}  // namespace kasimir::report
