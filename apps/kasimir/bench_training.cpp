// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_training.h"

#include "kasimir/base/statistics.h"
#include "kasimir/base/table.h"
#include "kasimir/network/zoo.h"
#include "kasimir/sampling.h"
#include "kasimir/sites.h"
#include "kasimir/train/machine.h"
#include "kasimir/train/training_speed.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace kasimir {
namespace {

/// One kernel over all sites, each as often as the network has it.
struct Total {
  std::string name;
  double aten_ms = 0;
  double fused_ms = 0;
  double chosen_ms = 0;  ///< the faster of the two at each site
  double value_error = 0;
  double gradient_error = 0;
  double compile_seconds = 0;
  int sites = 0;
  int compiled = 0;  ///< sites
  int faster = 0;    ///< sites
};

nlohmann::json to_json(const Kernel& kernel, const BenchTraining& options, const TrainingSpeed& speed) {
  return {{"kernel", kernel.name},
          {"text", str(kernel)},
          {"site", speed.site.str()},
          {"batch", options.batch},
          {"aten_ms", speed.aten_ms},
          {"fused_ms", speed.fused_ms},
          {"speed_vs_aten", speed.speedup()},
          {"value_error", speed.value_error},
          {"gradient_error", speed.gradient_error},
          {"compile_seconds", speed.compile_seconds}};
}

class Bench {
 public:
  explicit Bench(const BenchTraining& options) : options_(options) {}

  /// The kernel at all sites; where the C cannot be had, ATen's time is told as both.
  Total measure(const Kernel& kernel, const std::vector<SiteLoad>& loads) {
    Total total;
    total.name = kernel.name;
    TrainingSpeedOptions how;
    how.batch = options_.batch;
    how.min_seconds = options_.seconds;
    how.seed = options_.seed;
    for (const SiteLoad& load : loads) {
      ++total.sites;
      const auto speed = time_training(kernel, load.site, how);
      if (!speed.ok()) {
        ++reasons_[speed.rejection().rule];
        fmt::print(stderr, "{} at {}: {}\n", kernel.name, load.site.str(), speed.rejection().str());
        if (total.sites == total.compiled + 1) fmt::print(stderr, "{}", str(kernel));  // once, to be looked into
        continue;
      }
      const auto times = static_cast<double>(load.count);
      total.aten_ms += times * speed->aten_ms;
      total.fused_ms += times * speed->fused_ms;
      total.chosen_ms += times * std::min(speed->aten_ms, speed->fused_ms);
      total.value_error = std::max(total.value_error, speed->value_error);
      total.gradient_error = std::max(total.gradient_error, speed->gradient_error);
      total.compile_seconds += speed->compile_seconds;
      ++total.compiled;
      if (speed->fused_ms < speed->aten_ms) ++total.faster;
      if (options_.json) {
        fmt::print("{}\n", to_json(kernel, options_, *speed).dump());
        std::fflush(stdout);
      }
      if (options_.plans)
        fmt::print("{}\n{} ms by ATen, {} ms fused at {}\n{}\n", str(kernel), speed->aten_ms, speed->fused_ms,
                   load.site.str(), speed->plan);
    }
    return total;
  }
  [[nodiscard]] const std::map<std::string, int>& reasons() const { return reasons_; }

 private:
  const BenchTraining& options_;
  std::map<std::string, int> reasons_;
};

void print_table(const std::vector<Total>& totals, const std::map<std::string, int>& reasons) {
  Table table({{"kernel", "", Table::Align::left},
               {"sites", ""},
               {"faster", ""},
               {"ATen", "ms"},
               {"fused", "ms"},
               {"fused", "times"},
               {"chosen", "times"},
               {"values", "error"},
               {"gradients", "error"}});
  std::vector<double> fused;
  std::vector<double> chosen;
  std::vector<double> compile;
  double worst = 0;
  int sites = 0;
  int compiled = 0;
  for (const Total& total : totals) {
    sites += total.sites;
    compiled += total.compiled;
    if (total.compiled == 0) continue;
    fused.push_back(total.aten_ms / total.fused_ms);
    chosen.push_back(total.aten_ms / total.chosen_ms);
    compile.push_back(total.compile_seconds / total.compiled);
    worst = std::max(worst, total.gradient_error);
    table.row({total.name, fmt::format("{}/{}", total.compiled, total.sites), fmt::format("{}", total.faster),
               fmt::format("{:#.3g}", total.aten_ms), fmt::format("{:#.3g}", total.fused_ms),
               fmt::format("{:.2f}", fused.back()), fmt::format("{:.2f}", chosen.back()),
               fmt::format("{:.1e}", total.value_error), fmt::format("{:.1e}", total.gradient_error)});
  }
  fmt::print("{}", table.str());
  fmt::print("\n{} of {} kernels and sites compiled\n", compiled, sites);
  for (const auto& [reason, times] : reasons) fmt::print("  {} times not: {}\n", times, reason);
  if (fused.empty()) return;
  fmt::print("geometric means: {:.2f} times the speed of ATen, {:.2f} with the faster of the two at each site\n",
             geometric_mean(fused), geometric_mean(chosen));
  fmt::print("gradients: largest error {:.1e}; {:.1f} s for the compiler in the median\n", worst, median(compile));
}

}  // namespace

int bench_training(const BenchTraining& options) {
  set_threads(1);
  const Network network = zoo_network(options.network);
  const std::vector<SiteLoad> loads = site_loads(find_sites(network));
  Bench bench(options);
  std::vector<Total> totals;
  const std::vector<Kernel> kernels =
      bench_kernels_of(options.kernel, loads, options.sampling, options.seed, options.count);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    totals.push_back(bench.measure(kernels[i], loads));
    if (!options.json) fmt::print(stderr, "{} of {} kernels\n", i + 1, kernels.size());
  }
  if (!options.json) print_table(totals, bench.reasons());
  return 0;
}

}  // namespace kasimir
