// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/report/parts.h"

#include <algorithm>

namespace kasimir::report {
namespace {

using study::Measured;
using study::TrialState;
using study::TrialSummary;

Cell number(const std::string& text, const std::optional<double>& value) { return {text, value}; }

std::optional<double> middle(const std::optional<Measured>& measured) {
  return measured ? std::optional(measured->value) : std::nullopt;
}

/// The kernel's name; a link to its card, or its text to be opened in place.
Html kernel_cell(const View& view, std::size_t row) {
  const TrialSummary& s = view.rows[row];
  if (s.kernel.empty()) return s.number == 0 ? "original" : "";
  if (view.shows_kernel(row))
    return element("a", {{"href", fmt::format("#kernel-{}", s.number)}}, kernel_name(s.kernel));
  return element("details", element("summary", kernel_name(s.kernel)) + element("pre", s.kernel));
}

/// `text (0.50×)`, sorted by the ratio where there is one.
Cell beside_original(const std::string& text, const std::optional<double>& ratio, double value) {
  return number(ratio ? fmt::format("{} ({})", text, ratio_text(ratio)) : text, ratio ? *ratio : value);
}

/// Columns that both tables have.
void add_costs(const View& view, std::size_t row, std::vector<Cell>& cells) {
  const TrialSummary& s = view.rows[row];
  const study::Counts& original = view.rows.front().network;
  const auto count = [&](std::int64_t own, std::int64_t of_original) {
    return own > 0 ? beside_original(count_text(own), ratio(own, of_original), static_cast<double>(own))
                   : number("", {});
  };
  cells.push_back(s.latency_ms
                      ? beside_original(latency_text(s.latency_ms), middle(s.latency_ratio), s.latency_ms->value)
                      : number("", {}));
  cells.push_back(count(s.network.macs, original.macs));
  cells.push_back(count(s.network.params, original.params));
  if (!study::has_accelerator(view.rows)) return;
  const auto add = [&](double study::AcceleratorCost::* part, const char* format_of_value) {
    const auto& own = s.network.accelerator;
    if (!own || !original.accelerator) return cells.push_back(number("", {}));
    cells.push_back(beside_original(fmt::format(fmt::runtime(format_of_value), *own.*part),
                                    *own.*part / (*original.accelerator.*part), *own.*part));
  };
  add(&study::AcceleratorCost::cycles, "{:.0f}");
  add(&study::AcceleratorCost::energy_uj, "{:.3g} µJ");
}

/// Names of what add_costs adds.
std::vector<std::string> cost_header(const View& view) {
  std::vector<std::string> header{"latency", "MACs", "parameters"};
  if (study::has_accelerator(view.rows)) header.insert(header.end(), {"accelerator cycles", "accelerator energy"});
  return header;
}

Row trial_row(const View& view, std::size_t row, const std::vector<std::string>& scores) {
  const TrialSummary& s = view.rows[row];
  Row r{{number(std::to_string(s.number), s.number), kernel_cell(view, row), std::string(study::name_of(s.state)),
         s.rung ? std::string(study::name_of(*s.rung)) : ""},
        fmt::format("trial-{}", s.number)};
  r.cells.push_back(number(accuracy_text(s.accuracy), middle(s.accuracy)));
  add_costs(view, row, r.cells);
  for (const std::string& name : scores) {
    const study::ScoreRow* score = study::score_of(s, name);
    const auto value = score != nullptr ? score->value : std::nullopt;
    r.cells.push_back(number(value ? fmt::format("{:.4g}", *value) : score != nullptr ? "none" : "", value));
  }
  r.cells.push_back(number(s.seconds > 0 ? duration_text(s.seconds) : "", s.seconds));
  r.cells.emplace_back(s.reason);
  return r;
}

Row finalist_row(const View& view, std::size_t row) {
  const TrialSummary& s = view.rows[row];
  const TrialSummary* original = view.original();
  const auto gap =
      original != nullptr && s.accuracy ? std::optional(s.accuracy->value - original->accuracy->value) : std::nullopt;
  Row r{{number(std::to_string(s.number), s.number), kernel_cell(view, row),
         number(accuracy_text(s.accuracy), middle(s.accuracy)),
         number(gap && s.number != 0 ? fmt::format("{:+.1f}", 100 * *gap) : "", gap),
         number(accuracy_text(s.test_accuracy), middle(s.test_accuracy))},
        ""};
  add_costs(view, row, r.cells);
  r.cells.push_back(number(s.accuracy ? std::to_string(s.accuracy->count) : "", s.accuracy ? s.accuracy->count : 0));
  return r;
}

Html rule_table(const std::map<std::string, int>& counted, const std::map<std::string, std::string>& nearest) {
  std::vector<std::pair<std::string, int>> rules(counted.begin(), counted.end());
  std::ranges::stable_sort(rules, std::greater(), &std::pair<std::string, int>::second);
  std::vector<Row> rows;
  for (const auto& [rule, count] : rules)
    rows.push_back({{number(grouped(count), count), rule, nearest.contains(rule) ? nearest.at(rule) : ""}, ""});
  return table({"trials", "rule", "nearest miss"}, rows, TableStyle::plain);
}

}  // namespace

Html table(const std::vector<std::string>& header, const std::vector<Row>& rows, TableStyle style) {
  Html head;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool numeric = std::ranges::any_of(rows, [i](const Row& row) { return row.cells[i].numeric; });
    head += element("th", {{"scope", "col"}, {"class", numeric ? "number" : "text"}}, header[i]);
  }
  Html body;
  for (const Row& row : rows) {
    Html cells;
    for (const Cell& cell : row.cells) {
      Attributes attributes;
      if (cell.numeric) attributes.emplace_back("class", "number");
      if (cell.value) attributes.emplace_back("data-value", fmt::format("{}", *cell.value));
      cells += element("td", attributes, cell.content);
    }
    body += element("tr", row.id.empty() ? Attributes{} : Attributes{{"id", row.id}}, cells);
  }
  const Html whole = element("thead", element("tr", head)) + element("tbody", body);
  const char* name = style == TableStyle::plain     ? "plain"
                     : style == TableStyle::compact ? "compact"
                                                    : "sortable compact";
  return element("div", {{"class", style == TableStyle::sortable ? "scroll tall" : "scroll"}},
                 element("table", {{"class", name}}, whole));
}

