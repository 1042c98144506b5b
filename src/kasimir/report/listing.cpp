// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/listing.h"

#include "kasimir/base/text.h"
#include "kasimir/report/view.h"

#include <algorithm>
#include <cmath>

namespace kasimir::report {
namespace {

using study::TrialState;
using study::TrialSummary;
using Record = nlohmann::ordered_json;

template <typename T>
Record or_null(const std::optional<T>& value) {
  return value ? Record(*value) : Record();
}

std::optional<double> middle(const std::optional<study::Measured>& measured) {
  return measured ? std::optional(measured->value) : std::nullopt;
}

std::optional<std::int64_t> known(std::int64_t count) { return count > 0 ? std::optional(count) : std::nullopt; }

/// Columns that only some studies have.
struct Extra {
  std::vector<std::string> scores;
  bool accelerator = false;

  explicit Extra(const std::vector<TrialSummary>& rows)
      : scores(study::score_names(rows)), accelerator(study::has_accelerator(rows)) {}
};

Record record_of(const TrialSummary& s, const Extra& extra) {
  Record r;
  r["number"] = s.number;
  r["state"] = study::name_of(s.state);
  r["rung"] = s.rung ? Record(study::name_of(*s.rung)) : Record();
  r["kernel"] = s.kernel;
  r["accuracy"] = or_null(middle(s.accuracy));
  r["accuracy_spread"] = s.accuracy && s.accuracy->count > 1 ? Record(s.accuracy->spread) : Record();
  r["test_accuracy"] = or_null(middle(s.test_accuracy));
  r["latency_ms"] = or_null(middle(s.latency_ms));
  r["latency_ratio"] = or_null(middle(s.latency_ratio));
  r["macs"] = or_null(known(s.network.macs));
  r["params"] = or_null(known(s.network.params));
  if (extra.accelerator) {
    const auto& cost = s.network.accelerator;
    r["accelerator_cycles"] = cost ? Record(cost->cycles) : Record();
    r["accelerator_energy_uj"] = cost ? Record(cost->energy_uj) : Record();
  }
  for (const std::string& name : extra.scores) {
    const study::ScoreRow* score = study::score_of(s, name);
    r["score_" + name] = score != nullptr ? or_null(score->value) : Record();
    r["score_" + name + "_s"] = score != nullptr ? Record(score->seconds) : Record();
  }
  r["reason"] = s.reason;
  return r;
}

std::string csv_cell(const Record& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  auto text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

/// At most `most` characters of UTF-8.
std::string shortened(const std::string& text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80;
    if (begins && ++characters > most) return std::string(trim(text.substr(0, i))) + "...";
  }
  return text;
}

std::string cell(const char* format_of_value, const std::optional<double>& value) {
  return value ? fmt::format(fmt::runtime(format_of_value), *value) : "";
}

std::vector<std::string> cells_of(const TrialSummary& s, const TrialSummary& original, const Extra& extra) {
  const bool repeated = s.accuracy && s.accuracy->count > 1;
  std::vector<std::string> cells = {std::to_string(s.number),
                                    kernel_name(s.kernel),
                                    std::string(study::name_of(s.state)),
                                    s.rung ? std::string(study::name_of(*s.rung)) : "",
                                    s.accuracy ? fmt::format("{:.1f}", 100 * s.accuracy->value) : "",
                                    repeated ? fmt::format("{:.1f}", 100 * s.accuracy->spread) : "",
                                    cell("{:#.3g}", middle(s.latency_ms)),
                                    cell("{:.2f}", middle(s.latency_ratio)),
                                    count_text(s.network.macs),
                                    cell("{:.2f}", ratio(s.network.macs, original.network.macs)),
                                    count_text(s.network.params),
                                    cell("{:.2f}", ratio(s.network.params, original.network.params))};
  if (extra.accelerator) {
    const auto& cost = s.network.accelerator;
    const auto& of = original.network.accelerator;
    cells.push_back(cost ? grouped(std::llround(cost->cycles)) : "");
    cells.push_back(cost && of ? fmt::format("{:.2f}", cost->cycles / of->cycles) : "");
    cells.push_back(cost ? fmt::format("{:#.3g}", cost->energy_uj) : "");
    cells.push_back(cost && of ? fmt::format("{:.2f}", cost->energy_uj / of->energy_uj) : "");
  }
  for (const std::string& name : extra.scores) {
    const study::ScoreRow* score = study::score_of(s, name);
    cells.push_back(score == nullptr ? "" : score->value ? fmt::format("{:.4g}", *score->value) : "none");
  }
  cells.push_back(shortened(s.reason, 60));
  return cells;
}

}  // namespace

Table study_table(const study::Store& store) {
  using enum Table::Align;
  const std::vector<TrialSummary> rows = study::summaries(store);
  const Extra extra(rows);
  std::vector<Table::Column> columns({{"trial", "", right},
                                      {"kernel", "", left},
                                      {"state", "", left},
                                      {"rung", "", left},
                                      {"accuracy", "%", right},
                                      {"spread", "%", right},
                                      {"latency", "ms", right},
                                      {"ratio", "", right},
                                      {"MACs", "", right},
                                      {"ratio", "", right},
                                      {"params", "", right},
                                      {"ratio", "", right}});
  if (extra.accelerator)
    for (const auto& [name, unit] : {std::pair{"cycles", ""}, {"ratio", ""}, {"energy", "uJ"}, {"ratio", ""}})
      columns.push_back({name, unit, right});
  for (const std::string& name : extra.scores) columns.push_back({name, "", right});
  columns.push_back({"reason", "", left});
  Table table(columns);
  for (const std::size_t i : table_order(rows)) {
    const bool shown = rows[i].number == 0 || rows[i].state != TrialState::rejected;
    if (shown) table.row(cells_of(rows[i], rows.front(), extra));
  }
  return table;
}

Table rejection_table(const study::Store& store) {
  using enum Table::Align;
  Table table({{"trials", "", right}, {"state", "", left}, {"rule", "", left}, {"nearest miss", "", left}});
  for (const TrialState state : {TrialState::rejected, TrialState::failed}) {
    const auto nearest = store.nearest_misses(state);
    const auto counted = store.reasons(state);
    std::vector<std::pair<std::string, int>> rules(counted.begin(), counted.end());
    std::ranges::stable_sort(rules, std::greater(), &std::pair<std::string, int>::second);
    for (const auto& [rule, count] : rules)
      table.row({std::to_string(count), std::string(study::name_of(state)), rule, shortened(nearest.at(rule), 60)});
  }
  return table;
}

std::string study_json(const study::Store& store) {
  std::string lines;
  const auto rows = study::summaries(store);
  const Extra extra(rows);
  for (const TrialSummary& s : rows)
    lines += record_of(s, extra).dump(-1, ' ', false, Record::error_handler_t::replace) + "\n";
  return lines;
}

std::string study_csv(const study::Store& store) {
  std::vector<std::string> header;
  const auto rows = study::summaries(store);
  const Extra extra(rows);
  const Record keys = record_of(TrialSummary(), extra);
  for (const auto& item : keys.items()) header.push_back(item.key());
  std::string lines = join(header, ",") + "\n";
  for (const TrialSummary& s : rows) {
    std::vector<std::string> cells;
    const Record record = record_of(s, extra);
    for (const auto& item : record.items()) cells.push_back(csv_cell(item.value()));
    lines += join(cells, ",") + "\n";
  }
  return lines;
}

}  // namespace kasimir::report
