// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_roofline.h"

#include "kasimir/base/error.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/table.h"
#include "kasimir/codegen/machine_peak.h"
#include "kasimir/codegen/tune.h"
#include "kasimir/codegen/work.h"
#include "kasimir/network/zoo.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace kasimir {
namespace {

/// Sums shorter than this spend their time on loads and stores.
constexpr std::int64_t shortest_sum = 64;

/// One contraction of a network.
struct Row {
  std::string nest;
  std::string method;
  double seconds = 0;
  double operations = 0;  ///< whole vectors: multiply-adds, and Winograd's transforms
  double bytes = 0;       ///< of the tensors that it reads and writes
  double attainable = 0;  ///< seconds
  [[nodiscard]] double share() const { return attainable / seconds; }
};

bool is_contraction(const Nest& nest, const Method& method) {
  return !std::holds_alternative<UseLoops>(method) && sums_products(nest) &&
         nest.points() / nest.results() >= shortest_sum;
}

std::vector<Row> rows_of(const std::string& name, const BenchRoofline& options, const MachinePeak& peak) {
  const Network network = zoo_network(name);
  const NetworkPlan plan{&network, {}};
  COptions names;
  names.target = host_target();
  auto made = network_as_c(plan, options.batch, random_weights(plan, 1), names).value();
  if (options.tune_seconds > 0) {
    TuningCache cache;
    const auto tuned = tune_network(made, names, cache, {.seconds = options.tune_seconds});
    if (!tuned.ok()) throw unsolved_error("{} cannot be tuned: {}", name, tuned.rejection().str());
  }
  const NestProgram& program = made.made.program;
  const auto counts = count_nests(program, made.made.c.methods, names.target);
  names.timed = true;
  auto built = NativeNetwork::build(generate_c(program, made.made.c.methods, names), names, made.weights);
  if (!built.ok()) throw unsolved_error("{} cannot be run: {}", name, built.rejection().str());
  const auto times = built->fastest_nest_times(program.run.size(), options.samples);
  if (!times.ok()) throw unsolved_error("{} cannot be timed: {}", name, times.rejection().str());
  // Between two runs of a layer the others run: its weights and maps are where all of them fit.
  const double bandwidth = peak.bandwidth_of(static_cast<std::int64_t>(sizeof(float)) *
                                             (made.made.c.prepared_size + made.made.c.workspace_size));
  std::vector<Row> rows;
  for (std::size_t i = 0; i < program.run.size(); ++i) {
    const Method& method = made.made.c.methods[i];
    if (!is_contraction(program.run[i], method)) continue;
    const auto count = [&](Work kind) { return counts[i][static_cast<std::size_t>(kind)]; };
    Row row{program.run[i].name,
            str(method),
            1e-9 * (*times)[i],
            count(Work::products) + count(Work::winograd_products) + count(Work::transforms),
            sizeof(float) * count(Work::floats),
            0};
    row.attainable = std::max(row.operations / peak.vector_operations, row.bytes / bandwidth);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

int bench_roofline(const BenchRoofline& options) {
  const auto peak = measure_peak(host_target());
  if (!peak.ok()) throw unsolved_error("the machine's peak cannot be measured: {}", peak.rejection().str());
  if (!options.json) {
    fmt::print("one core: {:.1f} GFLOP/s ({} floats a vector)", peak->gflops(), peak->lanes);
    for (const auto& [bytes, rate] : peak->bandwidth) fmt::print(", {:.1f} GB/s from {} kB", 1e-9 * rate, bytes >> 10);
    fmt::print("\n\n");
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
    for (const Row& row : rows_of(name, options, *peak)) {
      seconds += row.seconds;
      attainable += row.attainable;
      shares.push_back(row.share());
      if (options.json)
        fmt::print("{}\n", nlohmann::json{{"network", name},
                                          {"batch", options.batch},
                                          {"nest", row.nest},
                                          {"method", row.method},
                                          {"seconds", row.seconds},
                                          {"vector_operations", row.operations},
                                          {"bytes", row.bytes},
                                          {"share_of_roofline", row.share()}}
                               .dump());
    }
    if (shares.empty()) throw unsolved_error("{} has no contraction over {} values or more", name, shortest_sum);
    const auto good = std::ranges::count_if(shares, [](double share) { return share >= 0.8; });
    table.row({name, std::to_string(options.batch), std::to_string(shares.size()), fmt::format("{:.3g}", 1e3 * seconds),
               fmt::format("{:.0f}", 100 * attainable / seconds), fmt::format("{:.0f}", 100 * median(shares)),
               fmt::format("{:.0f}", 100 * *std::ranges::min_element(shares)), std::to_string(good)});
  }
  if (!options.json) fmt::print("{}", table.str());
  return 0;
}

}  // namespace kasimir
