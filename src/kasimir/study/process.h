// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir::study {

/// "host:pid:start:boot": names this process among all that ever ran on any machine.
std::string local_worker_id();

/// True if the id names a process of this machine (same boot and process namespace) that no longer runs.
bool is_dead_local(std::string_view worker_id);

/// Starts a program that dies with the calling thread. `argv[0]` is its path. @throws Error (system).
pid_t start_process(const std::vector<std::string>& argv);

}  // namespace kasimir::study
