// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/data_options.h"

#include "kasimir/base/error.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/data/describe.h"

#include <memory>

namespace kasimir {
namespace {

struct DataCommand {
  std::string where;
  DataOptions options;
  bool json = false;
};

using Json = nlohmann::ordered_json;

Json facts_json(const Dataset& data, const DatasetFacts& facts) {
  Json json{{"name", data.name},
            {"description", data.description},
            {"fingerprint", data.fingerprint},
            {"images", {{"train", data.train.size()}, {"test", data.test.size()}}},
            {"channels", data.train.channels},
            {"height", data.train.height},
            {"width", data.train.width},
            {"streamed", data.train.stream != nullptr || data.test.stream != nullptr},
            {"mean", facts.channels.mean},
            {"deviation", facts.channels.deviation},
            {"targets", target_name(data.target)}};
  if (data.target == TargetKind::values) {
    for (const TargetRange& value : facts.values)
      json["values"].push_back({{"name", value.name},
                                {"mean", value.mean},
                                {"deviation", value.deviation},
                                {"low", value.low},
                                {"high", value.high}});
  } else {
    for (const ClassCount& one : facts.classes)
      json["classes"].push_back({{"name", one.name}, {"train", one.train}, {"test", one.test}});
    json["empty_classes"] = facts.empty_classes;
    json["imbalance"] = facts.imbalance;
  }
  json["corrupt"] = {{"count", data.corrupt.count}, {"first", Json::array()}};
  for (const CorruptFiles::File& file : data.corrupt.first)
    json["corrupt"]["first"].push_back({{"name", file.name}, {"reason", file.reason}});
  return json;
}

void print_targets(const Dataset& data, const DatasetFacts& facts) {
  if (data.target == TargetKind::values) {
    Table table({{"value", "", Table::Align::left}, {"mean", ""}, {"deviation", ""}, {"least", ""}, {"greatest", ""}});
    for (const TargetRange& value : facts.values)
      table.row({value.name, fmt::format("{:.4g}", value.mean), fmt::format("{:.4g}", value.deviation),
                 fmt::format("{:.4g}", value.low), fmt::format("{:.4g}", value.high)});
    fmt::print("\n{}", table.str());
    return;
  }
  Table table({{"class", "", Table::Align::left}, {"train", ""}, {"test", ""}});
  for (const ClassCount& one : facts.classes) table.row({one.name, grouped(one.train), grouped(one.test)});
  fmt::print("\n{}", table.str());
  fmt::print("the most frequent class has {:.2f} times the {} of the rarest\n", facts.imbalance,
             data.target == TargetKind::masks ? "pixels" : "images");
  if (const auto words = imbalance_text(data)) fmt::print("{}\n", *words);
}

void print_text(const Dataset& data, const DatasetFacts& facts) {
  fmt::print("{}: {}\n", data.name, data.description);
  fmt::print("{} training and {} test images, {} channel{}, {} x {} pixels; targets are {}; fingerprint {}\n",
             grouped(data.train.size()), grouped(data.test.size()), data.train.channels,
             data.train.channels == 1 ? "" : "s", data.train.height, data.train.width, target_name(data.target),
             data.fingerprint);
  for (std::size_t c = 0; c < facts.channels.mean.size(); ++c)
    fmt::print("channel {}: mean {:.4f}, standard deviation {:.4f} (pixels from 0 to 1)\n", c, facts.channels.mean[c],
               facts.channels.deviation[c]);
  print_targets(data, facts);
  if (data.corrupt.count == 0) return;
  fmt::print("\ncorrupt: {}\n", grouped(data.corrupt.count));
  for (const CorruptFiles::File& file : data.corrupt.first) fmt::print("  {}\n", file.reason);
  if (data.corrupt.count > std::ssize(data.corrupt.first))
    fmt::print("  and {} more\n", grouped(data.corrupt.count - std::ssize(data.corrupt.first)));
}

int run(const DataCommand& command) {
  LoadOptions options = command.options.load_options();
  options.skip_corrupt = true;  // they are what is asked for
  const Dataset data = load_dataset(command.where, options);
  const DatasetFacts facts = describe(data);
  if (command.json) {
    fmt::print("{}\n", facts_json(data, facts).dump(2));
  } else {
    print_text(data, facts);
  }
  return 0;
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("data", "describes a data set: images, classes, balance, what is corrupt");
  auto options = std::make_shared<DataCommand>();
  command->add_option("data", options->where, "as for --data of `kasimir search`")->required();
  add_data_options(*command, options->options);
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
