// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/cosearch_folder.h"
#include "kasimir/stop.h"

#include "kasimir/base/error.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/report/listing.h"
#include "kasimir/report/live.h"

#include <httplib.h>

#include <chrono>
#include <mutex>
#include <thread>

namespace kasimir {
namespace {

struct ServeCommand {
  std::string study;
  std::string host = "127.0.0.1";
  int port = 8734;
};

/// The last page and the state of the study that it shows: rendering takes a second where a study is large.
class PageCache {
 public:
  std::string page(const study::Store& store) {
    const std::lock_guard lock(mutex_);
    const std::string token = report::live_token(store);
    if (token != token_) {
      page_ = report::live_html(store, catalog(), {.goal = {}, .program = "kasimir " KASIMIR_VERSION});
      token_ = token;
    }
    return page_;
  }

 private:
  std::mutex mutex_;
  std::string token_;
  std::string page_;
};

/// Whether a request names this server. Another name that leads here is a page of someone else that has its visitor's
/// browser ask for what only the visitor can reach.
bool is_for(const std::string& host_header, const std::string& host) {
  const std::string name = host_header.substr(0, host_header.rfind(':'));
  if (host == "0.0.0.0" || host == "::") return true;  // open to all by the user's word
  return name == host || name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

void answer_with(httplib::Server& server, const ServeCommand& options, PageCache& cache) {
  server.set_default_headers({{"Content-Security-Policy",
                               "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                               "connect-src 'self'; frame-ancestors 'none'"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cache-Control", "no-store"}});
  server.set_pre_routing_handler([host = options.host](const httplib::Request& request, httplib::Response& response) {
    if (is_for(request.get_header_value("Host"), host)) return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    response.set_content("this server answers to the name that it was started with\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  const auto serve = [&](const char* path, const char* type, auto content) {
    server.Get(path, [&options, type, content](const httplib::Request&, httplib::Response& response) {
      try {
        response.set_content(content(study::Store::view(options.study)), type);
      } catch (const Error& error) {
        response.status = 500;
        response.set_content(fmt::format("error: {}\n", error.what()), "text/plain; charset=utf-8");
      }
    });
  };
  serve("/", "text/html; charset=utf-8", [&cache](const study::Store& store) { return cache.page(store); });
  serve("/state", "application/json", report::live_state);
  serve("/trials.json", "application/x-ndjson", report::study_json);
  serve("/trials.csv", "text/csv; charset=utf-8", report::study_csv);
}

int serve(const ServeCommand& options) {
  if (is_cosearch_folder(options.study))
    throw input_error("{} is a joint search, whose page is a file: {}", options.study,
                      cosearch_page_of(options.study).string());
  static_cast<void>(study::Store::view(options.study));  // refuses what is no study before anybody asks
  httplib::Server server;
  // The library's default is SO_REUSEPORT, with which a second server would silently share the port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  PageCache cache;
  answer_with(server, options, cache);
  const int port = options.port == 0                                 ? server.bind_to_any_port(options.host)
                   : server.bind_to_port(options.host, options.port) ? options.port
                                                                     : -1;
  if (port < 0)
    throw system_error("cannot listen at {}:{}", options.host, options.port)
        .note("another program may have the port: --port 0 takes a free one");
  fmt::print("{} is at http://{}:{}/ until Ctrl-C\n", options.study, options.host, port);
  std::fflush(stdout);
  const std::atomic<int>& stop = catch_interrupts();
  std::thread listening([&server] { server.listen_after_bind(); });
  while (stop.load() == study::go_on) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.stop();
  listening.join();
  return 0;
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("serve", "shows a study in the browser while it runs");
  command->footer(
      "The page is the report with what workers do now and the log, and loads itself anew when there are results. "
      "/trials.json and /trials.csv are what `study show` prints. Nothing is written, and other machines are not "
      "answered unless --host says so.");
  auto options = std::make_shared<ServeCommand>();
  command->add_option("study", options->study, study_help)->required();
  command->add_option("--host", options->host, "address to listen at; 0.0.0.0: all, without any password")
      ->capture_default_str();
  command->add_option("--port", options->port, "0: any free one")->capture_default_str()->check(CLI::Range(0, 65535));
  command->callback([options, &action] { action = [options] { return serve(*options); }; });
}

}  // namespace kasimir
