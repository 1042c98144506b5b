// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/latency.h"

#include "kasimir/interp/real.h"
#include "kasimir/nest/inline_copies.h"
#include "kasimir/train/aten.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

double work_of(const BoundGraph& graph) {
  double work = 0.0;
  for (const BoundStage& stage : graph.stages)
    work += static_cast<double>(domain(stage)) * static_cast<double>(stage.nodes.size());
  return work;
}

/// The kernel at the site, or at the largest one with a smaller map that the interpreter can afford; the smallest legal
/// one where it can afford none.
std::pair<Site, BoundGraph> affordable(Kernel kernel, const Site& site, double most) {
  auto graph = lower_at(kernel, site, 1);
  KASIMIR_CHECK(graph.ok(), "kernel {} at {}: {}", kernel.name, site.str(), graph.rejection().str());
  std::pair<Site, BoundGraph> found{site, *std::move(graph)};
  const Binding fit = kernel.fit_at(site);
  while (work_of(found.second) > most && (found.first.h > 1 || found.first.w > 1)) {
    Site smaller = found.first;
    smaller.h = (smaller.h + 1) / 2;
    smaller.w = (smaller.w + 1) / 2;
    kernel.fits.emplace_back(smaller, fit);
    auto reduced = lower_at(kernel, smaller, 1);
    if (!reduced.ok()) break;
    found = {smaller, *std::move(reduced)};
  }
  return found;
}

/// Input and weights at random, statistics near their start values.
TensorValues<double> random_inputs(const BoundGraph& graph, Rng& rng) {
  TensorValues<double> values = random_values(graph, rng);
  for (const BoundStage& stage : graph.stages) {
    if (!stage.stat) continue;
    auto& stored = values[static_cast<std::size_t>(stage.out)];
    stored.resize(static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(stage.out)])));
    for (double& v : stored) v = stage.stat->start + 0.3 * rng.unit();
  }
  return values;
}

double largest(const std::vector<double>& values) {
  double most = 0.0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

}  // namespace

VerifyResult verify_kernel(const Kernel& kernel, const Site& site, const VerifyOptions& options) {
  VerifyResult result;
  result.kernel = kernel.name;
  result.site = site;
  const auto [checked_at, graph] = affordable(kernel, site, static_cast<double>(options.work));
  result.checked_at = checked_at;
  Rng rng(options.seed);
  TensorValues<double> values = random_inputs(graph, rng);
  const BoundGraph frozen = freeze(graph);
  AtenOptions run;
  run.single_precision = true;
  const std::vector<double> output = run_aten(inline_copies(frozen), values, run).output;
  RealDomain numbers;
  evaluate(frozen, numbers, values);
  const auto& expected = values[static_cast<std::size_t>(frozen.output)];
  double difference = 0.0;
  double everywhere = 0.0;
  for (const auto& tensor : values) everywhere = std::max(everywhere, largest(tensor));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double here = std::abs(output[i] - expected[i]);
    difference = std::isfinite(here) ? std::max(difference, here) : INFINITY;
  }
  const double scale = largest(expected);
  result.error = scale > 0.0 ? difference / scale : difference;
  result.ok = std::isfinite(difference) && difference <= options.bound * scale + options.rounding * everywhere;
  return result;
}

}  // namespace kasimir
