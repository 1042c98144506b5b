// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_store.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/rng.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/report/listing.h"
#include "kasimir/report/report.h"
#include "kasimir/study/ladder_config.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <vector>

namespace kasimir {
namespace {

constexpr int epochs = 2;
constexpr double lease_s = 60;
/// Parts that the filling is timed in: what grows with the study shows in the last.
constexpr int parts = 10;

/// A kernel of the usual length; the number keeps it apart from the others.
study::Proposal proposal(int number) {
  if (number == 0) return {"", "", {{"strategy", "original"}}, {9'000'000, 70'000}, {9'350'000, 77'700}, nullptr};
  Rng rng(1, static_cast<std::uint64_t>(number));
  const auto macs = static_cast<std::int64_t>(1'000'000 + rng.below(5'000'000));
  const auto params = static_cast<std::int64_t>(10'000 + rng.below(40'000));
  return {fmt::format("kernel k{}\n  a = conv(x, to=Ci, groups=Ci)\n  b = norm(a)\n  c = linear(b, to=Co)\nreturn c\n",
                      number),
          fmt::format("{:016x}", number),
          {{"strategy", "random"}, {"seed", 1}, {"attempt", number}},
          {macs, params},
          {macs + 350'000, params + 7'700},
          {{"macs", 0.5}, {"params", 0.5}}};
}

void do_trial(study::Store& store, int number) {
  const double now = study::wall_clock();
  const study::Lease lease = store.propose("bench", now, lease_s);
  store.accept(lease, proposal(number), now);
  Rng rng(2, static_cast<std::uint64_t>(number));
  study::JobResult result;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    result.accuracy = 0.3 + 0.5 * rng.unit();
    store.add_epoch(lease.job, {epoch, 1.0, 0.5, 1.1, *result.accuracy, 0.1, 1.0});
  }
  result.loss = 1 - *result.accuracy;
  store.finish(lease.job, result, now);
}

nlohmann::json spec(int trials) {
  study::LadderConfig ladder;
  ladder.trials = trials;
  return {{"network", "resnet8"}, {"data", "none"}, {"seed", 1}, {"ladder", ladder.to_json()}};
}

struct Measured {
  std::vector<double> trials_per_second;  ///< by part
  double table_s = 0, json_s = 0, page_s = 0;
};

Measured fill_and_read(const BenchStore& options, const study::StudyPlace& place) {
  Measured measured;
  study::Store store = study::Store::start(place, spec(options.trials), "kasimir bench store", "", study::wall_clock());
  do_trial(store, 0);
  int number = 0;
  for (int part = 1; part <= parts; ++part) {
    const int end = static_cast<int>(static_cast<std::int64_t>(options.trials) * part / parts);
    const int begin = number;
    const Stopwatch watch;
    while (number < end) do_trial(store, ++number);
    measured.trials_per_second.push_back((end - begin) / watch.seconds());
    if (!options.json) fmt::print(stderr, "{} trials, {:.0f}/s\n", grouped(end), measured.trials_per_second.back());
  }
  const study::Store view = study::Store::view(place);
  const auto timed = [](const auto& action) {
    const Stopwatch watch;
    action();
    return watch.seconds();
  };
  measured.table_s = timed([&] { return report::study_table(view).str() + report::rejection_table(view).str(); });
  measured.json_s = timed([&] { return report::study_json(view); });
  measured.page_s = timed([&] { return report::report_html(view, catalog()); });
  return measured;
}

}  // namespace

int bench_store(const BenchStore& options) {
  const TemporaryFolder folder;
  const study::StudyPlace place =
      options.study.empty() ? study::StudyPlace(folder.path() / "store.db") : study::StudyPlace(options.study);
  const Measured measured = fill_and_read(options, place);
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"trials", options.trials},
                                      {"first_trials_per_second", measured.trials_per_second.front()},
                                      {"last_trials_per_second", measured.trials_per_second.back()},
                                      {"table_seconds", measured.table_s},
                                      {"json_seconds", measured.json_s},
                                      {"page_seconds", measured.page_s}}
                           .dump());
    return 0;
  }
  Table table({{"trials", ""},
               {"first tenth", "trials/s"},
               {"last tenth", "trials/s"},
               {"study show", "s"},
               {"study show --json", "s"},
               {"report", "s"}});
  table.row({grouped(options.trials), fmt::format("{:.0f}", measured.trials_per_second.front()),
             fmt::format("{:.0f}", measured.trials_per_second.back()), fmt::format("{:.2f}", measured.table_s),
             fmt::format("{:.2f}", measured.json_s), fmt::format("{:.2f}", measured.page_s)});
  fmt::print("{}", table.str());
  return 0;
}

}  // namespace kasimir
