// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/cosearch_page.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/report/bars.h"
#include "kasimir/report/chart.h"
#include "kasimir/report/frame.h"
#include "kasimir/report/parts.h"

#include <algorithm>
#include <cmath>

namespace kasimir::report {
namespace {

Cell number(const std::string& text, double value) { return {text, value}; }

/// "12,345", or "1.234" for small ones.
std::string amount(double value) { return value >= 1000 ? grouped(std::llround(value)) : fmt::format("{:.4g}", value); }

std::string cost_text(const CosearchPage& page, double cost) { return amount(cost) + " " + page.unit; }

/// "1,836 frames/s" where that is known.
std::string speed_text(const CosearchPage& page, double cost) {
  return page.clock_hz ? amount(*page.clock_hz / cost) + " frames/s" : std::string();
}

Html headline(const CosearchPage& page) {
  const CosearchFinalist& best = page.finalists.front();
  Html tiles;
  tiles += tile(percent(best.test), "test accuracy of the best network by validation");
  tiles += tile(percent(best.cost / page.reference_cost), "of the reference's cost");
  if (page.clock_hz) tiles += tile(amount(*page.clock_hz / best.cost), "frames per second");
  tiles += tile(fmt::format("10^{:.1f}", page.log10_networks), "networks in the space");
  tiles += tile(percent(page.accelerator_share), "of the search's time for accelerators");
  return element("h1", page.title) +
         element("p", {{"class", "lead"}},
                 fmt::format("Goal: {}. Reference, first operators at the widest bits: {}.", cost_text(page, page.goal),
                             cost_text(page, page.reference_cost))) +
         element("div", {{"class", "tiles"}}, tiles) +
         element("p", {{"class", "note"}}, fmt::format("{}: {}", page.program, page.command));
}

Html finalist_section(const CosearchPage& page) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < page.finalists.size(); ++i) {
    const CosearchFinalist& one = page.finalists[i];
    double bits = 0;
    for (const CosearchBlock& block : one.blocks) bits += block.bits / static_cast<double>(one.blocks.size());
    rows.push_back({{element("a", {{"href", fmt::format("#network-{}", i)}}, one.name),
                     number(cost_text(page, one.cost), one.cost), number(speed_text(page, one.cost), one.cost),
                     number(percent(one.cost / page.goal), one.cost / page.goal),
                     number(percent(one.shared), one.shared), number(percent(one.validation), one.validation),
                     number(percent(one.test), one.test), number(fmt::format("{:.1f}", bits), bits)},
                    ""});
  }
  return table({"network", "cost", "speed", "of the goal", "validation, shared weights", "validation", "test",
                "bits, mean"},
               rows, TableStyle::sortable) +
         element("p", {{"class", "note"}},
                 "Shared weights are those of the network of all operators; the other scores are of each network after "
                 "its own quantisation-aware training. The test split is read once, at the end.");
}

Html front_chart(const CosearchPage& page) {
  Chart chart;
  chart.title = "Networks that were validated with shared weights, and the finalists after their own training";
  chart.x = {"cost, " + page.unit, [](double x) { return si(std::exp2(x)); }, false};
  chart.y = {"validation accuracy, %", [](double y) { return fmt::format("{:g}", 100 * y); }, false};
  double low = 1;
  double high = 0;
  for (const CosearchPoint& of : page.points) {
    Point point{.x = std::log2(of.cost), .y = of.score};
    point.tone = "original";
    point.detail = fmt::format("{}: {}, {}", of.design, cost_text(page, of.cost), percent(of.score));
    chart.points.push_back(std::move(point));
    low = std::min(low, of.score);
    high = std::max(high, of.score);
  }
  for (std::size_t i = 0; i < page.finalists.size(); ++i) {
    const CosearchFinalist& one = page.finalists[i];
    Point point{.x = std::log2(one.cost), .y = one.validation, .marker = Marker::star, .tone = "rung-full"};
    point.large = true;
    point.link = fmt::format("#network-{}", i);
    point.detail = fmt::format("{}: {}, {}", one.name, cost_text(page, one.cost), percent(one.validation));
    chart.points.push_back(std::move(point));
    low = std::min(low, one.validation);
    high = std::max(high, one.validation);
  }
  chart.lines.push_back({{{std::log2(page.goal), low}, {std::log2(page.goal), high}}, "original"});
  chart.note = "The cost axis is logarithmic; the upright line is the goal. Rings: shared weights. Stars: finalists.";
  return draw(chart);
}

