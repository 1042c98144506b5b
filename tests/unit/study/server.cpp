// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <unistd.h>

#include <chrono>
#include <thread>

namespace kasimir::study::fake {
namespace {

namespace fs = std::filesystem;

const std::string& said(const Outcome<std::string>& outcome) {
  if (!outcome.ok()) throw system_error("{}", outcome.rejection().str());
  return *outcome;
}

}  // namespace

fs::path server_programs() {
  fs::path found;
  std::error_code ignored;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    const fs::path programs = version.path() / "bin";
    if (fs::exists(programs / "initdb") && fs::exists(programs / "postgres") && programs > found) found = programs;
  }
  return found;
}

Server* Server::shared() {
  static const std::unique_ptr<Server> server = server_programs().empty() ? nullptr : std::make_unique<Server>();
  return server.get();
}

std::vector<std::string> Server::command(const std::string& program, std::vector<std::string> arguments) const {
  std::vector<std::string> argv;
  if (::geteuid() == 0) argv = {"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"};
  argv.push_back((server_programs() / program).string());
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

Server::Server() {
  if (::geteuid() == 0) said(run_command({"chown", "postgres:postgres", folder_.path().string()}));
  // mkdtemp keeps others out, but the tests reach the socket as another user.
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  said(run_command(command("initdb", {"--pgdata=" + (folder_.path() / "data").string(), "--auth=trust",
                                      "--username=kasimir", "--encoding=UTF8", "--locale=C", "--no-sync"})));
  start();
}

void Server::start() {
  const std::string folder = folder_.path().string();
  process_ = std::make_unique<ChildProcess>(
      command("postgres", {"-D", folder + "/data", "-k", folder, "-h", "", "-F", "-c", "max_connections=200"}),
      ChildLimits{.seconds = 3600});
  for (int attempt = 0; attempt < 600; ++attempt) {
    if (run_command(command("psql", {"-h", folder, "-U", "kasimir", "-c", "select 1", "postgres"})).ok()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw system_error("the test's PostgreSQL server does not answer");
}

void Server::stop() {
  said(run_command(command("pg_ctl", {"stop", "-D", (folder_.path() / "data").string(), "-m", "immediate"})));
  process_.reset();
}

std::string Server::study(const std::string& name) const {
  return fmt::format("postgresql://kasimir@/postgres?host={}#{}", folder_.path().string(), name);
}

std::string Server::fresh_study() { return study(fmt::format("study{}", ++given_out_)); }

}  // namespace kasimir::study::fake
