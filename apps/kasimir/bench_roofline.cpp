// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_roofline.h"

#include "kasimir/base/error.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/table.h"
#include "kasimir/codegen/machine_peak.h"
#include "kasimir/codegen/tune.h"
#include "kasimir/nest_times.h"
#include "kasimir/search_spec.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace kasimir {
namespace {

/// The contractions of a network.
std::vector<NestTime> rows_of(const std::string& name, const BenchRoofline& options, const MachinePeak& peak) {
  const Network network = network_for(name, 1.0, {}, 0);
  const NetworkPlan plan{&network, {}};
  COptions names;
  names.target = host_target();
  auto made = network_as_c(plan, options.batch, random_weights(plan, 1), names).value();
  if (options.tune_seconds > 0) {
    TuningCache cache;
    const auto tuned = tune_network(made, names, cache, {.seconds = options.tune_seconds});
    if (!tuned.ok()) throw unsolved_error("{} cannot be tuned: {}", name, tuned.rejection().str());
  }
  auto rows = time_nests(made.made, made.weights, names, peak, options.samples);
  std::erase_if(rows, [](const NestTime& row) { return row.kind != NestKind::contraction; });
  return rows;
}

}  // namespace

int bench_roofline(const BenchRoofline& options) {
  const auto peak = measure_peak(host_target());
  if (!peak.ok()) throw unsolved_error("the machine's peak cannot be measured: {}", peak.rejection().str());
  if (!options.json) {
    fmt::print("{}\n\n", str(*peak));
  }
  Table table({{"network", "", Table::Align::left},
               {"batch", ""},
               {"contractions", ""},
               {"time", "ms"},
               {"of the roofline", "%"},
               {"median", "%"},
               {"lowest", "%"},
               {"at 80 % and more", ""}});
  for (const std::string& name : options.networks) {
    double seconds = 0;
    double attainable = 0;
    std::vector<double> shares;
    for (const NestTime& row : rows_of(name, options, *peak)) {
      seconds += row.seconds;
      attainable += row.attainable;
      shares.push_back(row.share());
      if (options.json)
        fmt::print("{}\n", nlohmann::json{{"network", name},
                                          {"batch", options.batch},
                                          {"nest", row.name},
                                          {"method", row.method},
                                          {"seconds", row.seconds},
                                          {"vector_operations", row.operations},
                                          {"bytes", row.bytes},
                                          {"share_of_roofline", row.share()}}
                               .dump());
    }
    if (shares.empty())
      throw unsolved_error("{} has no contraction over {} values or more", name, shortest_contraction);
    const auto good = std::ranges::count_if(shares, [](double share) { return share >= 0.8; });
    table.row({name, std::to_string(options.batch), std::to_string(shares.size()), fmt::format("{:.3g}", 1e3 * seconds),
               fmt::format("{:.0f}", 100 * attainable / seconds), fmt::format("{:.0f}", 100 * median(shares)),
               fmt::format("{:.0f}", 100 * *std::ranges::min_element(shares)), std::to_string(good)});
  }
  if (!options.json) fmt::print("{}", table.str());
  return 0;
}

}  // namespace kasimir
