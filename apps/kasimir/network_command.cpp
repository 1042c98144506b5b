// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/options.h"
#include "kasimir/search_spec.h"

#include "kasimir/base/error.h"
#include "kasimir/network/coverage.h"
#include "kasimir/onnx/import.h"

#include <memory>

namespace kasimir {
namespace {

struct NetworkCommand {
  CommonOptions common;
  bool layers = false;
};

int run(const NetworkCommand& options) {
  const CommonOptions& common = options.common;
  const Network network = network_for(common.network, common.width, parse_input(common.input), 0);
  const std::string table = network.str();
  fmt::print("{}\n", options.layers ? table : table.substr(0, table.find('\n') + 1));
  if (is_onnx_file(common.network)) {
    const ImportedNetwork read = import_onnx(common.network, parse_input(common.input));
    fmt::print("{} operators of set {} in the file are {} layers\n", read.nodes, read.opset,
               network.layers().size() - 1);
    for (const std::string& note : read.notes) fmt::print("{}\n", note);
  }
  fmt::print("{}", coverage(network, {common.replace, common.keep}).str());
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
