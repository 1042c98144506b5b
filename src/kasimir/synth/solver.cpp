// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/solver.h"

#include <algorithm>
#include <cstdlib>

namespace kasimir {
namespace {

std::size_t number_of(Symbol symbol) { return static_cast<std::size_t>(symbol) - static_cast<std::size_t>(Symbol::x0); }

Size without_free(const Size& size) {
  Size bound = size;
  for (int i = 0; i < free_symbol_count; ++i) bound /= Size(free_symbol(i), size.power(free_symbol(i)));
  return bound;
}

/// The sites with the kernel's choices, for one image.
std::vector<Binding> bindings_of(const Kernel& kernel, std::span<const SiteLoad> sites) {
  std::vector<Binding> bindings;
  for (const SiteLoad& load : sites) {
    Binding& binding = bindings.emplace_back(load.site.binding());
    binding.set(Symbol::N, 1);
    for (const Symbol symbol : choice_symbols)
      if (kernel.choices.has(symbol)) binding.set(symbol, kernel.choices[symbol]);
  }
  return bindings;
}

std::vector<double> factors(const Size& size, std::span<const Binding> bindings, double scale = 1.0) {
  const Size bound = without_free(size);
  std::vector<double> values;
  for (const Binding& binding : bindings) values.push_back(scale * bound.value_at(binding));
  return values;
}

void add(FitProblem& problem, CostKind kind, const SizeSum& sum, std::span<const Binding> bindings,
         double scale = 1.0) {
  for (const Size& size : sum.terms()) problem.add_cost(kind, free_powers(size), factors(size, bindings, scale));
}

Binding to_binding(std::span<const std::uint8_t> symbols, const FreeValues& values) {
  Binding binding;
  for (const std::uint8_t symbol : symbols) binding.set(free_symbol(symbol), values[symbol]);
  return binding;
}

}  // namespace

std::vector<Size> whole_sizes(const Graph& graph) {
  std::vector<Size> sizes;
  const auto add = [&](const Size& size) {
    if (!size.is_one()) sizes.push_back(size);
  };
  for (const Tensor& tensor : graph.tensors)
    for (const auto& axis : tensor.axes) add(axis.extent);
  for (const Stage& stage : graph.stages) {
    for (const Iter& iter : stage.iters) add(iter.extent);
    for (const auto& node : stage.nodes) {
      const auto* read = std::get_if<BasicRead<Symbolic>>(&node);
      if (read == nullptr) continue;
      for (const Coord& coord : read->at)
        for (const auto& term : coord.terms) add(term.second);
    }
  }
  std::ranges::sort(sizes);
  const auto repeats = std::ranges::unique(sizes);
  sizes.erase(repeats.begin(), repeats.end());
  return sizes;
}

Powers free_powers(const Size& size) {
  Powers powers{};
  for (int i = 0; i < free_symbol_count; ++i)
    powers[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(size.power(free_symbol(i)));
  return powers;
}

Size without_free_symbols(const Size& size) {
  Size rest = size;
  for (int i = 0; i < free_symbol_count; ++i)
    if (const int power = size.power(free_symbol(i)); power != 0) rest /= Size(free_symbol(i), power);
  return rest;
}

Outcome<WholeParts> whole_parts(const Size& size, std::span<const Binding> bindings) {
  Size above(size.coefficient().num());
  Size below(size.coefficient().den());
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    const int power = size.power(symbol);
    if (!is_free(symbol)) (power > 0 ? above : below) *= Size(symbol, std::abs(power));
  }
  WholeParts parts;
  for (const Binding& binding : bindings) {
    const auto num = above.extent_at(binding);
    if (!num.ok()) return num.rejection();
    const auto den = below.extent_at(binding);
    if (!den.ok()) return den.rejection();
    parts.num.push_back(*num);
    parts.den.push_back(*den);
  }
  return parts;
}

std::optional<Rejection> fill(FitProblem& problem, const Kernel& kernel, const Graph& graph,
                              std::span<const SiteLoad> sites) {
  problem.set_sites(sites);
  std::uint8_t symbols = 0;
  for (const Symbol symbol : kernel.free_symbols()) symbols |= static_cast<std::uint8_t>(1U << number_of(symbol));
  problem.reset(symbols);
  const auto bindings = bindings_of(kernel, sites);
  for (const Size& size : whole_sizes(graph)) {
    if (!size.has_free()) {
      for (const Binding& binding : bindings)
        if (const auto extent = size.extent_at(binding); !extent.ok()) return extent.rejection();
      continue;
    }
    const auto parts = whole_parts(size, bindings);
    if (!parts.ok()) return parts.rejection();
    problem.require_whole(free_powers(size), parts->num, parts->den);
  }
  const Cost costs = cost(graph);
  add(problem, CostKind::macs, costs.macs, bindings);
  add(problem, CostKind::params, costs.params, bindings);
  add(problem, CostKind::bytes, costs.elements, bindings, bytes_per_element);
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role != Role::between) continue;
    Size volume(1);
    for (const auto& axis : tensor.axes) volume *= axis.extent;
    problem.limit_volume(free_powers(volume), factors(volume, bindings));
  }
  return std::nullopt;
}

Outcome<FitCost> fit(Kernel& kernel, const Graph& graph, std::span<const SiteLoad> sites, const Budget& budget,
                     const SolverOptions& options) {
  FitProblem problem;
  if (auto reason = fill(problem, kernel, graph, sites)) return *reason;
  kernel.fits.clear();
  FitSolution solution;
  if (const FitFailure failure = problem.solve(budget, options, solution); !failure.ok())
    return explain(failure, budget, sites, options);
  if (!problem.symbols().empty())
    for (std::size_t i = 0; i < sites.size(); ++i)
      kernel.fits.emplace_back(sites[i].site, to_binding(problem.symbols(), solution.values[i]));
  auto& [macs, params, bytes] = solution.cost;
  return FitCost{std::move(macs),   std::move(params), std::move(bytes),  solution.total[0],
                 solution.total[1], solution.total[2], solution.objective};
}

Outcome<Binding> any_fit(const Kernel& kernel, const Graph& graph, const Site& site) {
  const SiteLoad load{site};
  FitProblem problem;
  if (auto reason = fill(problem, kernel, graph, {&load, 1})) return *reason;
  constexpr double half = 0.5;
  FitSolution solution;
  if (const FitFailure failure = problem.place(half, 1, solution); !failure.ok())
    return explain(failure, {}, {&load, 1}, {});
  return to_binding(problem.symbols(), solution.values[0]);
}

}  // namespace kasimir
