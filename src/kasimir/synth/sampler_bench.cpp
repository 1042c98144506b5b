// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/sampler_bench.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/base/threads.h"
#include "kasimir/synth/find.h"
#include "kasimir/synth/labels.h"
#include "kasimir/synth/moves.h"

#include <algorithm>
#include <ctime>
#include <set>

namespace kasimir {
namespace {

double cpu_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::uint64_t draw_all(const Sampler& sampler, std::uint64_t first, std::uint64_t last, SampleMemory& memory) {
  std::uint64_t legal = 0;
  for (std::uint64_t i = first; i < last; ++i) legal += sampler.draw(i, memory) ? 0 : 1;
  return legal;
}

void measure_rates(const Sampler& sampler, SamplerBench& bench) {
  SampleMemory memory(sampler);
  const std::uint64_t half = bench.attempts / 2;
  const double start = cpu_seconds();
  const std::uint64_t early = draw_all(sampler, 0, half, memory);
  const double middle = cpu_seconds();
  const std::uint64_t late = draw_all(sampler, half, bench.attempts, memory);
  const double end = cpu_seconds();
  bench.legal = early + late;
  bench.legal_per_cpu_second = static_cast<double>(bench.legal) / (end - start);
  bench.legal_per_cpu_second_warm = static_cast<double>(late) / (end - middle);
}

/// Both threads draw as many attempts as one alone did, each from a cold start.
void measure_threads(const Sampler& sampler, SamplerBench& bench) {
  const auto seconds = [&](std::size_t threads) {
    const Stopwatch watch;
    on_threads(threads, [&](std::size_t t) {
      SampleMemory memory(sampler);
      const std::uint64_t part = bench.attempts / 2;
      draw_all(sampler, t * part, (t + 1) * part, memory);
    });
    return watch.seconds();
  };
  const double one = seconds(1);
  bench.two_threads_speedup = 2.0 * one / seconds(2);
}

void measure_identity(const Sampler& sampler, SamplerBench& bench) {
  struct Hash {
    std::size_t operator()(const Identity& id) const { return id.low; }
    std::size_t operator()(const Fingerprint& id) const { return id.low; }
  };
  std::unordered_set<Identity, Hash> forms;
  std::unordered_map<Fingerprint, std::uint64_t, Hash> functions;  // the first attempt
  SampleMemory memory(sampler);
  const double start = cpu_seconds();
  std::uint64_t legal = 0;
  for (std::uint64_t i = 0; i < bench.attempts; ++i) {
    if (sampler.draw(i, memory)) continue;
    ++legal;
    if (!forms.insert(memory.identity()).second) {
      ++bench.same_form;
      continue;
    }
    const auto function = memory.fingerprint();
    if (!function) {
      ++bench.unidentified;
    } else if (const auto [first, fresh] = functions.try_emplace(*function, i); !fresh) {
      const Kernel kernel = sampler.kernel(memory);
      sampler.draw(first->second, memory);
      const bool differs = compare(sampler.kernel(memory), kernel, sampler.sites()) == Agreement::refuted;
      ++(differs ? bench.told_apart : bench.same_function);
    }
  }
  bench.identified_per_cpu_second = static_cast<double>(legal) / (cpu_seconds() - start);
}

void measure_yield(const Sampler& sampler, SamplerBench& bench) {
  constexpr std::uint64_t most_attempts = 20'000;
  SampleMemory memory(sampler);
  std::set<Identity> forms;
  std::set<Fingerprint> functions;
  const double start = cpu_seconds();
  for (std::uint64_t i = 0; i < std::min(bench.attempts, most_attempts); ++i) {
    if (sampler.draw(i, memory)) continue;
    ++bench.yielded_of;
    if (!forms.insert(memory.identity()).second) continue;
    const auto function = memory.fingerprint();
    if (function && !functions.insert(*function).second) continue;
    bench.yielded += memory.waste().none() ? 1 : 0;
  }
  bench.yielded_per_cpu_second = static_cast<double>(bench.yielded) / (cpu_seconds() - start);
}

void measure_moves(const Sampler& sampler, SamplerBench& bench) {
  constexpr std::size_t parents_wanted = 1000;
  SampleMemory memory(sampler);
  std::vector<Kernel> parents;
  for (std::uint64_t i = 0; i < bench.attempts && parents.size() < parents_wanted; ++i)
    if (!sampler.draw(i, memory)) parents.push_back(sampler.kernel(memory));
  const std::size_t n = parents.size();
  const auto measure = [&](double& rate, double& share, auto makes) {
    std::uint64_t made = 0;
    const double start = cpu_seconds();
    for (std::uint64_t i = 0; i < bench.attempts; ++i) made += makes(i) ? 1 : 0;
    rate = static_cast<double>(made) / (cpu_seconds() - start);
    share = static_cast<double>(made) / static_cast<double>(bench.attempts);
  };
  measure(bench.mutated_per_cpu_second, bench.share_mutated,
          [&](std::uint64_t i) { return mutate(sampler, parents[i % n], i, memory).ok(); });
  measure(bench.crossed_per_cpu_second, bench.share_crossed, [&](std::uint64_t i) {
    return !cross(sampler, parents[i % n], parents[(i + 1 + i / n) % n], i, memory).has_value();
  });
}

/// Of widths that a symbol takes: the largest ratio to Co over the smallest.
double width_ratio(const FitSolution& solution, std::span<const SiteLoad> sites, std::size_t symbol) {
  double least = 1e300;
  double most = 0.0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const double ratio = static_cast<double>(solution.values[i][symbol]) / static_cast<double>(sites[i].site.co);
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  return most / least;
}

void measure_kernels(const Sampler& sampler, SamplerBench& bench) {
  SampleMemory memory(sampler);
  bench.spectrum = Spectrum(sampler.catalog().size());
  std::vector<double> use;
  std::vector<double> ratios;
  constexpr std::int64_t skeletons_of = 10'000;
  for (std::uint64_t i = 0; i < bench.attempts; ++i) {
    if (sampler.draw(i, memory)) continue;
    const Growth& growth = memory.growth();
    bench.spectrum.add(growth.world(), growth.steps());
    if (bench.spectrum.kernels() == skeletons_of) bench.effective_skeletons = bench.spectrum.effective_skeletons();
    if (growth.open_symbols() == 0) continue;
    use.push_back(std::ranges::max(memory.solution().use));
    for (int k = 0; k < growth.open_symbols(); ++k)
      ratios.push_back(width_ratio(memory.solution(), sampler.sites(), static_cast<std::size_t>(k)));
  }
  bench.skeletons_of = static_cast<std::uint64_t>(std::min(skeletons_of, bench.spectrum.kernels()));
  if (bench.spectrum.kernels() < skeletons_of) bench.effective_skeletons = bench.spectrum.effective_skeletons();
  bench.share_with_free_symbols = static_cast<double>(use.size()) / static_cast<double>(bench.spectrum.kernels());
  bench.use_p1 = percentile(use, 0.01);
  bench.use_p10 = percentile(use, 0.1);
  bench.use_p50 = percentile(use, 0.5);
  bench.width_ratio_p90 = percentile(ratios, 0.9);
  bench.shapes = memory.growth().world().shape_count();
  bench.moves = memory.growth().world().move_count();
  const double steps = bench.spectrum.mean_length() * static_cast<double>(bench.spectrum.kernels());
  bench.share_forced_steps = static_cast<double>(memory.growth().forced_steps()) / steps;
  bench.share_composite_steps = static_cast<double>(memory.growth().composite_steps()) / steps;
}

void measure_labels(const Sampler& sampler, SamplerBench& bench) {
  constexpr std::uint64_t wanted = 500;  // some 10 ms each
  constexpr std::size_t shown = 10;
  SampleMemory memory(sampler);
  std::uint64_t blind = 0;
  std::uint64_t mixing = 0;
  std::uint64_t neighbourhood = 0;
  std::uint64_t global = 0;
  std::uint64_t linear = 0;
  std::uint64_t idle = 0;
  std::uint64_t yielded_blind = 0;
  std::uint64_t yielded_idle = 0;
  for (std::uint64_t i = 0; i < bench.attempts && bench.labelled < wanted; ++i) {
    if (sampler.draw(i, memory)) continue;
    const Kernel kernel = sampler.kernel(memory);
    if (bench.examples.size() < shown) bench.examples.push_back(str(kernel));
    const auto found = exact_labels(kernel, {.reach = true, .translation = false});
    if (!found.ok()) continue;
    ++bench.labelled;
    if (memory.waste().none()) {
      ++bench.yielded_labelled;
      yielded_blind += found->view.is_blind ? 1 : 0;
      yielded_idle += found->idle_step ? 1 : 0;
    }
    blind += found->view.is_blind ? 1 : 0;
    mixing += found->view.mixes_channels ? 1 : 0;
    neighbourhood += found->view.sees_neighbourhood ? 1 : 0;
    global += found->view.is_global ? 1 : 0;
    linear += found->is_linear ? 1 : 0;
    idle += found->idle_step ? 1 : 0;
  }
  const auto share = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(bench.labelled, 1));
  };
  bench.share_blind = share(blind);
  bench.share_mixing = share(mixing);
  bench.share_neighbourhood = share(neighbourhood);
  bench.share_global = share(global);
  bench.share_linear = share(linear);
  bench.share_idle = share(idle);
  const auto of_yielded = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(bench.yielded_labelled, 1));
  };
  bench.share_yielded_blind = of_yielded(yielded_blind);
  bench.share_yielded_idle = of_yielded(yielded_idle);
}

}  // namespace

SamplerBench bench_sampler(const Sampler& sampler, std::uint64_t attempts) {
  SamplerBench bench;
  bench.seed = sampler.seed();
  bench.attempts = attempts;
  measure_rates(sampler, bench);
  if (bench.legal == 0) return bench;
  measure_threads(sampler, bench);
  measure_identity(sampler, bench);
  measure_yield(sampler, bench);
  measure_moves(sampler, bench);
  measure_kernels(sampler, bench);
  measure_labels(sampler, bench);
  return bench;
}

}  // namespace kasimir
