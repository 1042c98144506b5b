// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/find.h"

#include "kasimir/base/threads.h"
#include "kasimir/interp/real.h"
#include "kasimir/synth/replay.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

constexpr std::uint64_t second_seed = 20260711;  // any other than that of Semantics
constexpr std::int64_t batch = 2;                // a norm of a single image would hide what it is given

Outcome<BoundGraph> at_second(const Kernel& kernel, const SecondSite& second) {
  Kernel small = kernel;
  small.fits = {{second.site, second.free}};
  return lower_at(small, second.site, batch);
}

/// The smallest at which all is whole: channels that groups divide, free sizes that are no multiples of one another.
std::optional<SecondSite> second_site(const Kernel& kernel, const std::vector<SiteLoad>& sites) {
  const bool same = std::ranges::all_of(sites, [](const SiteLoad& load) { return load.site.ci == load.site.co; });
  const bool strided = std::ranges::any_of(sites, [](const SiteLoad& load) { return load.site.s > 1; });
  constexpr std::int64_t most_elements = 1 << 16;  // of one tensor: the interpreter is slow
  for (std::int64_t channels : {8, 16, 32}) {
    SecondSite second{{same ? channels : 2 * channels, channels, 5, 6, strided ? 2 : 1}, {}};
    for (int i = 0; i < World::most_open; ++i) second.free.set(free_symbol(i), channels / 2 * (2 * i + 3));
    const auto graph = at_second(kernel, second);
    if (!graph.ok()) continue;
    const bool small = std::ranges::all_of(graph->stages, [&](const BoundStage& stage) {
      return domain(stage) <= 64 * most_elements &&
             elements(graph->tensors[static_cast<std::size_t>(stage.out)]) <= most_elements;
    });
    if (small) return second;
  }
  return std::nullopt;
}

/// A weight's role and axes in the order of their kinds, without those of one element.
struct WeightForm {
  WeightRole role;
  std::vector<std::pair<AxisKind, std::int64_t>> axes;
  auto operator<=>(const WeightForm&) const = default;
};

/// Places in memory of a tensor's elements, by coordinates along the axes in the order of their kinds.
std::vector<std::size_t> places(const BoundTensor& tensor) {
  const auto& axes = tensor.axes;
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return axes[i].kind; });
  std::vector<std::size_t> stride(axes.size(), 1);
  for (std::size_t i = axes.size(); i-- > 1;) stride[i - 1] = stride[i] * static_cast<std::size_t>(axes[i].extent);
  std::vector<std::size_t> sorted;
  std::vector<std::int64_t> at(axes.size(), 0);
  for (std::int64_t left = elements(tensor); left > 0; --left) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) place += static_cast<std::size_t>(at[i]) * stride[i];
    sorted.push_back(place);
    for (std::size_t i = order.size(); i-- > 0 && ++at[order[i]] == axes[order[i]].extent;) at[order[i]] = 0;
  }
  return sorted;
}

/// The graph's weights by form.
std::vector<std::pair<WeightForm, std::size_t>> weights_of(const BoundGraph& graph) {
  std::vector<std::pair<WeightForm, std::size_t>> weights;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const BoundTensor& tensor = graph.tensors[i];
    if (tensor.role != Role::weight) continue;
    WeightForm form{tensor.weight_role, {}};
    for (const auto& axis : tensor.axes)
      if (axis.extent > 1) form.axes.emplace_back(axis.kind, axis.extent);
    std::ranges::stable_sort(form.axes, {}, [](const auto& axis) { return axis.first; });
    weights.emplace_back(std::move(form), i);
  }
  std::ranges::sort(weights);
  return weights;
}

std::vector<double> result_of(const BoundGraph& graph, TensorValues<double> values) {
  RealDomain domain;
  evaluate(graph, domain, values);
  return std::move(values[static_cast<std::size_t>(graph.output)]);
}

bool near(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  double apart = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    apart = std::max(apart, std::abs(a[i] - b[i]));
  }
  return a.size() == b.size() && apart <= 1e-9 * largest;
}

/// Whether the graphs' results agree for some way to say which weight of the one is which of the other.
bool agree_in_reals(const BoundGraph& a, const BoundGraph& b) {
  constexpr std::size_t most_weights = 7;  // whose orders are listed in no time
  constexpr int most_ways = 24;
  const auto of_a = weights_of(a);
  auto of_b = weights_of(b);
  const auto same_forms = [&] {
    return std::ranges::equal(of_a, of_b, [](const auto& one, const auto& other) { return one.first == other.first; });
  };
  if (!same_forms() || of_a.size() > most_weights) return false;
  Rng rng(second_seed);
  const auto values = random_values(a, rng);
  const auto wanted = result_of(a, values);
  TensorValues<double> other(b.tensors.size());
  other[static_cast<std::size_t>(b.input)] = values[static_cast<std::size_t>(a.input)];
  int ways = 0;
  do {
    if (!same_forms()) continue;
    for (std::size_t w = 0; w < of_a.size(); ++w) {
      const auto from = places(a.tensors[of_a[w].second]);
      const auto to = places(b.tensors[of_b[w].second]);
      auto& weight = other[of_b[w].second];
      weight.resize(to.size());
      for (std::size_t i = 0; i < to.size(); ++i) weight[to[i]] = values[of_a[w].second][from[i]];
    }
    if (near(wanted, result_of(b, other))) return true;
  } while (++ways < most_ways && std::ranges::next_permutation(of_b).found);
  return false;
}

/// The hits among attempts first .. last - 1.
struct Part {
  std::uint64_t legal = 0;
  std::uint64_t refuted = 0;
  std::vector<Hit> hits;
};

