// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/live.h"

#include "kasimir/base/text.h"
#include "kasimir/report/assets.h"
#include "kasimir/report/frame.h"
#include "kasimir/report/parts.h"
#include "kasimir/study/ladder.h"

#include <algorithm>

namespace kasimir::report {
namespace {

/// Lines of the log, the newest first; the rest is in the study.
constexpr std::size_t most_events = 100;

std::string state_text(const study::Store& store) {
  const study::Progress progress = study::progress(store);
  return fmt::format("{}: {}", study::phase_text(progress.phase), str(progress));
}

/// The line that the script keeps up to date.
Html live_line(const std::string& token, const std::string& text) {
  return element(
      "p", {{"class", "state"}},
      element("span", {{"id", "live"}, {"data-token", token}}, text) + " " +
          element("label", element("input", {{"id", "follow"}, {"type", "checkbox"}, {"checked", "checked"}}) +
                               " show new results at once"));
}

Html at_work(const View& view) {
  std::vector<Row> rows;
  for (const study::Job& job : view.jobs) {
    if (job.state != study::JobState::leased) continue;
    rows.push_back({{job.worker, Cell(std::to_string(job.trial), job.trial), std::string(study::name_of(job.rung)),
                     Cell(std::to_string(job.seed), job.seed), time_text(job.started)},
                    ""});
  }
  if (rows.empty()) return element("p", "No worker has a job.");
  return table({"worker", "trial", "rung", "seed", "since, UTC"}, rows, TableStyle::compact);
}

Html event_log(const study::Store& store) {
  std::vector<study::Event> events = store.events();
  std::ranges::reverse(events);
  const std::size_t all = events.size();
  events.resize(std::min(all, most_events));
  std::vector<Row> rows;
  for (const study::Event& event : events) rows.push_back({{time_text(event.at), event.kind, event.text}, ""});
  if (rows.empty()) return element("p", "Nothing has happened yet.");
  Html html = table({"UTC", "what", ""}, rows, TableStyle::plain);
  if (all > most_events)
    html += element("p", {{"class", "note"}}, fmt::format("The last {} of {} events.", most_events, all));
  return html;
}

}  // namespace

std::string live_token(const study::Store& store) {
  std::string token;
  store.snapshot([&] {
    token = fmt::format("{}.{}", store.last_event(), store.info().phase);
    for (const auto& [rung, jobs] : store.job_counts())
      token += fmt::format(".{}-{}-{}", jobs.leased, jobs.done, jobs.failed);
    token += fmt::format(".{}", store.numbers().next);
  });
  return token;
}

std::string live_state(const study::Store& store) {
  std::string text;
  store.snapshot([&] {
    text = study::Json{{"token", live_token(store)},
                       {"text", state_text(store)},
                       {"finished", store.info().phase >= study::rung_count}}
               .dump();
  });
  return text;
}

std::string live_html(const study::Store& store, Catalog catalog, const ReportOptions& options) {
  std::string page;
  store.snapshot([&] {
    const View view = look_at(store, options.others);
    std::vector<Section> sections{{"work", "At work", "At work", at_work(view)}};
    for (Section& section : report_sections(view, catalog, options)) sections.push_back(std::move(section));
    const Html script = Html::markup(fmt::format("<script>\n{}</script>", report_live));
    sections.push_back({"log", "Log", "Log", event_log(store) + script});
    page = framed("Kasimir, live", headline(view, options.goal) + live_line(live_token(store), state_text(store)),
                  sections);
  });
  return page;
}

}  // namespace kasimir::report
