// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/chart.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <ranges>
#include <set>
#include <tuple>

namespace kasimir::report {
namespace {

// Units of the picture. Small, so that texts of 14 units can be read where the chart is as wide as a phone.
constexpr double width = 400;
constexpr double height = 320;
constexpr double left = 52;
constexpr double right = 14;
constexpr double top = 12;
constexpr double bottom = 52;

struct Range {
  double lo = 0;
  double hi = 1;
};

/// A value range on a stretch of the picture, ends at round values.
class Scale {
 public:
  Scale(Range range, double from, double to) : ticks_(ticks(range.lo, range.hi, 5)), from_(from), to_(to) {}
  [[nodiscard]] double operator()(double value) const {
    return from_ + (std::clamp(value, lo(), hi()) - lo()) / (hi() - lo()) * (to_ - from_);
  }
  [[nodiscard]] double lo() const { return ticks_.front(); }
  [[nodiscard]] double hi() const { return ticks_.back(); }
  [[nodiscard]] const std::vector<double>& marks() const { return ticks_; }

 private:
  std::vector<double> ticks_;
  double from_;
  double to_;
};

std::string number(double value) { return fmt::format("{:.1f}", value); }

Html label(double x, double y, std::string_view anchor, std::string_view text, const Attributes& more = {}) {
  Attributes attributes{{"x", number(x)}, {"y", number(y)}, {"text-anchor", std::string(anchor)}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return element("text", attributes, text);
}

std::string polygon(double x, double y, const std::vector<std::pair<double, double>>& corners) {
  std::string path;
  for (const auto& [dx, dy] : corners) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x + dx, y + dy);
  return path + "Z";
}

std::string star(double x, double y, double r) {
  std::vector<std::pair<double, double>> corners;
  for (int i = 0; i < 10; ++i) {
    const double angle = std::numbers::pi * (i / 5.0 - 0.5);
    const double length = i % 2 == 0 ? r : 0.45 * r;
    corners.emplace_back(length * std::cos(angle), length * std::sin(angle));
  }
  return polygon(x, y, corners);
}

Html shape(Marker marker, double x, double y, double r, const std::string& tone) {
  const Attributes attributes{{"class", "mark " + tone}};
  const auto path = [&](std::string text) {
    return element("path", {{"class", "mark " + tone}, {"d", std::move(text)}});
  };
  switch (marker) {
    case Marker::ring:
      return element("circle",
                     {{"class", "mark ring " + tone}, {"cx", number(x)}, {"cy", number(y)}, {"r", number(r)}});
    case Marker::triangle:
      return path(polygon(x, y, {{0, -1.2 * r}, {1.1 * r, 0.8 * r}, {-1.1 * r, 0.8 * r}}));
    case Marker::diamond:
      return path(polygon(x, y, {{0, -1.3 * r}, {1.3 * r, 0}, {0, 1.3 * r}, {-1.3 * r, 0}}));
    case Marker::box:
      return path(polygon(x, y, {{-r, -r}, {r, -r}, {r, r}, {-r, r}}));
    case Marker::cross:
      return path(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}M{:.1f} {:.1f}L{:.1f} {:.1f}", x - r, y - r, x + r, y + r,
                              x - r, y + r, x + r, y - r));
    case Marker::star:
      return path(star(x, y, 1.7 * r));
  }
  return {};
}

/// All values, with room for error bars.
Range range_of(const Chart& chart, bool of_x) {
  std::vector<double> values;
  for (const Polyline& line : chart.lines)
    for (const auto& [x, y] : line.points) values.push_back(of_x ? x : y);
  for (const Point& p : chart.points) {
    values.push_back(of_x ? p.x : p.y - p.error);
    values.push_back(of_x ? p.x : p.y + p.error);
  }
  const auto [lo, hi] = std::minmax_element(values.begin(), values.end());
  const bool zero = (of_x ? chart.x : chart.y).from_zero && *lo >= 0 && *lo < 0.5 * *hi;
  const double start = zero ? 0 : *lo;
  const double margin = 0.03 * (*hi - start);
  return {zero ? 0 : start - margin, *hi + margin};
}

/// Where a few values lie so far below the others that these would share a thin band, the lower end of what is shown.
double lower_end(const Chart& chart, double lowest) {
  std::vector<double> values;
  for (const Point& p : chart.points) values.push_back(p.y);
  if (values.size() < 8) return lowest;
  std::sort(values.begin(), values.end());
  const double quarter = values[values.size() / 4];
  const double body = values.back() - quarter;
  return values.front() < quarter - body ? quarter - 0.4 * body : lowest;
}

