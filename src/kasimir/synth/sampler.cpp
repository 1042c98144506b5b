// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/sampler.h"

#include "kasimir/kernel/verify.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace kasimir {
namespace {

/// A name from the text, so that the same kernel has the same name in every run.
void name_by_text(Kernel& kernel) {
  kernel.name = "k";
  std::uint64_t hash = 0;
  for (char c : str(kernel)) hash = mix_bits(hash ^ static_cast<unsigned char>(c));
  kernel.name = fmt::format("k_{:08x}", hash >> 32);
}

/// Choice symbols that no step uses are no part of the kernel.
void drop_unused_choices(Kernel& kernel) {
  Binding used;
  for (Symbol symbol : {Symbol::g, Symbol::r, Symbol::k}) {
    const auto in_size = [&](const Size& size) { return size.has(symbol); };
    for (const Step& step : kernel.steps)
      for (const Argument& argument : step.arguments) {
        const auto* size = std::get_if<Size>(&argument);
        const auto* shape = std::get_if<Shape>(&argument);
        const bool here = (size != nullptr && in_size(*size)) ||
                          (shape != nullptr && std::ranges::any_of(*shape, in_size, &Axis::extent));
        if (here) used.set(symbol, kernel.choices[symbol]);
      }
  }
  kernel.choices = used;
}

}  // namespace

Sampler::Sampler(Catalog catalog, std::vector<SiteLoad> sites, SampleOptions options, std::uint64_t seed)
    : catalog_(catalog), sites_(std::move(sites)), options_(std::move(options)), seed_(seed) {
  options_.limits.check(catalog);
  if (sites_.empty()) throw input_error("there is no site to sample kernels for");
  const auto named = [](const std::vector<std::string>& names, const Primitive* p) {
    return std::ranges::find(names, p->name) != names.end();
  };
  for (const Primitive* primitive : catalog)
    if ((options_.limits.allow.empty() || named(options_.limits.allow, primitive)) &&
        !named(options_.limits.forbid, primitive))
      allowed_.push_back(primitive);
  if (allowed_.empty()) throw input_error("no primitive is left: all that are allowed are forbidden too");
}

std::optional<Rejection> Sampler::unwanted(const View& view) const {
  if (view.is_blind) return Rejection{"screen: every output depends on the input", ""};
  if (options_.wanted.channel_mixing && !view.mixes_channels)
    return Rejection{"screen: every output sees every input channel", ""};
  if (options_.wanted.neighbourhood && !(view.sees_height && view.sees_width))
    return Rejection{"screen: some output sees other rows and other columns", ""};
  if (!options_.wanted.allow_global && view.is_global) return Rejection{"screen: no output sees the whole image", ""};
  return std::nullopt;
}

Outcome<Sampled> Sampler::attempt(std::uint64_t index, SampleStats* stats) const {
  Growth growth(allowed_, sites_, options_.limits, options_.budget, options_.solver, Rng(seed_, index));
  auto grown = growth.run();
  if (stats != nullptr)
    for (const auto& [rule, count] : growth.refused()) stats->refused[rule] += count;
  if (!grown.ok()) return grown.rejection();
  Sampled sampled;
  sampled.attempt = index;
  sampled.kernel = *std::move(grown);
  drop_unused_choices(sampled.kernel);
  std::vector<Site> sites;
  for (const SiteLoad& load : sites_) sites.push_back(load.site);
  const auto graph = lower(sampled.kernel, SiteSet(sites, sampled.kernel.choices));
  if (!graph.ok()) return graph.rejection();
  if (!options_.limits.weights_may_depend_on_resolution && !independent_of_resolution(*graph))
    return Rejection{"screen: no weight depends on H or W", ""};
  auto cost = fit(sampled.kernel, *graph, sites_, options_.budget, options_.solver);
  if (!cost.ok()) return cost.rejection();
  sampled.cost = *std::move(cost);
  auto found = label(sampled.kernel);
  if (!found.ok()) return found.rejection();
  sampled.label = *found;
  if (auto reason = unwanted(sampled.label.view)) return *reason;
  name_by_text(sampled.kernel);
  return sampled;
}

SampleStats sample(const Sampler& sampler, std::size_t count, std::uint64_t most_attempts, int threads,
                   const std::function<void(const Sampled&)>& found) {
  SampleStats stats;
  std::unordered_set<std::string> texts;
  std::unordered_set<std::uint64_t> functions;
  constexpr std::uint64_t per_thread = 32;
  const std::uint64_t block = per_thread * static_cast<std::uint64_t>(std::max(threads, 1));
  std::size_t kept = 0;
  while (kept < count && stats.attempts < most_attempts) {
    std::vector<std::optional<Outcome<Sampled>>> results(block);
    std::vector<SampleStats> partial(block);
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(std::max(threads, 1)));
    const auto work = [&](std::uint64_t thread) {
      try {
        for (std::uint64_t i = thread * per_thread; i < (thread + 1) * per_thread; ++i)
          results[i] = sampler.attempt(stats.attempts + i, &partial[i]);
      } catch (...) {
        failures[thread] = std::current_exception();
      }
    };
    std::vector<std::jthread> pool;
    for (std::uint64_t t = 1; t < block / per_thread; ++t) pool.emplace_back(work, t);
    work(0);
    pool.clear();
    for (const auto& failure : failures)
      if (failure) std::rethrow_exception(failure);
    // Counted in order and only up to the attempt that completes the count: the same numbers on any number of threads.
    const std::uint64_t first = stats.attempts;
    for (std::uint64_t i = 0; i < block && kept < count && first + i < most_attempts; ++i) {
      ++stats.attempts;
      for (const auto& [rule, number] : partial[i].refused) stats.refused[rule] += number;
      const Outcome<Sampled>& result = *results[i];
      if (!result.ok()) {
        ++stats.rejected[result.rejection().rule];
        stats.example[result.rejection().rule] = result.rejection().with;
        continue;
      }
      ++stats.legal;
      if (!texts.insert(str(result->kernel)).second) {
        ++stats.same_text;
        continue;
      }
      if (!functions.insert(result->label.fingerprint).second) ++stats.same_function;
      ++kept;
      found(*result);
    }
  }
  return stats;
}

}  // namespace kasimir
