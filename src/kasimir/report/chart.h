// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/report/html.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kasimir::report {

/// Markers differ in outline, so that they are told apart without colours.
enum class Marker { ring, triangle, diamond, box, cross, star };

/// A value of a chart. `tone` is a class of report.css that gives it a colour.
struct Point {
  double x = 0;
  double y = 0;
  double error = 0;  ///< length of the bar up and down; 0: none
  Marker marker = Marker::ring;
  std::string tone = {};
  std::string detail = {};  ///< one line that is shown on hover, on touch and to screen readers
  std::string link = {};    ///< where a click leads, "#kernel-3"; empty: nowhere
  bool large = false;
};

struct Polyline {
  std::vector<std::pair<double, double>> points;
  std::string tone;
};

struct ChartAxis {
  std::string title;
  std::function<std::string(double)> text;  ///< of a tick
  bool from_zero = false;                   ///< unless all values lie in the upper half of what that shows
};

struct Chart {
  std::string title;
  std::string note;  ///< below the picture: how to read it
  ChartAxis x;
  ChartAxis y;
  std::vector<Polyline> lines;  ///< drawn below the points
  std::vector<Point> points;    ///< in this order, so that the last is on top
  bool cut_outliers = false;    ///< draw points far below the others on the lower edge, and say so
};

/// Of more points than this, those that would lie on others of their look are left out, and the chart says how many.
constexpr std::size_t most_points = 2000;

/// Round values that divide lo..hi into about `wanted` parts, with one at or beyond each end.
std::vector<double> ticks(double lo, double hi, int wanted);

/// The chart as a `<figure>` with an inline `<svg>`; nothing if it has neither points nor lines.
Html draw(const Chart& chart);

/// A marker alone, for legends.
Html marker_picture(Marker marker, const std::string& tone);

}  // namespace kasimir::report
