// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/report/parts.h"

#include <algorithm>
#include <cmath>

namespace kasimir::report {
namespace {

using study::Measure;
using study::Miss;
using study::TrialState;
using study::TrialSummary;

/// Comparable candidates, the nearest to the goal first: those trained as long as the original, if there are any.
std::vector<Miss> nearest(const View& view, const study::Goal& goal) {
  std::vector<Miss> all = study::nearest_misses(view.rows, goal, view.rows.size());
  std::erase_if(all, [&](const Miss& miss) {
    const TrialState state = view.rows[miss.index].state;
    return state == TrialState::failed || state == TrialState::rejected;
  });
  std::vector<Miss> same_rung;
  std::ranges::copy_if(all, std::back_inserter(same_rung),
                       [&](const Miss& miss) { return view.rows[miss.index].rung == view.rows.front().rung; });
  return same_rung.empty() ? all : same_rung;
}

std::string word_of(Measure measure) {
  switch (measure) {
    case Measure::macs:
      return "MACs";
    case Measure::params:
      return "parameters";
    case Measure::accelerator:
      return "cost on the accelerator";
    case Measure::latency:
      break;
  }
  return "latency";
}

std::string goal_text(const study::Goal& goal) {
  return fmt::format("at most {} below the original's accuracy with at most {} of its {}", points(goal.accuracy_drop),
                     percent(goal.ratio, 0), word_of(goal.measure));
}

std::string difference(double from_original) {
  if (std::abs(from_original) < 0.0005) return "as accurate as the original";
  return fmt::format("{} {} the original", points(std::abs(from_original)), from_original < 0 ? "below" : "above");
}

Html link_to(const View& view, std::size_t row) {
  const TrialSummary& s = view.rows[row];
  const std::string name = fmt::format("{} (trial {})", kernel_name(s.kernel), s.number);
  return view.links[row].empty() ? Html(name) : element("a", {{"href", view.links[row]}}, name);
}

Html tile(const std::string& value, const std::string& name, const std::string& beside) {
  return element("div", {{"class", "tile"}},
                 element("strong", value) + element("span", name) + element("small", beside));
}

std::string of_original(const std::optional<double>& ratio) {
  return ratio ? percent(*ratio) + " of the original's" : "the original's are not known";
}

Html tiles(const TrialSummary& s, const TrialSummary& original) {
  Html all = tile(accuracy_text(s.accuracy), "validation accuracy", "original " + accuracy_text(original.accuracy));
  all += tile(count_text(s.network.macs), "MACs per image", of_original(ratio(s.network.macs, original.network.macs)));
  all +=
      tile(count_text(s.network.params), "parameters", of_original(ratio(s.network.params, original.network.params)));
  if (s.latency_ms && s.original_ms) {
    all += tile(latency_text(s.latency_ms),
                fmt::format("latency, batch {}, {} thread{}", s.batch, s.threads, s.threads == 1 ? "" : "s"),
                "original " + latency_text(s.original_ms));
  }
  return element("div", {{"class", "tiles"}}, all);
}

std::string speed(const TrialSummary& s) {
  if (!s.latency_ratio || s.latency_ratio->value <= 0) return " Its latency has not been measured.";
  const double r = s.latency_ratio->value;
  return r < 1 ? fmt::format(" The whole network runs {:.2f} times as fast, measured side by side.", 1 / r)
               : fmt::format(" The whole network takes {:.2f} times as long, measured side by side.", r);
}

Html comparison(const View& view, std::size_t row) {
  const TrialSummary& s = view.rows[row];
  const TrialSummary& original = view.rows.front();
  std::string text =
      fmt::format(" reaches {}{} on images kept for validation, {}", accuracy_text(s.accuracy),
                  s.accuracy->count > 1 ? fmt::format(" (mean and spread over {} seeds)", s.accuracy->count) : "",
                  difference(s.accuracy->value - original.accuracy->value));
  if (const auto r = ratio(s.network.macs, original.network.macs))
    text += fmt::format(", with {} of its MACs", percent(*r, 0));
  if (const auto r = ratio(s.network.params, original.network.params))
    text += fmt::format(" and {} of its parameters", percent(*r, 0));
  text += "." + speed(s);
  if (s.test_accuracy && original.test_accuracy) {
    text += fmt::format(" On the test split, read once at the end: {} against {}.", accuracy_text(s.test_accuracy),
                        accuracy_text(original.test_accuracy));
  }
  if (s.rung != study::Rung::full) text += " These are results of short training: the finalists are still to come.";
  return element("p", {{"class", "lead"}}, link_to(view, row) + text);
}

Html best_kernel(const View& view, std::size_t row) {
  return comparison(view, row) + tiles(view.rows[row], view.rows.front());
}

Html near_misses(const View& view, const study::Goal& goal, const std::vector<Miss>& misses) {
  Html items;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, misses.size()); ++i) {
    std::vector<std::string> lacks;
    if (misses[i].accuracy_short > 0)
      lacks.push_back(fmt::format("accuracy {} short", points(misses[i].accuracy_short)));
    if (misses[i].ratio_over > 0)
      lacks.push_back(fmt::format("{} of the original's {}, {} wished", percent(goal.ratio + misses[i].ratio_over),
                                  word_of(goal.measure), percent(goal.ratio, 0)));
    items += element("li", link_to(view, misses[i].index) + ": " + join(lacks, ", "));
  }
  return element("p", {{"class", "lead"}}, "No kernel met the wish: " + goal_text(goal) + ". The nearest:") +
         element("ol", items);
}

std::string state_text(const View& view) {
  int candidates = 0;
  for (const auto& [state, count] : view.counts) candidates += state == TrialState::rejected ? 0 : count;
  const std::string phase = view.finished() ? "finished"
                                            : fmt::format("not finished: it is on rung {}",
                                                          study::name_of(static_cast<study::Rung>(view.info.phase)));
  return fmt::format("The search is {}. {} candidate{} tried, {} finalist{}, {} at work, as of {}\u00a0UTC.", phase,
                     candidates, candidates == 1 ? "" : "s", view.finalists.size(),
                     view.finalists.size() == 1 ? "" : "s", duration_text(view.info.active_seconds),
                     time_text(view.last));
}

Html body(const View& view, const study::Goal& goal) {
  if (view.original() == nullptr)
    return element("p", {{"class", "lead"}}, "The original has no result yet, so nothing can be compared with it.");
  const std::vector<Miss> misses = nearest(view, goal);
  if (misses.empty()) return element("p", {{"class", "lead"}}, "No candidate has a result yet.");
  if (!misses.front().met()) return near_misses(view, goal, misses) + best_kernel(view, misses.front().index);
  return best_kernel(view, misses.front().index);
}

}  // namespace

Html headline(const View& view, const study::Goal& goal) {
  const study::Json network = view.info.spec.value("network", study::Json());
  const study::Json data = view.info.spec.value("data", study::Json());
  std::string title = "Faster kernels";
  if (network.is_string()) title += " for " + network.get<std::string>();
  if (data.is_string()) title += " on " + data.get<std::string>();
  return element("h1", title) + body(view, goal) + element("p", {{"class", "state"}}, state_text(view));
}

}  // namespace kasimir::report
