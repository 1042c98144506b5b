// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/report/parts.h"
#include "kasimir/study/ladder_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace kasimir::report {
namespace {

using study::Json;
using study::TrialState;
using study::TrialSummary;

/// The smallest and the largest share of the replaced part that candidates use.
std::string share_range(const View& view, std::int64_t study::Counts::* count) {
  double lo = std::numeric_limits<double>::infinity();
  double hi = 0;
  for (const TrialSummary& s : view.rows) {
    const auto r = ratio(s.replaced.*count, view.rows.front().replaced.*count);
    if (s.number == 0 || !r) continue;
    lo = std::min(lo, *r);
    hi = std::max(hi, *r);
  }
  return hi > 0 ? fmt::format("{:.2f} to {:.2f}", lo, hi) : "";
}

std::string budget_used(const View& view) {
  const std::string macs = share_range(view, &study::Counts::macs);
  if (macs.empty()) return "";
  return fmt::format("candidates have {} of the MACs and {} of the parameters that they replace", macs,
                     share_range(view, &study::Counts::params));
}

std::string trials_used(const View& view) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : view.counts) parts.push_back(fmt::format("{} {}", count, study::name_of(state)));
  return join(parts, ", ");
}

std::string workers_used(const View& view) {
  std::set<std::string> workers;
  for (const study::Job& job : view.jobs)
    if (!job.worker.empty()) workers.insert(job.worker);
  return fmt::format("{} worker process{}", workers.size(), workers.size() == 1 ? "" : "es");
}

std::string seeds_used(const View& view) {
  std::set<int> seeds;
  for (const study::Job& job : view.jobs)
    if (job.rung == study::Rung::full && job.state == study::JobState::done) seeds.insert(job.seed);
  return seeds.empty() ? "" : fmt::format("{} finished", seeds.size());
}

std::string latency_used(const View& view) {
  for (const TrialSummary& s : view.rows) {
    if (s.number == 0 || !s.latency_ms) continue;
    return fmt::format("batch {}, {} thread{}, {} pairs of runs a kernel", s.batch, s.threads,
                       s.threads == 1 ? "" : "s", s.latency_ms->count);
  }
  return "not measured yet";
}

using Line = std::array<std::string, 3>;

std::vector<Line> ladder_lines(const View& view) {
  const Json ladder = view.info.spec.value("ladder", Json::object());
  study::LadderConfig config;
  try {
    config = study::LadderConfig::from_json(ladder);
  } catch (const Error&) {
    return {{"ladder", in_words(ladder), ""}};  // keys of another version
  }
  const std::string trials = config.trials > 0 ? fmt::format("{} candidates", config.trials) : "as many as time allows";
  const std::string time = config.time_limit_s > 0 ? duration_text(config.time_limit_s) : "no limit";
  return {{"candidates", trials, trials_used(view)},
          {"time", time, duration_text(view.info.active_seconds)},
          {"workers", std::to_string(config.workers), workers_used(view)},
          {"finalists", std::to_string(config.finalists), std::to_string(view.finalists.size())},
          {"seeds a finalist", std::to_string(config.finalist_seeds), seeds_used(view)}};
}

std::vector<Line> spec_lines(const View& view) {
  static const std::set<std::string> elsewhere{"ladder", "sites", "command", "budget"};
  std::vector<Line> lines;
  for (const auto& item : view.info.spec.items())
    if (!elsewhere.contains(item.key()))
      lines.push_back({item.key(), in_words(item.value()),
                       item.key() == "distill" ? "by finalists; the original has no teacher" : ""});
  return lines;
}

}  // namespace

Html asked_and_used(const View& view, const std::string& program) {
  std::vector<Line> lines{{"budget", in_words(view.info.spec.value("budget", Json())), budget_used(view)}};
  for (const auto& more : {ladder_lines(view), spec_lines(view)}) lines.insert(lines.end(), more.begin(), more.end());
  lines.push_back({"latency", "", latency_used(view)});
  lines.push_back({"machine", "", view.info.machine});
  lines.push_back(
      {"version", "",
       view.info.program + (program.empty() || program == view.info.program ? "" : ", report by " + program)});
  lines.push_back({"begun, last event (UTC)", "", time_text(view.info.created) + ", " + time_text(view.last)});
  lines.push_back({"study", "", view.path});
  std::vector<Row> rows;
  for (const Line& line : lines) rows.push_back({{element("strong", line[0]), line[1], line[2]}, ""});
  const std::string spec = view.info.spec.dump(2, ' ', false, Json::error_handler_t::replace);
  return table({"", "asked", "used"}, rows, TableStyle::plain) +
         element("details",
                 element("summary", "The whole specification as JSON") + element("pre", {{"class", "copy"}}, spec));
}

Html command(const View& view) {
  const std::string text = shown(view.info.spec.value("command", Json()));
  if (text.empty()) return element("p", "The study does not say which command made it.");
  return element("pre", {{"class", "copy"}}, text);
}

}  // namespace kasimir::report
