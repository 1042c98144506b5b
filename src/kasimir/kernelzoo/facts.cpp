// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernelzoo/facts.h"

#include "kasimir/base/text.h"
#include "kasimir/kernel/binding_at.h"
#include "kasimir/kernel/cost.h"
#include "kasimir/network/zoo.h"
#include "kasimir/synth/small_site.h"
#include "kasimir/synth/solver.h"

#include <algorithm>
#include <cmath>

namespace kasimir::kernelzoo {
namespace {

Network network_of(const Result& where) {
  ZooOptions options = zoo_record(where.network).defaults;
  options.width = where.width.value_or(1.0);
  options.classes = where.classes.value_or(options.classes);
  if (where.input) options.input = Shape3::parse(*where.input);
  return zoo_network(where.network, options);
}

std::string place_text(const Result& where) {
  std::string text = where.network;
  if (where.width) text += fmt::format(" of width {:g}", *where.width);
  if (where.input) text += " for " + *where.input;
  if (where.classes) text += fmt::format(" and {} classes", *where.classes);
  return text;
}

void check_claim(std::string_view what, const std::optional<std::int64_t>& claimed, std::int64_t found,
                 const Entry& entry, const Result& result) {
  if (!claimed || *claimed == found) return;
  throw input_error("{} claims {} = {}, but {} with the kernel has {}", entry.file.string(), what, *claimed,
                    place_text(result), found)
      .note("free sizes without values get some within macs=..1,params=..1: lines `at SITE: x0=24` give others");
}

}  // namespace

Outcome<InNetwork> in_network(const Kernel& kernel, const Result& where, const Budget& budget) {
  const Network network = network_of(where);
  const auto replaced = find_sites(network, {where.replace, where.keep});
  InNetwork found{kernel, {}, network.cost().macs, network.cost().params, network.cost().macs, network.cost().params};
  std::vector<SiteLoad> loads;
  for (const DistinctSite& site : distinct_sites(replaced)) {
    const auto count = static_cast<double>(site.count);
    found.sites.push_back(site.site);
    loads.push_back({site.site, site.count, static_cast<double>(site.cost.macs) / count,
                     static_cast<double>(site.cost.params) / count});
    found.macs -= site.cost.macs;
    found.params -= site.cost.params;
  }
  const auto graph = lower(kernel, SiteSet(found.sites, kernel.choices));
  if (!graph.ok()) return graph.rejection();
  const bool complete =
      std::ranges::all_of(found.sites, [&](const Site& site) { return binding_at(kernel, site).has_value(); });
  if (!complete) {
    if (const auto fitted = fit(found.kernel, *graph, loads, budget, {}); !fitted.ok()) return fitted.rejection();
  }
  const Cost total = cost(*graph);
  for (const SiteLoad& load : loads) {
    const Binding binding = binding_at(found.kernel, load.site).value();
    found.macs += load.count * std::llround(total.macs.value_at(binding));
    found.params += load.count * std::llround(total.params.value_at(binding));
  }
  return found;
}

std::string fingerprint_of(const Kernel& kernel) {
  const auto found = label(kernel);
  if (!found.ok())
    throw input_error("the kernel `{}` is not legal at any small site: {}", kernel.name, found.rejection().str());
  return fmt::format("{:016x}", found->fingerprint);
}

void check_entry(const Entry& entry) {
  const std::string file = entry.file.string();
  if (entry.file.stem() != entry.kernel.name)
    throw input_error("{} holds the kernel `{}`: a file of the zoo is named as its kernel, {}.txt", file,
                      entry.kernel.name, entry.kernel.name);
  const std::string fingerprint = fingerprint_of(entry.kernel);
  if (entry.fingerprint && *entry.fingerprint != fingerprint)
    throw input_error("{} claims the fingerprint {}, but the kernel has {}", file, *entry.fingerprint, fingerprint);
  for (const Result& result : entry.results) {
    const auto found = in_network(entry.kernel, result);
    if (!found.ok())
      throw input_error("{} claims a result in {}, where the kernel cannot be: {}", file, place_text(result),
                        found.rejection().str());
    check_claim("macs", result.macs, found->macs, entry, result);
    check_claim("params", result.params, found->params, entry, result);
  }
}

}  // namespace kasimir::kernelzoo
