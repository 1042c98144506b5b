// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/train/machine.h"

#include <cstdio>
#include <new>

namespace {

using namespace kasimir;

void say(const Error& error) {
  std::fflush(stdout);
  fmt::print(stderr, "error: {}\n", error.what());
}

/// CLI11 would only say that the word was not expected.
void check_command_name(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const CommandRecord& command : commands()) {
    if (command.name == argv[1]) return;
    if (command.name != "worker") known.emplace_back(command.name);
  }
  throw input_error("unknown command `{}`, {}", argv[1], suggestion(argv[1], known))
      .note("`kasimir --help` explains the commands");
}

int run(int argc, char** argv) {
  check_command_name(argc, argv);
  CLI::App app{
      "Kasimir finds new kernels that make a convolutional network faster.\n\n"
      "A first search, on 70,000 real images that Debian ships (dataset-fashion-mnist):\n"
      "  kasimir search --network resnet8 --data fashion-mnist --time 10m --study first.db\n"
      "  kasimir study show first.db\n"
      "  kasimir report first.db\n",
      "kasimir"};
  app.set_version_flag("--version", "kasimir " KASIMIR_VERSION);
  app.require_subcommand(1);
  Action action;
  for (const CommandRecord& command : commands()) command.add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);
    throw input_error("{}", problem.what()).note("add --help to see what the command understands");
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    tune_allocator();
    return run(argc, argv);
  } catch (const Error& error) {
    say(error);
    return static_cast<int>(error.fault());
  } catch (const std::bad_alloc&) {
    say(system_error("out of memory").note("use a smaller network, batch or data set, or fewer workers"));
    return static_cast<int>(Fault::system);
  } catch (const std::exception& error) {
    say(Error(Fault::bug, fmt::format("internal error: {}", error.what()))
            .note("this is a fault in kasimir, not in your input; please report it with the command"));
    return static_cast<int>(Fault::bug);
  }
}
