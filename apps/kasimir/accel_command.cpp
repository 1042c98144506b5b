// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accel.h"
#include "kasimir/command.h"

namespace kasimir {

void add_accel(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("accel", "accelerators: what layers cost on them, and how they are best computed");
  command->require_subcommand(1);
  add_accel_eval(*command, action);
  add_accel_map(*command, action);
  add_accel_search(*command, action);
  add_accel_pipeline(*command, action);
  add_accel_check(*command, action);
  add_accel_compare(*command, action);
  add_accel_presets(*command, action);
}

}  // namespace kasimir
