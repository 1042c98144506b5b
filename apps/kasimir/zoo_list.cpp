// SPDX-License-Identifier: Apache-2.0
#include "kasimir/zoo_list.h"

#include "kasimir/base/error.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/kernelzoo/facts.h"
#include "kasimir/kernelzoo/fields.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/label_rules.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

using kernelzoo::Entry;
using kernelzoo::InNetwork;
using kernelzoo::Result;

/// Where a kernel is shown if nobody has measured it and no network is asked for.
constexpr const char* usual_network = "resnet20";

struct Row {
  const Entry* entry;
  Result result;
  InNetwork at;
  [[nodiscard]] std::optional<double> drop() const {
    if (!result.validation) return {};
    return *result.original_validation - *result.validation;
  }
};

/// A kernel that a network has no place for.
struct Illegal {
  const Entry* entry;
  std::string network;
  Rejection reason;
};

std::string rules_text(const std::string& label) {
  std::vector<std::string> parts = split(label, ',');
  for (std::string& part : parts)
    if (part.find('=') == std::string::npos) part += "=yes";
  return label.empty() ? "" : join(parts, ",");
}

/// In which networks, and with which results, a kernel is shown.
std::vector<Result> shown_results(const Entry& entry, const ZooList& options) {
  std::vector<Result> results;
  for (const Result& result : entry.results)
    if (options.network.empty() ||
        (result.network == options.network && (options.input.empty() || result.input == options.input)))
      results.push_back(result);
  if (!results.empty()) return results;
  Result bare;
  bare.network = options.network.empty() ? usual_network : options.network;
  if (!options.input.empty()) bare.input = options.input;
  return {bare};
}

bool keeps(const Limit& limit, std::optional<double> value) {
  return !limit.given() || (value && *value >= limit.low && *value <= limit.high);
}

Budget limits_of(const std::string& within) {
  Budget limits = Budget::parse(within.empty() ? "macs=0..1e9,params=0..1e9" : within);
  if (within.find("macs") == std::string::npos) limits.macs = {};
  if (within.find("params") == std::string::npos) limits.params = {};
  if (!limits.macs.relative || !limits.params.relative || limits.bytes.given() || limits.accelerator.given())
    throw input_error("`{}` is not over the original's; write macs=..0.5,params=..0.5,latency=..0.8", within);
  return limits;
}

bool has_primitives(const Entry& entry, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& name) {
    return std::ranges::any_of(entry.kernel.steps, [&](const Step& step) { return step.primitive->name == name; });
  });
}

/// Smaller is earlier; what is not known is last.
double sort_value(const Row& row, const std::string& by) {
  constexpr double last = 1e300;
  if (by == "macs") return row.at.macs_ratio();
  if (by == "params") return row.at.params_ratio();
  if (by == "accuracy") return row.drop().value_or(last);
  if (by == "latency") return row.result.latency_ratio.value_or(last);
  return 0;
}

