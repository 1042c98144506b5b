// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_nests.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/table.h"
#include "kasimir/codegen/native.h"
#include "kasimir/interp/real.h"
#include "kasimir/nest_times.h"
#include "kasimir/sampling.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace kasimir {
namespace {

/// One nest of a kernel at a site.
struct Row {
  std::string kernel;
  Site site;
  double times = 1;  ///< how often the network has the site
  NestTime nest;
  [[nodiscard]] double seconds() const { return times * nest.seconds; }
};

std::vector<Row> rows_of(const Kernel& kernel, const SiteLoad& load, const BenchNests& options,
                         const MachinePeak& peak) {
  const auto bound = lower_at(kernel, load.site, options.batch);
  if (!bound.ok()) throw unsolved_error("kernel {} at {}: {}", kernel.name, load.site.str(), bound.rejection().str());
  COptions names;
  names.name = "kernel";
  names.target = host_target();
  names.input = names.output = ImageLayout::nhwc;
  const GraphC made = graph_as_c(freeze(*bound), names);
  Rng rng(options.seed);
  const TensorValues<double> drawn = random_values(*bound, rng);
  std::vector<std::vector<float>> values(made.program.tensors.size());
  for (std::size_t t = 0; t < drawn.size(); ++t) values[t].assign(drawn[t].begin(), drawn[t].end());
  for (const BoundStage& stage : bound->stages)
    if (stage.stat)
      values[static_cast<std::size_t>(stage.out)].assign(
          static_cast<std::size_t>(elements(bound->tensors[static_cast<std::size_t>(stage.out)])),
          static_cast<float>(stage.stat->start));
  std::vector<Row> rows;
  for (NestTime& nest : time_nests(made, pack_weights(made.c, values), names, peak, options.samples))
    rows.push_back({kernel.name, load.site, static_cast<double>(load.count), std::move(nest)});
  return rows;
}

nlohmann::json to_json(const Row& row, const BenchNests& options) {
  return {{"kernel", row.kernel},        {"site", row.site.str()},
          {"batch", options.batch},      {"kind", nest_kind_name(row.nest.kind)},
          {"nest", row.nest.text},       {"method", row.nest.method},
          {"seconds", row.nest.seconds}, {"vector_operations", row.nest.operations},
          {"bytes", row.nest.bytes},     {"share_of_roofline", row.nest.share()}};
}

void print_kinds(const std::vector<Row>& rows) {
  double all = 0;
  for (const Row& row : rows) all += row.seconds();
  Table table({{"nests", "", Table::Align::left},
               {"number", ""},
               {"time", "%"},
               {"of the roofline", "%"},
               {"10 in 100 are below", "%"},
               {"median", "%"},
               {"at 80 % and more", "%"}});
  for (NestKind kind : {NestKind::contraction, NestKind::short_contraction, NestKind::reduction, NestKind::elements}) {
    double seconds = 0;
    double attainable = 0;
    std::vector<double> shares;
    for (const Row& row : rows) {
      if (row.nest.kind != kind) continue;
      seconds += row.seconds();
      attainable += row.times * row.nest.attainable;
      shares.push_back(row.nest.share());
    }
    if (shares.empty()) continue;
    const auto good = static_cast<double>(std::ranges::count_if(shares, [](double share) { return share >= 0.8; }));
    std::ranges::sort(shares);
    table.row({std::string(nest_kind_name(kind)), std::to_string(shares.size()),
               fmt::format("{:.0f}", 100 * seconds / all), fmt::format("{:.0f}", 100 * attainable / seconds),
               fmt::format("{:.0f}", 100 * shares[shares.size() / 10]), fmt::format("{:.0f}", 100 * median(shares)),
               fmt::format("{:.0f}", 100 * good / static_cast<double>(shares.size()))});
  }
  fmt::print("{}", table.str());
}

/// The nests that lose most beside the roofline.
void print_losses(std::vector<Row> rows) {
  constexpr std::size_t shown = 40;
  const auto lost = [](const Row& row) { return row.times * (row.nest.seconds - row.nest.attainable); };
  std::ranges::stable_sort(rows, std::greater(), lost);
  fmt::print("\n");
  for (std::size_t i = 0; i < std::min(shown, rows.size()); ++i) {
    const Row& row = rows[i];
    fmt::print("{:8.1f} us, {:3.0f} % of the roofline, {}, {} at {}: {}\n", 1e6 * row.nest.seconds,
               100 * row.nest.share(), row.nest.method, row.kernel, row.site.str(), row.nest.text);
  }
}

}  // namespace

int bench_nests(const BenchNests& options) {
  const auto peak = measure_peak(host_target());
  if (!peak.ok()) throw unsolved_error("the machine's peak cannot be measured: {}", peak.rejection().str());
  if (!options.json) fmt::print("{}\n\n", str(*peak));
  std::vector<Row> rows;
  for (const Kernel& kernel :
       bench_kernels_of(options.kernel, options.loads, options.sampling, options.seed, options.count))
    for (const SiteLoad& load : options.loads)
      for (Row& row : rows_of(kernel, load, options, *peak)) {
        if (options.json) fmt::print("{}\n", to_json(row, options).dump());
        rows.push_back(std::move(row));
      }
  if (rows.empty()) throw unsolved_error("no kernel was found");
  if (options.json) return 0;
  print_kinds(rows);
  print_losses(std::move(rows));
  return 0;
}

}  // namespace kasimir
