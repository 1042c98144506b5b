// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_kernels.h"
#include "kasimir/sampling.h"

#include "kasimir/base/statistics.h"
#include "kasimir/base/table.h"
#include "kasimir/codegen/latency_model.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/kernel_latency.h"
#include "kasimir/train/machine.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

// What every kernel replaces; names a primitive: the search replaces convolutions.
constexpr std::string_view convolution_text = "kernel convolution\n  a = conv(x, to=Co, stride=yes)\nreturn a\n";

/// One kernel over all sites, each as often as the network has it.
struct Total {
  std::string name;
  double native_ms = 0;
  double eager_ms = 0;
  Multiplications counts;
  WorkCounts work{};
  std::vector<TimedWork> samples;  ///< one per site
  double error = 0;
  std::vector<double> compile_seconds;

  void add(const KernelTiming& timing, std::int64_t count) {
    const auto times = static_cast<double>(count);
    native_ms += times * timing.native.median;
    eager_ms += times * timing.eager.median;
    counts.nominal += times * timing.counts.nominal;
    counts.executed += times * timing.counts.executed;
    add_work(work, timing.work, times);
    samples.push_back({timing.work, timing.native.median / 1e3});
    error = std::max(error, timing.error);
    compile_seconds.push_back(timing.compile_seconds);
  }
};

LatencyOptions latency_options(const BenchKernels& options) {
  LatencyOptions latency;
  latency.batch = options.batch;
  latency.threads = options.threads;
  latency.repeats = 5;
  latency.min_seconds = options.seconds;
  latency.seed = options.seed;
  return latency;
}

nlohmann::json to_json(const Kernel& kernel, const BenchKernels& options, const KernelTiming& timing,
                       const KernelTiming& convolution) {
  return {{"kernel", kernel.name},
          {"text", str(kernel)},
          {"site", timing.site.str()},
          {"batch", options.batch},
          {"threads", options.threads},
          {"native_ms", timing.native.median},
          {"native_low_ms", timing.native.low},
          {"native_high_ms", timing.native.high},
          {"eager_ms", timing.eager.median},
          {"speed_vs_eager", timing.eager.median / timing.native.median},
          {"speed_vs_native_convolution", convolution.native.median / timing.native.median},
          {"macs", timing.counts.nominal},
          {"executed_multiplications", timing.counts.executed},
          {"work", timing.work},
          {"convolution_macs", convolution.counts.nominal},
          {"error", timing.error},
          {"verified_error", timing.verified},
          {"compile_seconds", timing.compile_seconds}};
}

/// The kernel at all sites, or the reason why it cannot be timed at one.
Outcome<Total> time_everywhere(const Kernel& kernel, const BenchKernels& options,
                               const std::vector<KernelTiming>& convolutions) {
  Total total;
  total.name = kernel.name;
  for (std::size_t i = 0; i < options.loads.size(); ++i) {
    const auto timing = time_kernel(kernel, options.loads[i].site, latency_options(options));
    if (!timing.ok()) return timing.rejection();
    total.add(*timing, options.loads[i].count);
    if (options.json) {
      fmt::print("{}\n", to_json(kernel, options, *timing, convolutions[i]).dump());
      std::fflush(stdout);
    }
  }
  return total;
}

/// How well times are told before kernels are compiled.
struct Prediction {
  double rank = 0;          ///< correlation with the measured times
  double median_error = 0;  ///< of the ratio to the measured time
};
Prediction judge(const std::vector<double>& told_ms, const std::vector<double>& measured_ms) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < told_ms.size(); ++i) errors.push_back(std::abs(told_ms[i] / measured_ms[i] - 1));
  return {rank_correlation(told_ms, measured_ms), median(errors)};
}

/// Each kernel's time over all sites by a model that was fitted without it: one kernel in `folds` is left out at a
/// time.
std::vector<double> held_out_ms(const std::vector<Total>& totals, std::size_t folds) {
  std::vector<double> told(totals.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<TimedWork> samples;
    for (std::size_t i = 0; i < totals.size(); ++i)
      if (i % folds != fold) samples.insert(samples.end(), totals[i].samples.begin(), totals[i].samples.end());
    const LatencyModel model = fit_latency_model(samples);
    for (std::size_t i = fold; i < totals.size(); i += folds) told[i] = 1e3 * model.predict(totals[i].work);
  }
  return told;
}

