// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/features.h"

#include "kasimir/kernel/binding_at.h"
#include "kasimir/kernel/cost.h"
#include "kasimir/synth/labels.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

std::size_t number_of(Catalog catalog, const Primitive* primitive) {
  const auto found = std::ranges::find(catalog, primitive);
  KASIMIR_CHECK(found != catalog.end(), "primitive {} is in another catalog", primitive->name);
  return static_cast<std::size_t>(found - catalog.begin());
}

/// What the wiring tells, tensor by tensor.
struct Wiring {
  int depth = 0;
  int shared = 0;
  double narrowest = 0;  ///< elements
};

Wiring wiring_of(const Kernel& kernel, const BoundGraph& graph) {
  const std::size_t tensors = kernel.steps.size() + 1;
  // Of each step's result: the elements of what its last stage writes.
  std::vector<double> own(tensors, 0);
  own[0] = static_cast<double>(elements(graph.tensors[static_cast<std::size_t>(graph.input)]));
  for (const auto& stage : graph.stages)
    if (stage.step >= 0)
      own[static_cast<std::size_t>(stage.step) + 1] =
          static_cast<double>(elements(graph.tensors[static_cast<std::size_t>(stage.out)]));
  std::vector<int> depth(tensors, 0), readers(tensors, 0);
  std::vector<double> narrowest = own;
  for (std::size_t step = 0; step < kernel.steps.size(); ++step) {
    double widest = 0;
    for (const int operand : kernel.steps[step].operands) {
      const auto from = static_cast<std::size_t>(operand);
      ++readers[from];
      depth[step + 1] = std::max(depth[step + 1], depth[from] + 1);
      widest = std::max(widest, narrowest[from]);
    }
    narrowest[step + 1] = std::min(own[step + 1], widest);
  }
  const auto end = static_cast<std::size_t>(kernel.output);
  return {depth[end], static_cast<int>(std::ranges::count_if(readers, [](int count) { return count > 1; })),
          narrowest[end] / own[end]};
}

/// log2 of a share; what has no products or weights counts as having one.
double log_share(double own, double original) { return std::log2(std::max(own, 1.0) / original); }

}  // namespace

std::vector<std::string> feature_names(Catalog catalog) {
  std::vector<std::string> names;
  for (const Primitive* primitive : catalog) names.emplace_back(primitive->name);
  for (const char* name : {"steps", "depth", "weighted", "shared", "narrowest", "reach_rows", "reach_columns", "levels",
                           "global", "is_linear", "data_weights", "equivariant", "any_resolution", "macs", "params"})
    names.emplace_back(name);
  return names;
}

Outcome<std::vector<double>> kernel_features(const Kernel& kernel, Catalog catalog, const Site& site) {
  const auto graph = lower_at(kernel, site, 1);
  if (!graph.ok()) return graph.rejection();
  const auto labels = exact_labels(kernel);
  if (!labels.ok()) return labels.rejection();
  std::vector<double> row(catalog.size(), 0);
  int weighted = 0;
  for (const Step& step : kernel.steps) {
    double& count = row[number_of(catalog, step.primitive)];
    count = std::min(count + 1, 2.0);
    weighted += step.primitive->weighted ? 1 : 0;
  }
  const Wiring wiring = wiring_of(kernel, *graph);
  const Binding binding = binding_at(kernel, site).value();
  const Cost own = cost(lower(kernel, SiteSet({site}, kernel.choices)).value());
  const double dense = 9.0 * static_cast<double>(site.ci * site.co);
  const auto number = [](auto value) { return static_cast<double>(value); };
  const auto reach = [&](std::int64_t far, std::int64_t side) { return std::log2(1 + number(std::min(far, side))); };
  for (const double value :
       {number(kernel.steps.size()), number(wiring.depth), number(weighted), number(wiring.shared),
        std::log2(wiring.narrowest), reach(labels->reach_rows, site.h), reach(labels->reach_columns, site.w),
        number(labels->nonlinear_levels), number(labels->view.is_global), number(labels->is_linear),
        number(labels->has_data_weights), number(labels->is_equivariant), number(labels->is_independent_of_resolution),
        log_share(own.macs.value_at(binding), dense * static_cast<double>(site.h * site.w)),
        log_share(own.params.value_at(binding), dense)})
    row.push_back(value);
  return row;
}

}  // namespace kasimir