Html axes(const Chart& chart, const Scale& x, const Scale& y) {
  Html html;
  for (const double tick : y.marks()) {
    html += element("line", {{"class", "grid"},
                             {"x1", number(left)},
                             {"x2", number(width - right)},
                             {"y1", number(y(tick))},
                             {"y2", number(y(tick))}});
    html += label(left - 6, y(tick) + 5, "end", chart.y.text(tick));
  }
  for (const double tick : x.marks()) {
    html += element("line", {{"class", "grid"},
                             {"x1", number(x(tick))},
                             {"x2", number(x(tick))},
                             {"y1", number(top)},
                             {"y2", number(height - bottom)}});
    html += label(x(tick), height - bottom + 18, "middle", chart.x.text(tick));
  }
  html += label((left + width - right) / 2, height - 10, "middle", chart.x.title, {{"class", "axis"}});
  html += label(0, 0, "middle", chart.y.title,
                {{"class", "axis"},
                 {"transform", fmt::format("translate(13 {}) rotate(-90)", number((top + height - bottom) / 2))}});
  return html;
}

Html line_picture(const Polyline& line, const Scale& x, const Scale& y) {
  std::string points;
  for (const auto& [a, b] : line.points)
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x(a), y(b));
  return element("polyline", {{"class", "line " + line.tone}, {"points", points}});
}

Html point_picture(const Point& p, const Scale& x, const Scale& y) {
  Html picture = element("title", p.detail);
  if (p.error > 0) {
    const std::string at = number(x(p.x));
    picture += element("line", {{"class", "bar " + p.tone},
                                {"x1", at},
                                {"x2", at},
                                {"y1", number(y(p.y - p.error))},
                                {"y2", number(y(p.y + p.error))}});
  }
  picture += shape(p.marker, x(p.x), y(p.y), p.large ? 6 : 4.2, p.tone);
  const Html group = element("g", {{"class", "point"}, {"data-detail", p.detail}}, picture);
  return p.link.empty() ? group : element("a", {{"href", p.link}}, group);
}

/// Where there are many, of the points that lie on one spot the last of each look: it would be on top.
std::vector<Point> visible_points(const Chart& chart, const Scale& x, const Scale& y) {
  if (chart.points.size() <= most_points) return chart.points;
  constexpr double spot = 4;  // about as wide as a marker
  std::set<std::tuple<int, int, Marker, std::string>> taken;
  std::vector<Point> visible;
  for (const Point& p : chart.points | std::views::reverse)
    if (taken.emplace(static_cast<int>(x(p.x) / spot), static_cast<int>(y(p.y) / spot), p.marker, p.tone).second)
      visible.push_back(p);
  std::ranges::reverse(visible);
  return visible;
}

}  // namespace

std::vector<double> ticks(double lo, double hi, int wanted) {
  if (!(hi > lo)) {
    const double room = lo == 0 ? 1 : 0.1 * std::abs(lo);
    lo -= room;
    hi += room;
  }
  const double rough = (hi - lo) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.5, 2.0, 1.0})
    if (factor * power >= rough * 0.999) step = factor * power;
  const auto first = static_cast<std::int64_t>(std::floor(lo / step + 1e-9));
  const auto last = static_cast<std::int64_t>(std::ceil(hi / step - 1e-9));
  std::vector<double> values;
  for (std::int64_t i = first; i <= last; ++i) values.push_back(static_cast<double>(i) * step);
  return values;
}

Html marker_picture(Marker marker, const std::string& tone) {
  return element("svg", {{"class", "key"}, {"viewBox", "0 0 16 16"}, {"aria-hidden", "true"}},
                 shape(marker, 8, 8, 4.5, tone));
}

Html draw(const Chart& chart) {
  if (chart.points.empty() && chart.lines.empty()) return {};
  Range of_y = range_of(chart, false);
  if (chart.cut_outliers) of_y.lo = lower_end(chart, of_y.lo);
  const Scale x(range_of(chart, true), left, width - right);
  const Scale y(of_y, height - bottom, top);
  Html picture = axes(chart, x, y);
  for (const Polyline& line : chart.lines) picture += line_picture(line, x, y);
  const std::vector<Point> points = visible_points(chart, x, y);
  for (const Point& point : points) picture += point_picture(point, x, y);
  const auto below = std::ranges::count_if(chart.points, [&](const Point& p) { return p.y < y.lo(); });
  std::string note = chart.note;
  if (below > 0)
    note +=
        fmt::format(" {} below {} {} drawn on the lower edge.", below, chart.y.text(y.lo()), below == 1 ? "is" : "are");
  if (points.size() < chart.points.size())
    note += fmt::format(" {} markers that lie on others are left out.",
                        grouped(static_cast<std::int64_t>(chart.points.size() - points.size())));
  Html figure = element("h3", chart.title);
  figure += element("svg",
                    {{"class", "chart"},
                     {"viewBox", fmt::format("0 0 {} {}", width, height)},
                     {"role", "img"},
                     {"aria-label", chart.title}},
                    picture);
  if (!note.empty()) figure += element("figcaption", note);
  return element("figure", figure);
}

}  // namespace kasimir::report