Html finalist_table(const View& view) {
  if (view.finalists.empty()) return element("p", "No candidate has been trained in full yet.");
  std::vector<Row> rows;
  if (!view.rows.empty() && view.rows.front().number == 0) rows.push_back(finalist_row(view, 0));
  for (const std::size_t i : view.finalists) rows.push_back(finalist_row(view, i));
  std::vector<std::string> header{"trial", "kernel", "validation", "points to original", "test"};
  std::ranges::copy(cost_header(view), std::back_inserter(header));
  header.emplace_back("seeds");
  return table(header, rows, TableStyle::sortable) +
         element("p", {{"class", "note"}},
                 "Validation and test: share of images classified rightly, mean and standard deviation over the seeds; "
                 "the test split is read once, at the end. "
                 "Latency: median and interquartile range of the whole network. MACs and parameters: whole network, "
                 "one image. In brackets: the share of the original's; for latency the median over pairs of runs side "
                 "by side.");
}

Html trial_table(const View& view) {
  if (view.rows.empty()) return element("p", "No trial has begun yet.");
  std::vector<Row> rows;
  const std::vector<std::string> scores = study::score_names(view.rows);
  for (const std::size_t i : view.order) rows.push_back(trial_row(view, i, scores));
  std::vector<std::string> header{"trial", "kernel", "state", "rung", "accuracy"};
  std::ranges::copy(cost_header(view), std::back_inserter(header));
  for (const std::string& name : scores) header.push_back("score " + name);
  header.insert(header.end(), {"time", "reason"});
  const Html all = table(header, rows, TableStyle::sortable);
  if (view.order.size() == view.rows.size()) return all;
  const std::string left_out = fmt::format("The best {} of {} trials; kasimir study show {} --csv lists all.",
                                           grouped(static_cast<std::int64_t>(view.order.size())),
                                           grouped(static_cast<std::int64_t>(view.rows.size())), view.path);
  return element("p", {{"class", "note"}}, left_out) + all;
}

Html rejections(const View& view) {
  if (view.rejected.empty() && view.failed.empty()) return element("p", "Nothing was rejected and nothing failed.");
  Html html;
  if (!view.rejected.empty())
    html += element("h3", "Rejected before training") + rule_table(view.rejected, view.nearest_rejected);
  if (!view.failed.empty()) html += element("h3", "Failed") + rule_table(view.failed, view.nearest_failed);
  return html;
}

}  // namespace kasimir::report
