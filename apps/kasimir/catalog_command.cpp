// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"

#include "kasimir/base/table.h"
#include "kasimir/network/zoo.h"
#include "kasimir/number/catalog.h"
#include "kasimir/primitive/catalog.h"

#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

using Record = nlohmann::ordered_json;

std::string_view kind_name(ParamKind kind) {
  switch (kind) {
    case ParamKind::numbers:
      return "one or two whole numbers";
    case ParamKind::size:
      return "a size";
    case ParamKind::axes:
      return "axes";
    case ParamKind::word:
      return "a word";
    case ParamKind::shape:
      return "axes with sizes";
  }
  KASIMIR_CHECK(false, "parameter of kind {}", static_cast<int>(kind));
}

std::vector<Record> primitives() {
  std::vector<Record> records;
  for (const Primitive* primitive : catalog()) {
    Record params = Record::array();
    for (const Param& param : primitive->params) {
      Record record{{"name", param.name}, {"kind", kind_name(param.kind)}, {"brief", param.brief}};
      if (!param.fallback.empty()) record["default"] = param.fallback;
      if (!param.words.empty()) record["words"] = std::vector<std::string>(param.words.begin(), param.words.end());
      params.push_back(std::move(record));
    }
    records.push_back({{"name", primitive->name},
                       {"brief", primitive->brief},
                       {"family", family_name(primitive->family)},
                       {"operands", primitive->operands},
                       {"weights", primitive->weighted},
                       {"source", primitive->source},
                       {"params", std::move(params)}});
  }
  return records;
}

std::vector<Record> networks() {
  std::vector<Record> records;
  for (const ZooRecord& network : zoo())
    records.push_back({{"name", network.name},
                       {"brief", network.brief},
                       {"source", network.source},
                       {"input", network.defaults.input.str()},
                       {"classes", network.defaults.classes}});
  return records;
}

std::vector<Record> formats() {
  std::vector<Record> records;
  for (const NumberFormat& format : number_formats())
    records.push_back({{"name", format.name},
                       {"brief", fmt::format("{} bits, {}", format.bits,
                                             format.integer ? "whole numbers with a scale" : "floating point")},
                       {"source", format.source},
                       {"bits", format.bits}});
  return records;
}

template <typename All>
std::vector<Record> named(const All& all) {
  std::vector<Record> records;
  for (const auto* record : all)
    records.push_back({{"name", record->name}, {"brief", record->brief}, {"source", record->source}});
  return records;
}

void print(const std::vector<Record>& records, bool json) {
  if (json) {
    for (const Record& record : records) fmt::print("{}\n", record.dump());
    return;
  }
  Table table({{"name", "", Table::Align::left}, {"", "", Table::Align::left}, {"source", "", Table::Align::left}});
  for (const Record& record : records) table.row({record.at("name"), record.at("brief"), record.at("source")});
  fmt::print("{}", table.str());
}

struct List {
  const char* name;
  const char* brief;
  std::vector<Record> (*records)();
};
constexpr List lists[] = {
    {"primitives", "the steps that kernels are made of, with their parameters", primitives},
    {"networks", "networks that Kasimir builds by name", networks},
    {"formats", "how numbers can be stored", formats},
    {"quantizers", "rules from ranges of values to codes", [] { return named(quantizers()); }},
    {"ranges", "ways to find a tensor's range", [] { return named(range_estimators()); }},
};

}  // namespace

void add_catalog(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("catalog", "lists what is built in: primitives, networks, number formats");
  command->require_subcommand(1);
  for (const List& list : lists) {
    auto* listed = command->add_subcommand(list.name, list.brief);
    auto json = std::make_shared<bool>(false);
    listed->add_flag("--json", *json, "one object per entry and line");
    listed->callback([&list, json, &action] {
      action = [&list, json] {
        print(list.records(), *json);
        return 0;
      };
    });
  }
}

}  // namespace kasimir
