// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <span>
#include <string_view>

namespace kasimir {

/// What the chosen subcommand does once all options are read; the value is the exit code.
using Action = std::function<int()>;

/// One subcommand: adds itself to the program's options and, when it is chosen, sets the action.
struct CommandRecord {
  std::string_view name;
  void (*add)(CLI::App& app, Action& action);
};

std::span<const CommandRecord> commands();

/// What every option that takes a study says of it.
inline constexpr const char* study_help = "the study: an SQLite file, or postgresql://USER@HOST/DATABASE#STUDY";

}  // namespace kasimir