nlohmann::json value_json(const std::string& value) { return value; }
nlohmann::json value_json(const std::vector<std::string>& value) { return value; }
template <typename T>
nlohmann::json value_json(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::ordered_json labels_json(const Labels& labels) {
  using enum LabelName;
  nlohmann::ordered_json json;
  for (const LabelName label : {mixing, neighbourhood, global, linear, data_weights, equivariant, any_resolution})
    json[std::string(name_of(label))] = value_of(label, labels) != 0;
  for (const LabelName label : {levels, reach})
    json[std::string(name_of(label))] = static_cast<std::int64_t>(value_of(label, labels));
  return json;
}

void print_json(const Row& row) {
  nlohmann::ordered_json json{
      {"kernel", row.entry->kernel.name},       {"file", row.entry->file.string()}, {"brief", row.entry->brief},
      {"fingerprint", *row.entry->fingerprint}, {"text", str(row.at.kernel)},       {"macs_ratio", row.at.macs_ratio()},
      {"params_ratio", row.at.params_ratio()}};
  for (const kernelzoo::Field& field : kernelzoo::fields)
    json[std::string(field.key)] =
        std::visit([&](auto member) { return value_json(row.result.*member); }, field.member);
  json["macs"] = row.at.macs;
  json["params"] = row.at.params;
  if (const auto labels = exact_labels(row.entry->kernel); labels.ok()) json["labels"] = labels_json(*labels);
  fmt::print("{}\n", json.dump());
}

std::string percent(std::optional<double> value) { return value ? fmt::format("{:.1f}", 100 * *value) : ""; }

void print_table(const std::vector<Row>& rows) {
  Table table({{"kernel", "", Table::Align::left},
               {"network", "", Table::Align::left},
               {"MACs", "%"},
               {"params", "%"},
               {"validation", "%"},
               {"original", "%"},
               {"latency", "%"},
               {"by", "", Table::Align::left},
               {"cycles", "%"},
               {"on", "", Table::Align::left},
               {"data", "", Table::Align::left}});
  for (const Row& row : rows) {
    const Result& found = row.result;
    std::optional<double> cycles;
    if (found.cycles) cycles = *found.cycles / *found.original_cycles;
    table.row({row.entry->kernel.name, found.network, percent(row.at.macs_ratio()), percent(row.at.params_ratio()),
               percent(found.validation), percent(found.original_validation), percent(found.latency_ratio),
               found.engine.value_or(""), percent(cycles), found.architecture.value_or(""), found.data.value_or("")});
  }
  fmt::print("{}", table.str());
}

}  // namespace

void list_zoo(const std::vector<Entry>& entries, const ZooList& options) {
  const auto rules = parse_label_rules(rules_text(options.label));
  const Budget limits = limits_of(options.within);
  for (const std::string& name : options.primitives)
    if (find_primitive(catalog(), name) == nullptr)
      throw input_error("unknown primitive `{}`, {}", name, suggestion(name, primitive_names(catalog())));
  std::vector<Row> rows;
  std::vector<Illegal> illegal;
  for (const Entry& entry : entries) {
    if (!has_primitives(entry, options.primitives)) continue;
    for (const Result& result : shown_results(entry, options)) {
      if (options.measured && !result.validation && !result.latency_ratio) continue;
      auto at = kernelzoo::in_network(entry.kernel, result);
      if (!at.ok()) {
        illegal.push_back({&entry, result.network, at.rejection()});
        continue;
      }
      Row row{&entry, result, *std::move(at)};
      if (!keeps(limits.macs, row.at.macs_ratio()) || !keeps(limits.params, row.at.params_ratio()) ||
          !keeps(limits.latency, result.latency_ratio))
        continue;
      if (!rules.empty()) {
        const auto labels = exact_labels(entry.kernel, costs_of(rules));
        if (!labels.ok() || broken_rule(rules, row.at.kernel, *labels, row.at.sites)) continue;
      }
      rows.push_back(std::move(row));
    }
  }
  std::ranges::stable_sort(rows, {}, [&](const Row& row) { return sort_value(row, options.sort); });
  if (options.json) {
    std::ranges::for_each(rows, print_json);
    return;
  }
  print_table(rows);
  if (!illegal.empty()) fmt::print("\n");
  for (const Illegal& kernel : illegal)
    fmt::print("{} does not fit {}: {}\n", kernel.entry->kernel.name, kernel.network, kernel.reason.str());
}

void show_entry(const Entry& entry) {
  fmt::print("{}\n{}\n\nfingerprint {}\n", entry.file.string(), trim(entry.text), *entry.fingerprint);
  const auto labels = exact_labels(entry.kernel);
  if (!labels.ok()) return;
  const auto words = labels_json(*labels);
  for (const auto& [name, value] : words.items()) fmt::print("{} {}\n", name, value.dump());
}

}  // namespace kasimir