/// The network without the parts of the accelerator that it does not use.
CosearchFinalist with_used_parts(CosearchFinalist one) {
  for (std::size_t p = one.parts.size(); p-- > 0;) {
    const auto at = static_cast<std::ptrdiff_t>(p);
    double total = one.outside_loads[p];
    for (const CosearchBlock& block : one.blocks) total += block.loads[p];
    if (total > 0) continue;
    one.parts.erase(one.parts.begin() + at);
    one.outside_loads.erase(one.outside_loads.begin() + at);
    for (CosearchBlock& block : one.blocks) block.loads.erase(block.loads.begin() + at);
  }
  return one;
}

Html network_card(const CosearchPage& page, std::size_t index) {
  const CosearchFinalist one = with_used_parts(page.finalists[index]);
  std::vector<double> totals(one.parts.size(), 0);
  std::vector<Row> rows;
  const auto bar_row = [&](const std::string& name, const std::string& op, const std::string& bits,
                           const std::vector<double>& loads) {
    double sum = 0;
    std::vector<std::pair<std::string, double>> parts;
    for (std::size_t p = 0; p < one.parts.size(); ++p) {
      parts.emplace_back(one.parts[p], loads[p]);
      totals[p] += loads[p];
      sum += loads[p];
    }
    rows.push_back({{name, op, bits, sum > 0 ? stacked(parts, sum) : Html(), number(amount(sum), sum)}, ""});
  };
  for (const CosearchBlock& block : one.blocks) bar_row(block.name, block.op, std::to_string(block.bits), block.loads);
  bar_row("outside all blocks", "", "", one.outside_loads);
  std::vector<Row> part_rows;
  const double largest = totals.empty() ? 0 : *std::ranges::max_element(totals);
  for (std::size_t p = 0; p < one.parts.size(); ++p)
    part_rows.push_back(
        {{one.parts[p], stacked({{one.parts[p], totals[p]}}, largest), number(amount(totals[p]), totals[p])}, ""});
  return element("article", {{"id", fmt::format("network-{}", index)}},
                 element("h3", one.name) +
                     element("p", {{"class", "note"}},
                             fmt::format("{}, test accuracy {}", cost_text(page, one.cost), percent(one.test))) +
                     legend(one.parts) +
                     table({"block", "operator", "bits", "where its load goes", "load"}, rows, TableStyle::compact) +
                     table({"part", "load beside the busiest part", "load"}, part_rows, TableStyle::compact) +
                     element("details", element("summary", "the accelerator") +
                                            element("pre", {{"class", "copy"}}, one.accelerator)));
}

Html headroom_section(const CosearchPage& page) {
  if (page.headroom.empty()) return element("p", {{"class", "note"}}, "It was not measured.");
  std::vector<Row> rows;
  for (const CosearchWay& way : page.headroom)
    rows.push_back({{way.way, way.error ? number(percent(*way.error), *way.error) : Cell{"misses the goal", 1e9},
                     way.error ? number(percent(way.above), way.above) : Cell{"", 1e9}},
                    ""});
  return table({"way", "error", "above the joint optimum"}, rows, TableStyle::sortable) +
         element(
             "p", {{"class", "note"}},
             "How far a joint search can beat choosing one thing after the other at all. Errors are estimated after "
             "the warm-up, from validations of the reference with one block changed at a time, as if they added up.");
}

Html asked_table(const CosearchPage& page) {
  std::vector<Row> rows;
  for (const auto& [key, value] : page.asked) rows.push_back({{key, value}, ""});
  return table({"option", "value"}, rows, TableStyle::plain);
}

}  // namespace

std::string cosearch_html(const CosearchPage& page) {
  KASIMIR_CHECK(!page.finalists.empty(), "no finalists");
  Html networks;
  for (std::size_t i = 0; i < page.finalists.size(); ++i) networks += network_card(page, i);
  return framed(page.title, headline(page),
                {{"finalists", "Finalists", "Finalists", finalist_section(page)},
                 {"front", "Front", "Accuracy against cost", front_chart(page)},
                 {"headroom", "Headroom", "Headroom of a joint search", headroom_section(page)},
                 {"networks", "Networks", "Networks and their accelerators", networks},
                 {"asked", "What was asked", "What was asked", asked_table(page)}});
}

void write_cosearch_page(const CosearchPage& page, const std::filesystem::path& path) {
  write_file(path, cosearch_html(page));
}

}  // namespace kasimir::report
