// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/view.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/study/assignment.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <tuple>

namespace kasimir::report {
namespace {

using study::Measured;
using study::Rung;
using study::TrialState;
using study::TrialSummary;

std::int64_t whole(const study::Json& json, const char* key, std::int64_t otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

std::optional<ReplacedSite> site_of(const study::Json& json) {
  if (!json.is_object() || !json.contains("site") || !json["site"].is_string()) return std::nullopt;
  ReplacedSite row;
  try {
    row.site = Site::parse(json["site"].get<std::string>());
  } catch (const Error&) {
    return std::nullopt;  // a spec of another version: the report shows what it can
  }
  row.count = std::max<std::int64_t>(1, whole(json, "count", 1));
  if (const std::int64_t macs = whole(json, "macs", 0); macs > 0) row.original = {macs, whole(json, "params", 0)};
  return row;
}

/// The higher the rung and then the accuracy, the earlier.
auto standing(const TrialSummary& s) {
  const int rung = s.rung ? static_cast<int>(*s.rung) : -1;
  return std::tuple(-rung, s.accuracy ? -s.accuracy->value : 0.0, s.number);
}

void choose_shown(View& view, std::size_t others) {
  view.order = table_order(view.rows);
  for (const std::size_t i : view.order) {
    const TrialSummary& s = view.rows[i];
    if (s.number == 0 || !s.accuracy) continue;
    if (s.rung == Rung::full) {
      view.finalists.push_back(i);
    } else if (view.others.size() < others) {
      view.others.push_back(i);
    }
  }
}

/// What only a part of the trials is asked for.
void read_shown(View& view, const study::Store& store) {
  for (const auto* shown : {&view.finalists, &view.others})
    for (const std::size_t i : *shown) view.trials[i] = store.trial(view.rows[i].number);
  for (const std::size_t i : view.finalists) view.curves[i] = store.curves(view.rows[i].number);
  for (const std::size_t i : view.order) {
    if (view.curves.size() > view.finalists.size() + most_curves) break;  // the original is one more
    if (!view.curves.contains(i)) view.curves[i] = store.curves(view.rows[i].number);
  }
}

void link_rows(View& view) {
  if (view.order.size() > most_rows) view.order.resize(most_rows);
  view.links.resize(view.rows.size());
  for (const std::size_t i : view.order) view.links[i] = fmt::format("#trial-{}", view.rows[i].number);
  for (const auto* shown : {&view.finalists, &view.others})
    for (const std::size_t i : *shown) view.links[i] = fmt::format("#kernel-{}", view.rows[i].number);
}

}  // namespace

std::vector<ReplacedSite> sites_of(const study::Json& spec) {
  std::vector<ReplacedSite> sites;
  const auto rows = spec.find("sites");
  if (rows == spec.end() || !rows->is_array()) return sites;
  for (const auto& row : *rows)
    if (const auto site = site_of(row)) sites.push_back(*site);
  return sites;
}

const TrialSummary* View::original() const {
  return !rows.empty() && rows.front().number == 0 && rows.front().accuracy ? &rows.front() : nullptr;
}

bool View::shows_kernel(std::size_t row) const {
  return std::ranges::find(finalists, row) != finalists.end() || std::ranges::find(others, row) != others.end();
}

View look_at(const study::Store& store, std::size_t others) {
  View view;
  view.path = store.place().str();
  store.snapshot([&] {
    view.info = store.info();
    view.rows = study::summaries(store);
    choose_shown(view, others);
    read_shown(view, store);
    view.jobs = store.jobs();
    view.counts = store.trial_counts();
    view.rejected = store.reasons(TrialState::rejected);
    view.failed = store.reasons(TrialState::failed);
    view.nearest_rejected = store.nearest_misses(TrialState::rejected);
    view.nearest_failed = store.nearest_misses(TrialState::failed);
    view.last = view.info.created;
    for (const study::Event& event : store.events()) view.last = std::max(view.last, event.at);
  });
  link_rows(view);
  view.sites = sites_of(view.info.spec);
  return view;
}

std::vector<std::size_t> table_order(const std::vector<TrialSummary>& rows) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const TrialSummary& s = rows[i];
      return std::tuple(s.number != 0, s.state == TrialState::rejected, standing(s));
    };
    return key(a) < key(b);
  });
  return order;
}

std::map<Rung, double> accuracy_by_rung(const std::vector<study::Job>& jobs, int trial) {
  std::map<Rung, std::pair<double, int>> sums;
  for (const study::Job& job : jobs) {
    if (job.trial != trial || job.state != study::JobState::done || !job.accuracy) continue;
    sums[job.rung].first += *job.accuracy;
    ++sums[job.rung].second;
  }
  std::map<Rung, double> means;
  for (const auto& [rung, sum] : sums) means[rung] = sum.first / sum.second;
  return means;
}

std::string percent(double share, int digits) { return fmt::format("{:.{}f}\u00a0%", 100 * share, digits); }

std::string points(double share) { return fmt::format("{:.1f}\u00a0points", 100 * share); }

std::string shown(const study::Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, study::Json::error_handler_t::replace);
}

std::string in_words(const study::Json& value) {
  if (!value.is_structured()) return shown(value);
  std::vector<std::string> parts;
  for (const auto& item : value.items()) {
    std::string words = in_words(item.value());
    if (item.value().is_structured() && !item.value().empty()) words = fmt::format("({})", words);
    parts.push_back(value.is_object() ? fmt::format("{} {}", item.key(), words) : words);
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string kernel_name(const std::string& kernel_text) {
  if (kernel_text.empty()) return "original";
  if (study::is_assignment(kernel_text)) return "assignment";
  for (const std::string& line : split(kernel_text, '\n')) {
    const std::string_view text = trim(line);
    if (text.starts_with("kernel ")) return std::string(trim(text.substr(7)));
  }
  return "?";
}

std::string time_text(double seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::optional<double> ratio(std::int64_t value, std::int64_t original) {
  if (value <= 0 || original <= 0) return std::nullopt;
  return static_cast<double>(value) / static_cast<double>(original);
}

std::string count_text(std::int64_t value) { return value > 0 ? si(static_cast<double>(value)) : ""; }

std::string accuracy_text(const std::optional<Measured>& accuracy) {
  if (!accuracy) return "";
  if (accuracy->count < 2) return percent(accuracy->value);
  return fmt::format("{:.1f}\u00a0±\u00a0{:.1f}\u00a0%", 100 * accuracy->value, 100 * accuracy->spread);
}

std::string latency_text(const std::optional<Measured>& latency) {
  if (!latency) return "";
  const double size = latency->value > 0 ? std::floor(std::log10(latency->value)) : 0;
  const int digits = std::clamp(2 - static_cast<int>(size), 0, 6);
  return fmt::format("{:.{}f}\u00a0±\u00a0{:.{}f}\u00a0ms", latency->value, digits, latency->spread, digits);
}

std::string ratio_text(const std::optional<double>& ratio) { return ratio ? fmt::format("{:.2f}×", *ratio) : ""; }

}  // namespace kasimir::report
