// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/chart.h"

#include "kasimir/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "page.h"

namespace kasimir::report {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

Chart chart_of(std::vector<Point> points) {
  const auto plain = [](double value) { return fmt::format("{:g}", value); };
  return {"a title", "A note.", {"across", plain}, {"up", plain}, {}, std::move(points), true};
}

TEST(Ticks, AreRoundAndHoldTheRange) {
  EXPECT_THAT(ticks(0, 1, 5), Pointwise(DoubleNear(1e-12), {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}));
  EXPECT_THAT(ticks(61.3, 91.7, 5), ElementsAre(60, 70, 80, 90, 100));
  EXPECT_THAT(ticks(0, 12.5e6, 5), ElementsAre(0, 2.5e6, 5e6, 7.5e6, 10e6, 12.5e6));
}

TEST(Ticks, GiveRoomToARangeWithoutExtent) {
  EXPECT_THAT(ticks(50, 50, 5), ElementsAre(44, 46, 48, 50, 52, 54, 56));
  const auto at_zero = ticks(0, 0, 5);
  EXPECT_LT(at_zero.front(), 0);
  EXPECT_GT(at_zero.back(), 0);
}

TEST(Chart, PlacesPointsAndTheirBars) {
  Chart chart = chart_of({{0, 0, 0, Marker::ring}, {10, 10, 2, Marker::box, "loud", "the <second>", "#there"}});
  chart.x.from_zero = chart.y.from_zero = true;
  const std::string svg = draw(chart).str();
  EXPECT_THAT(svg, HasSubstr("<circle class=\"mark ring \" cx=\"52.0\" cy=\"268.0\" r=\"4.2\"/>"))
      << "the lower left corner";
  EXPECT_THAT(svg, HasSubstr("<a href=\"#there\"><g class=\"point\" data-detail=\"the &lt;second&gt;\"><title>the "
                             "&lt;second&gt;</title><line class=\"bar loud\""));
}

TEST(Chart, DrawsOutliersOnTheLowerEdgeAndSaysSo) {
  std::vector<Point> points;
  for (int i = 0; i < 12; ++i) points.push_back({1.0 * i, 80.0 + i, 0, Marker::ring});
  points.push_back({5, 10, 0, Marker::diamond});
  EXPECT_THAT(draw(chart_of(points)).str(), HasSubstr("A note. 1 below 75 is drawn on the lower edge."));
  points.pop_back();
  EXPECT_THAT(draw(chart_of(points)).str(), Not(HasSubstr("lower edge")));
}

TEST(Chart, LeavesOutWhatLiesOnOtherMarkersWhereThereAreManyAndSaysSo) {
  std::vector<Point> points;
  for (std::size_t i = 0; i + 2 < most_points; ++i) points.push_back({50, 80, 0, Marker::ring});
  points.push_back({0, 70, 0, Marker::ring});
  points.push_back({100, 90, 0, Marker::ring});
  EXPECT_EQ(count_of(draw(chart_of(points)).str(), "<circle"), most_points) << "as many as may be: all are drawn";
  points.push_back({50, 80, 0, Marker::box});
  const std::string svg = draw(chart_of(points)).str();
  EXPECT_EQ(count_of(svg, "<circle"), 3U);
  EXPECT_EQ(count_of(svg, "<path"), 1U) << "a marker of another look stays";
  EXPECT_THAT(svg, HasSubstr("A note. 1,997 markers that lie on others are left out."));
}

TEST(Chart, IsNothingWithoutValues) { EXPECT_EQ(draw(chart_of({})).str(), ""); }

TEST(Chart, DrawsALonelyPoint) {
  EXPECT_THAT(draw(chart_of({{3, 50, 0, Marker::star, "original"}})).str(), Not(HasSubstr("nan")));
}

TEST(Markers, HaveDifferentOutlines) {
  std::vector<std::string> pictures;
  for (const Marker marker :
       {Marker::ring, Marker::triangle, Marker::diamond, Marker::box, Marker::cross, Marker::star})
    pictures.push_back(marker_picture(marker, "tone").str());
  for (std::size_t i = 0; i < pictures.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(pictures[i], pictures[k]);
}

}  // namespace
}  // namespace kasimir::report
