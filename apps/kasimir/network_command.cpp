// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/options.h"
#include "kasimir/search_spec.h"

#include "kasimir/base/error.h"
#include "kasimir/network/coverage.h"

#include <memory>

namespace kasimir {
namespace {

struct NetworkCommand {
  CommonOptions common;
  bool layers = false;
};

void print(const Network& network, const std::string& origin, const NetworkCommand& options) {
  const std::string table = network.str();
  fmt::print("{}\n", options.layers ? table : table.substr(0, table.find('\n') + 1));
  fmt::print("{}{}", origin, coverage(network, {options.common.replace, options.common.keep}).str());
}

int run(const NetworkCommand& options) {
  const CommonOptions& common = options.common;
  const Shape3 input = parse_input(common.input);
  if (!is_onnx_file(common.network)) {
    print(network_for(common.network, common.width, input, 0), {}, options);
    return 0;
  }
  const ImportedNetwork read = onnx_network(common.network, common.width, input);
  std::string origin = fmt::format("{} operators of set {} in the file are {} layers\n", read.nodes, read.opset,
                                   read.network.layers().size() - 1);
  for (const std::string& note : read.notes) origin += note + "\n";
  print(read.network, origin, options);
  return 0;
}

}  // namespace

void add_network(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("network", "shows a network: its layers, and which convolutions kernels replace");
  auto options = std::make_shared<NetworkCommand>();
  add_network_options(*command, options->common);
  command->add_option("--input", options->common.input, "image size such as 3x224x224");
  command->add_flag("--layers", options->layers, "a row for each layer");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
