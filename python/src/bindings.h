// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "kasimir/kernel/kernel.h"
#include "kasimir/synth/budget.h"

/// The extension `_kasimir`: what the Python files beside it call. Each function adds one part to the module.
namespace kasimir::python {

void add_kernel(nanobind::module_& module);
void add_sampler(nanobind::module_& module);
void add_network(nanobind::module_& module);
void add_accelerator(nanobind::module_& module);
void add_numbers(nanobind::module_& module);

/// Ci, Co, H, W, s.
using SiteNumbers = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
inline Site site_of_numbers(const SiteNumbers& n) {
  return {std::get<0>(n), std::get<1>(n), std::get<2>(n), std::get<3>(n), std::get<4>(n)};
}
/// A site, how often it occurs, MACs and parameters of one convolution that stands there.
using LoadNumbers = std::tuple<SiteNumbers, std::int64_t, double, double>;
std::vector<SiteLoad> loads_of_numbers(const std::vector<LoadNumbers>& numbers);

/// What each loop nest of a program asks of an accelerator, as its name and a text that parse_problem reads. What follows
/// a sum element by element is done on the way out and not counted, as `kasimir accel` has it.
std::vector<std::pair<std::string, std::string>> nest_problems(const BoundGraph& graph, int bits,
                                                               const std::string& what);

/// "", "none" or what Budget::parse reads. @throws Error (input), also where latency is limited.
Budget budget_of_text(const std::string& text);

}  // namespace kasimir::python
