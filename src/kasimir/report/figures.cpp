// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/report/chart.h"
#include "kasimir/report/parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

namespace kasimir::report {
namespace {

using study::Measure;
using study::Rung;
using study::TrialSummary;

struct RungLook {
  Marker marker;
  std::string_view tone;
  std::string_view words;
};

const RungLook& look_of(Rung rung) {
  static constexpr std::array<RungLook, 3> looks{
      {{Marker::ring, "rung-quick", "short training (rung quick)"},
       {Marker::triangle, "rung-longer", "longer training (rung longer)"},
       {Marker::diamond, "rung-full", "finalist, full training, bar: spread over seeds"}}};
  return looks.at(static_cast<std::size_t>(rung));
}

/// What is on the x axis. Latency as a ratio: kernel and original were timed side by side, so it is free of drift.
std::optional<double> x_of(const TrialSummary& s, Measure measure) {
  if (measure != Measure::latency) return study::value_of(s, measure);
  return s.latency_ratio ? std::optional(s.latency_ratio->value) : std::nullopt;
}

std::string detail_of(const TrialSummary& s) {
  std::string text = s.number == 0 ? "original" : fmt::format("trial {}, {}", s.number, kernel_name(s.kernel));
  text += ": " + accuracy_text(s.accuracy);
  if (s.rung) text += fmt::format(" on rung {}", study::name_of(*s.rung));
  text += fmt::format(", {} MACs, {} parameters", count_text(s.network.macs), count_text(s.network.params));
  if (s.latency_ms) text += ", " + latency_text(s.latency_ms);
  if (s.latency_ratio && s.number != 0)
    text += fmt::format(" ({} of the original)", ratio_text(s.latency_ratio->value));
  return text;
}

Point point_of(const View& view, std::size_t row, double x) {
  const TrialSummary& s = view.rows[row];
  const RungLook& look = look_of(s.rung.value_or(Rung::quick));
  Point p{x, 100 * s.accuracy->value, 100 * s.accuracy->spread, look.marker, std::string(look.tone), detail_of(s)};
  p.link = view.links[row];
  p.large = s.rung == Rung::full;
  return p;
}

/// Its own value on every rung of the chart, so that a short training is compared with a short training.
void add_original(const View& view, double x, const std::set<Rung>& rungs, std::vector<Point>& points) {
  const TrialSummary& s = view.rows.front();
  for (const auto& [rung, accuracy] : accuracy_by_rung(view.jobs, 0)) {
    if (rung == s.rung || !rungs.contains(rung)) continue;
    points.push_back({x, 100 * accuracy, 0, Marker::star, std::string(look_of(rung).tone),
                      fmt::format("original on rung {}: {}", study::name_of(rung), percent(accuracy))});
  }
  Point p = point_of(view, 0, x);
  p.marker = Marker::star;
  p.tone = "original";
  p.large = true;
  p.link = "#trial-0";
  points.push_back(p);
}

/// The front as steps: what accuracy is to be had for at most that cost.
void add_front(const View& view, Measure measure, Chart& chart) {
  std::vector<TrialSummary> rows(view.rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TrialSummary& s = view.rows[i];
    rows[i].number = s.number;
    rows[i].state = s.state;
    rows[i].rung = s.rung;
    rows[i].accuracy = s.accuracy;
    rows[i].network = s.network;
    rows[i].latency_ms = s.latency_ratio;
  }
  Polyline line{{}, "front"};
  for (const std::size_t i : study::pareto_front(rows, measure)) {
    const double x = *study::value_of(rows[i], measure);
    if (!line.points.empty()) line.points.emplace_back(x, line.points.back().second);
    line.points.emplace_back(x, 100 * rows[i].accuracy->value);
  }
  if (line.points.size() > 1) chart.lines.push_back(line);
}

Chart trade_off(const View& view, Measure measure, const std::string& title, ChartAxis x) {
  Chart chart{title, "", std::move(x), {"accuracy, %", [](double y) { return fmt::format("{:g}", y); }}, {}, {}, true};
  std::vector<std::pair<Rung, Point>> points;
  for (std::size_t i = 1; i < view.rows.size(); ++i) {
    const TrialSummary& s = view.rows[i];
    const auto at = x_of(s, measure);
    if (s.accuracy && s.rung && at) points.emplace_back(*s.rung, point_of(view, i, *at));
  }
  std::ranges::stable_sort(points, {}, &std::pair<Rung, Point>::first);
  std::set<Rung> rungs;
  for (auto& [rung, point] : points) {
    rungs.insert(rung);
    chart.points.push_back(std::move(point));
  }
  const auto original = view.original() != nullptr ? x_of(view.rows.front(), measure) : std::nullopt;
  if (original) add_original(view, *original, rungs, chart.points);
  add_front(view, measure, chart);
  return chart;
}

Html legend_entry(const Html& picture, std::string_view words) { return element("li", picture + words); }

Html legend() {
  Html entries;
  for (const Rung rung : {Rung::quick, Rung::longer, Rung::full}) {
    const RungLook& look = look_of(rung);
    entries += legend_entry(marker_picture(look.marker, std::string(look.tone)), look.words);
  }
  entries += legend_entry(marker_picture(Marker::star, "original"), "the original, small stars: on the other rungs");
  const Attributes line{{"class", "line front"}, {"points", "0,12 8,12 8,4 16,4"}};
  entries += legend_entry(
      element("svg", {{"class", "key"}, {"viewBox", "0 0 16 16"}, {"aria-hidden", "true"}}, element("polyline", line)),
      "front: nothing is better in both, among those trained longest");
  return element("ul", {{"class", "legend"}}, entries);
}

/// Colours and markers of the finalists' curves: 6 and 5, so that 30 differ.
std::string tone_of(std::size_t series) { return fmt::format("series-{}", series % 6); }
Marker marker_of(std::size_t series) { return static_cast<Marker>(series % 5); }

void add_curves(const View& view, std::size_t row, Rung rung, const Point& look, Chart& chart) {
  const auto curves = view.curves.find(row);
  if (curves == view.curves.end()) return;
  for (const study::Curve& curve : curves->second) {
    if (curve.rung != rung || curve.rows.empty()) continue;
    Polyline line{{}, look.tone};
    for (const study::CurveRow& r : curve.rows) line.points.emplace_back(r.epoch, 100 * r.validation_accuracy);
    if (look.tone != "faint" || curve.rows.size() < 2) {
      Point end = look;
      std::tie(end.x, end.y) = line.points.back();
      const TrialSummary& s = view.rows[row];
      end.detail = fmt::format("{}{}, seed {}: {} after epoch {}",
                               s.number == 0 ? "" : fmt::format("trial {}, ", s.number), kernel_name(s.kernel),
                               curve.seed, percent(curve.rows.back().validation_accuracy), curve.rows.back().epoch);
      chart.points.push_back(end);
    }
    chart.lines.push_back(std::move(line));
  }
}

Point series_look(std::size_t series) {
  Point look;
  look.marker = marker_of(series);
  look.tone = tone_of(series);
  return look;
}

Point plain_look(Marker marker, const char* tone) {
  Point look;
  look.marker = marker;
  look.tone = tone;
  return look;
}

Chart curves_on(const View& view, Rung rung) {
  Chart chart{fmt::format("Rung {}", study::name_of(rung)),
              "",
              {"epoch", [](double x) { return x == std::floor(x) ? fmt::format("{:g}", x) : ""; }},
              {"validation accuracy, %", [](double y) { return fmt::format("{:g}", y); }},
              {},
              {},
              false};
  for (const auto& [i, curves] : view.curves)
    if (i != 0 && std::ranges::find(view.finalists, i) == view.finalists.end())
      add_curves(view, i, rung, plain_look(Marker::ring, "faint"), chart);
  for (std::size_t k = 0; k < view.finalists.size(); ++k)
    add_curves(view, view.finalists[k], rung, series_look(k), chart);
  if (!view.rows.empty()) add_curves(view, 0, rung, plain_look(Marker::star, "original"), chart);
  return chart;
}

}  // namespace

Html trade_offs(const View& view) {
  const auto big = [](double x) { return si(x); };
  Html charts;
  const Chart latency = trade_off(view, Measure::latency, "Accuracy against latency",
                                  {"latency, original = 1", [](double x) { return fmt::format("{:g}", x); }, true});
  charts += draw(latency);
  charts += draw(trade_off(view, Measure::macs, "Accuracy against MACs", {"MACs per image", big, true}));
  charts += draw(trade_off(view, Measure::params, "Accuracy against parameters", {"parameters", big, true}));
  if (study::has_accelerator(view.rows))
    charts += draw(trade_off(view, Measure::accelerator, "Accuracy against the cost on the accelerator",
                             {view.info.spec.value("accelerator_objective", "objective"), big, true}));
  if (charts.empty()) return element("p", "No trial has a result yet.");
  Html html = element(
      "p", "Up and to the left is better. Training longer raises accuracy: compare a marker with markers of its kind.");
  html += legend() + element("div", {{"class", "charts"}}, charts);
  if (latency.points.empty()) html += element("p", "Latency is measured for finalists, at the end: there is none yet.");
  return html;
}

Html learning_curves(const View& view) {
  Html charts;
  for (const Rung rung : {Rung::full, Rung::longer, Rung::quick}) charts += draw(curves_on(view, rung));
  if (charts.empty()) return element("p", "No epoch has been trained yet.");
  Html entries = legend_entry(marker_picture(Marker::star, "original"), "original");
  for (std::size_t k = 0; k < view.finalists.size(); ++k) {
    const TrialSummary& s = view.rows[view.finalists[k]];
    entries += legend_entry(marker_picture(marker_of(k), tone_of(k)),
                            fmt::format("trial {}, {}", s.number, kernel_name(s.kernel)));
  }
  entries += legend_entry(marker_picture(Marker::ring, "faint"), "other candidates");
  const std::string best = view.curves.size() < view.rows.size()
                               ? fmt::format(" Of the other candidates the best {} are drawn.", most_curves)
                               : "";
  return element("p", "One line per seed." + best) + element("ul", {{"class", "legend"}}, entries) +
         element("div", {{"class", "charts"}}, charts);
}

}  // namespace kasimir::report