Part search(const Sampler& sampler, const Target& target, std::uint64_t first, std::uint64_t last,
            SampleMemory& memory) {
  Part part;
  for (std::uint64_t i = first; i < last; ++i) {
    if (sampler.draw(i, memory)) continue;
    ++part.legal;
    if (memory.weight_sizes() != target.weight_sizes || memory.fingerprint() != target.fingerprint) continue;
    Kernel kernel = sampler.kernel(memory);
    const Agreement agreement = compare(target, kernel);
    if (agreement == Agreement::refuted) {
      ++part.refuted;
    } else {
      part.hits.push_back({i, std::move(kernel), agreement});
    }
  }
  return part;
}

/// One after the other in each thread, which gets the same attempts whatever the others do.
std::vector<Part> search_block(const Sampler& sampler, const Target& target, std::uint64_t first, std::uint64_t size,
                               std::uint64_t last, std::vector<SampleMemory>& memories) {
  std::vector<Part> parts(memories.size());
  on_threads(memories.size(), [&](std::size_t t) {
    const std::uint64_t begin = std::min(first + t * size, last);
    parts[t] = search(sampler, target, begin, std::min(begin + size, last), memories[t]);
  });
  return parts;
}

}  // namespace

std::string_view words(Agreement agreement) {
  switch (agreement) {
    case Agreement::refuted:
      return "equal over the finite field at one tiny site, and different at another";
    case Agreement::field_once:
      return "equal over the finite field at one tiny site; too large to be compared at another";
    case Agreement::field:
      return "equal over the finite field at two tiny sites; its weights are laid out in another way than the file's";
    case Agreement::reals:
      return "equal over the finite field at a tiny site, and in real numbers at another";
  }
  return "";
}

Outcome<Target> target_for(const Sampler& sampler, const Kernel& kernel) {
  std::vector<Site> sites;
  for (const SiteLoad& load : sampler.sites()) sites.push_back(load.site);
  auto graph = lower(kernel, SiteSet(sites, kernel.choices));
  if (!graph.ok()) return graph.rejection();
  SampleMemory memory(sampler);
  World& world = memory.growth().world();
  int choice = 0;
  const auto steps = replay(world, without_idle_strides(world, kernel), &choice);
  if (!steps.ok()) return steps.rejection();
  Target target{to_kernel(world, choice, *steps), {}, 0, {}, {}};
  Kernel fitted = kernel;
  const auto cost = fit(fitted, *graph, sampler.sites(), sampler.options().budget, sampler.options().solver);
  if (!cost.ok()) return cost.rejection();
  Semantics semantics(world);
  const auto fingerprint = semantics.fingerprint(*steps, open_symbols(world, *steps));
  if (!fingerprint) return Rejection{"the kernel is small enough to be evaluated at a tiny site", ""};
  target.fingerprint = *fingerprint;
  target.weight_sizes = semantics.weight_sizes(*steps);
  target.second = second_site(target.kernel, sampler.sites());
  if (target.second)
    target.second_fingerprint = kasimir::fingerprint(at_second(target.kernel, *target.second).value(), second_seed);
  return target;
}

std::vector<std::string> steps_not_offered(const Sampler& sampler, const Target& target) {
  SampleMemory memory(sampler);
  World& world = memory.growth().world();
  int choice = 0;
  const auto steps = replay(world, target.kernel, &choice).value();
  std::vector<std::string> missing;
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (!offered(world, steps, k, choice)) missing.push_back(str(target.kernel.steps[k]));
  return missing;
}

Agreement compare(const Target& target, const Kernel& kernel) {
  if (!target.second) return Agreement::field_once;
  const auto graph = at_second(kernel, *target.second);
  if (!graph.ok()) return Agreement::field_once;
  const auto own = at_second(target.kernel, *target.second);
  if (agree_in_reals(*own, *graph)) return Agreement::reals;
  // Fingerprints of whole graphs depend on the order of a weight's axes: alone, they only tell what is equal.
  return fingerprint(*graph, second_seed) == *target.second_fingerprint ? Agreement::field : Agreement::refuted;
}

Agreement compare(const Kernel& one, const Kernel& other, const std::vector<SiteLoad>& sites) {
  const auto second = second_site(one, sites);
  if (!second) return Agreement::field_once;
  const auto a = at_second(one, *second);
  const auto b = at_second(other, *second);
  if (!b.ok()) return Agreement::field_once;
  if (agree_in_reals(*a, *b)) return Agreement::reals;
  return fingerprint(*a, second_seed) == fingerprint(*b, second_seed) ? Agreement::field : Agreement::refuted;
}

FindResult find(const Sampler& sampler, const Target& target, const FindLimits& limits) {
  FindResult result;
  std::vector<SampleMemory> memories;
  for (int t = 0; t < std::max(limits.threads, 1); ++t) memories.emplace_back(sampler);
  constexpr std::uint64_t per_thread = 1024;
  while (result.hits.size() < limits.most_hits && result.attempts < limits.most_attempts) {
    auto parts = search_block(sampler, target, result.attempts, per_thread, limits.most_attempts, memories);
    for (Part& part : parts) {
      result.legal += part.legal;
      result.refuted += part.refuted;
      std::ranges::move(part.hits, std::back_inserter(result.hits));
    }
    result.attempts = std::min(result.attempts + per_thread * memories.size(), limits.most_attempts);
  }
  if (result.hits.size() >= limits.most_hits) {
    result.hits.resize(limits.most_hits);
    result.attempts = result.hits.back().attempt + 1;
  }
  return result;
}

}  // namespace kasimir
