// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_check.h"

#include "kasimir/stop.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/base/text.h"
#include "kasimir/synth/claim_check.h"

#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

std::string number(std::uint64_t count) { return grouped(static_cast<std::int64_t>(count)); }

void print_json(const BenchCheck& options, const ClaimCheck& check) {
  nlohmann::json line{{"row", options.row},
                      {"wanted", options.wanted},
                      {"agreed", check.agreed},
                      {"attempts", check.attempts},
                      {"first_attempt", options.first}};
  if (check.against) {
    line["against"] = check.against->str();
    line["kernel"] = check.kernel;
  }
  fmt::print("{}\n", line.dump());
}

void print_text(const BenchCheck& options, const ClaimCheck& check) {
  if (check.against) {
    fmt::print("{}: one of {} does not agree: {}\n{}", options.row, number(check.agreed + 1), check.against->str(),
               check.kernel);
    return;
  }
  fmt::print("{}: {} of {} agree ({} attempts)\n", options.row, number(check.agreed), number(options.wanted),
             number(check.attempts));
}

}  // namespace

int bench_check(const Sampler& sampler, const BenchCheck& options) {
  constexpr double seconds_between = 10.0;
  const std::atomic<int>& stop = catch_interrupts();
  const Stopwatch watch;
  double next = seconds_between;
  const auto go_on = [&](const ClaimCheck& so_far) {
    if (watch.seconds() > next) {
      fmt::print(stderr, "{} of {} agree so far\n", number(so_far.agreed), number(options.wanted));
      next += seconds_between;
    }
    return stop.load() == study::go_on;
  };
  const ClaimCheck check =
      check_claims(sampler, rules_of(sampler), {options.first, options.wanted, options.threads}, go_on);
  if (options.json) {
    print_json(options, check);
  } else {
    print_text(options, check);
  }
  if (check.against) return static_cast<int>(Fault::bug);
  if (check.agreed == options.wanted) return 0;
  fmt::print(stderr, "stopped; go on with --check {} --from {}\n", options.wanted - check.agreed,
             options.first + check.attempts);
  return 1;
}

}  // namespace kasimir