/// How well a model does on kernels that it was not fitted to, how well the committed constants do, and the rates of a
/// model that was fitted to all kernels.
void print_model(const std::vector<Total>& totals, const std::vector<double>& times) {
  constexpr std::size_t folds = 5;
  std::vector<TimedWork> samples;
  for (const Total& total : totals) samples.insert(samples.end(), total.samples.begin(), total.samples.end());
  if (totals.size() < 2 * folds || samples.size() < 2 * folds * work_kinds) return;
  const Prediction fitted = judge(held_out_ms(totals, folds), times);
  std::vector<double> told;
  for (const Total& total : totals) told.push_back(1e3 * reference_latency_model().predict(total.work));
  const Prediction reference = judge(told, times);
  fmt::print("latency model, fitted here, on held-out kernels: rank correlation {:.2f}, median error {:.0f} %\n",
             fitted.rank, 100 * fitted.median_error);
  fmt::print("latency model with the committed constants: rank correlation {:.2f}, median error {:.0f} %\n",
             reference.rank, 100 * reference.median_error);
  const LatencyModel model = fit_latency_model(samples);
  fmt::print("fitted ns per unit:");
  for (std::size_t k = 0; k < work_kinds; ++k)
    fmt::print("{} {} {:.3g}", k > 0 ? "," : "", work_name(static_cast<Work>(k)), 1e9 * model.seconds_per[k]);
  fmt::print("\n");
}

void print_table(const std::vector<Total>& totals, const Total& convolution) {
  Table table({{"kernel", "", Table::Align::left},
               {"MACs", "ratio"},
               {"executed", "ratio"},
               {"C", "ms"},
               {"vs eager", "times"},
               {"vs C conv", "times"},
               {"error", ""}});
  std::vector<double> eager;
  std::vector<double> native;
  std::vector<double> macs;
  std::vector<double> executed;
  std::vector<double> times;
  std::vector<double> compile;
  for (const Total& total : totals) {
    table.row({total.name, fmt::format("{:.2f}", total.counts.nominal / convolution.counts.nominal),
               fmt::format("{:.2f}", total.counts.executed / convolution.counts.executed),
               fmt::format("{:#.3g}", total.native_ms), fmt::format("{:.2f}", total.eager_ms / total.native_ms),
               fmt::format("{:.2f}", convolution.native_ms / total.native_ms), fmt::format("{:.1e}", total.error)});
    eager.push_back(total.eager_ms / total.native_ms);
    native.push_back(convolution.native_ms / total.native_ms);
    macs.push_back(total.counts.nominal);
    executed.push_back(total.counts.executed);
    times.push_back(total.native_ms);
    compile.insert(compile.end(), total.compile_seconds.begin(), total.compile_seconds.end());
  }
  fmt::print("{}", table.str());
  fmt::print("\nconvolution: {:.3g} ms in C, {:.3g} ms in eager PyTorch\n", convolution.native_ms,
             convolution.eager_ms);
  fmt::print("geometric means: {:.2f} times the speed of eager PyTorch, {:.2f} times that of the convolution in C\n",
             geometric_mean(eager), geometric_mean(native));
  if (totals.size() > 2)
    fmt::print("rank correlation with the latency in C: {:.2f} of MACs, {:.2f} of executed multiplications\n",
               rank_correlation(macs, times), rank_correlation(executed, times));
  print_model(totals, times);
  fmt::print("from text to checked program: {:.1f} s for the compiler in the median\n", median(compile));
}

}  // namespace

int bench_kernels(const BenchKernels& options) {
  set_threads(options.threads);
  std::vector<Site> sites;
  for (const SiteLoad& load : options.loads) sites.push_back(load.site);
  const Kernel original = parse_and_check(convolution_text, catalog(), SiteSet(sites, {}), "convolution");
  std::vector<KernelTiming> convolutions;
  Total convolution;
  for (const SiteLoad& load : options.loads) {
    auto timing = time_kernel(original, load.site, latency_options(options));
    if (!timing.ok()) throw unsolved_error("the convolution cannot be timed: {}", timing.rejection().str());
    convolution.add(*timing, load.count);
    convolutions.push_back(*std::move(timing));
  }
  std::vector<Total> totals;
  const std::vector<Kernel> kernels =
      bench_kernels_of(options.kernel, options.loads, options.sampling, options.seed, options.count);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto total = time_everywhere(kernels[i], options, convolutions);
    if (!total.ok()) {
      fmt::print(stderr, "{}: {}\n", kernels[i].name, total.rejection().str());
      continue;
    }
    totals.push_back(*total);
    if (!options.json) fmt::print(stderr, "{} of {} kernels\n", i + 1, kernels.size());
  }
  if (totals.empty()) throw unsolved_error("none of {} kernels could be timed", kernels.size());
  if (!options.json) print_table(totals, convolution);
  return 0;
}

}  // namespace kasimir
