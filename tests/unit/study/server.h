// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/child_process.h"

#include <filesystem>
#include <memory>
#include <string>

namespace kasimir::study::fake {

/// A PostgreSQL server of its own in a temporary folder, reached by a socket there; ends with the object. Started as
/// user `postgres` by root, which the server refuses to run as.
class Server {
 public:
  /// The one server of this process; null where Debian's package postgresql is not installed.
  static Server* shared();

  Server();
  /// The address of a study on it.
  [[nodiscard]] std::string study(const std::string& name) const;
  /// A name that was not given out before.
  std::string fresh_study();
  void stop();
  void start();

 private:
  [[nodiscard]] std::vector<std::string> command(const std::string& program, std::vector<std::string> arguments) const;

  TemporaryFolder folder_;
  std::unique_ptr<ChildProcess> process_;
  int given_out_ = 0;
};

/// Where Debian keeps the server's programs; empty if they are not installed.
std::filesystem::path server_programs();

/// What a test says when it is skipped for want of a server.
constexpr const char* no_server = "needs Debian's package postgresql";

}  // namespace kasimir::study::fake
