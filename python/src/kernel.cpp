// SPDX-License-Identifier: Apache-2.0
#include "bindings.h"

#include "kasimir/base/error.h"
#include "kasimir/codegen/dot.h"
#include "kasimir/codegen/pytorch_kernel.h"
#include "kasimir/kernel/cost.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/solver.h"

#include <algorithm>

namespace nb = nanobind;

namespace kasimir::python {
namespace {

bool fitted_at(const Kernel& kernel, const Site& site) {
  const Binding fit = kernel.fit_at(site);
  return std::ranges::all_of(kernel.free_symbols(), [&](Symbol symbol) { return fit.has(symbol); });
}

Error misfit(const Kernel& kernel, const Site& site, const Rejection& reason) {
  return input_error("the kernel {} does not fit at {}: {}", kernel.name, site.str(), reason.str());
}

/// The kernel with values for its free sizes at the site, those of its text or some near half of the channels.
Kernel at_site(Kernel kernel, const Site& site) {
  const SiteSet sites({site}, kernel.choices);
  const auto graph = lower(kernel, sites);
  if (!graph.ok()) throw misfit(kernel, site, graph.rejection());
  if (!fitted_at(kernel, site)) {
    const auto fit = any_fit(kernel, *graph, site);
    if (!fit.ok()) throw misfit(kernel, site, fit.rejection());
    std::erase_if(kernel.fits, [&](const auto& entry) { return entry.first == site; });
    kernel.fits.emplace_back(site, *fit);
  }
  if (const auto bound = lower_at(kernel, site, 1); !bound.ok()) throw misfit(kernel, site, bound.rejection());
  return kernel;
}

std::map<std::string, double> costs(const Kernel& kernel, const SiteNumbers& at) {
  const Site site = site_of_numbers(at);
  const Kernel fitted = at_site(kernel, site);
  const Cost all = cost(*lower(fitted, SiteSet({site}, fitted.choices)));
  Binding binding = site.binding();
  const Binding fit = fitted.fit_at(site);
  for (const Symbol symbol : fitted.free_symbols()) binding.set(symbol, fit[symbol]);
  for (const Symbol symbol : choice_symbols)
    if (fitted.choices.has(symbol)) binding.set(symbol, fitted.choices[symbol]);
  return {{"macs", all.macs.value_at(binding)},
          {"params", all.params.value_at(binding)},
          {"ops", all.ops.value_at(binding)},
          {"elements", all.elements.value_at(binding)}};
}

/// Values for the free sizes at all sites within the budget, as a search chooses them.
Kernel fit_to(Kernel kernel, const std::vector<LoadNumbers>& numbers, const std::string& budget) {
  const std::vector<SiteLoad> loads = loads_of_numbers(numbers);
  std::vector<Site> places;
  for (const SiteLoad& load : loads) places.push_back(load.site);
  const auto graph = lower(kernel, SiteSet(places, kernel.choices));
  if (!graph.ok())
    throw input_error("the kernel {} does not fit at these sites: {}", kernel.name, graph.rejection().str());
  const auto fitted = fit(kernel, *graph, loads, budget_of_text(budget), {});
  if (!fitted.ok())
    throw unsolved_error("no values for the free sizes of {}: {}", kernel.name, fitted.rejection().str());
  return kernel;
}

std::pair<std::string, bool> pytorch(const Kernel& kernel, const SiteNumbers& at, std::int64_t rows,
                                     std::int64_t columns, const std::string& class_name) {
  const Site site = site_of_numbers(at);
  PytorchKernel made = pytorch_kernel(at_site(kernel, site), site, rows, columns, class_name);
  return {std::move(made.source), made.has_statistics};
}

std::vector<std::pair<std::string, std::string>> problems(const Kernel& kernel, const SiteNumbers& at,
                                                          std::int64_t batch, int bits) {
  const Site site = site_of_numbers(at);
  const auto graph = lower_at(at_site(kernel, site), site, batch);
  return nest_problems(*graph, bits, kernel.name);
}

std::vector<std::string> step_names(const Kernel& kernel) {
  std::vector<std::string> names;
  for (const Step& step : kernel.steps) names.emplace_back(step.primitive->name);
  return names;
}

}  // namespace

std::vector<SiteLoad> loads_of_numbers(const std::vector<LoadNumbers>& numbers) {
  std::vector<SiteLoad> loads;
  for (const auto& [site, count, macs, params] : numbers) loads.push_back({site_of_numbers(site), count, macs, params});
  return loads;
}

Budget budget_of_text(const std::string& text) {
  if (text.empty()) return {};
  const Budget budget = Budget::parse(text);
  if (budget.latency.given())
    throw input_error("the budget `{}` limits latency, which is not known before a kernel runs", text)
        .note("leave it out; a study measures latency and keeps it as an objective");
  if (budget.accelerator.given())
    throw input_error("the budget `{}` limits the cost on an accelerator, which studies of this package lack", text)
        .note("leave it out; `kasimir.accel` computes it of a model with kernels");
  return budget;
}

void add_kernel(nb::module_& module) {
  nb::class_<Kernel>(module, "Kernel")
      .def_static("parse", [](const std::string& text,
                              const std::string& where) { return parse_kernel(text, catalog(), where); })
      .def("text", [](const Kernel& kernel) { return str(kernel); })
      .def_ro("name", &Kernel::name)
      .def("primitives", &step_names)
      .def("costs", &costs)
      .def("fit", &fit_to)
      .def("at", [](const Kernel& kernel, const SiteNumbers& at) { return at_site(kernel, site_of_numbers(at)); })
      .def("fitted", [](const Kernel& kernel, const SiteNumbers& at) { return fitted_at(kernel, site_of_numbers(at)); })
      .def("pytorch", &pytorch)
      .def("problems", &problems)
      .def("svg", [](const Kernel& kernel, const SiteNumbers& at) {
        return to_svg(to_dot(kernel, SiteSet({site_of_numbers(at)}, kernel.choices)));
      });
  module.def("parse_site", [](const std::string& text) {
    const Site site = Site::parse(text);
    return SiteNumbers{site.ci, site.co, site.h, site.w, site.s};
  });
  module.def("primitives", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const Primitive* primitive : catalog()) all.emplace_back(primitive->name, primitive->brief);
    return all;
  });
}

}  // namespace kasimir::python
