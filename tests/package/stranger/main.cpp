// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/evaluate.h"
#include "kasimir/hardware/mapping.h"
#include "kasimir/network/sites.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"

#include <fmt/format.h>

int main() {
  using namespace kasimir;
  try {
    // A kernel that fits every 3 x 3 convolution of a network, with at most half of their MACs and parameters.
    const Network network = zoo_network("resnet8", zoo_record("resnet8").defaults);
    std::vector<SiteLoad> sites;
    for (const DistinctSite& place : distinct_sites(find_sites(network))) {
      const auto count = static_cast<double>(place.count);
      sites.push_back({place.site, place.count, static_cast<double>(place.cost.macs) / count,
                       static_cast<double>(place.cost.params) / count});
    }
    SampleOptions options;
    options.budget = Budget::parse("macs=..0.5,params=..0.5");
    const Sampler sampler(catalog(), sites, options, 7);
    sample(sampler, 1, 20000, 1, [](const Sampled& found) {
      fmt::print("{}\n{:.0f} MACs, {:.0f} parameters\n", str(found.kernel), found.cost.total_macs,
                 found.cost.total_params);
    });

    // What a layer costs on an accelerator.
    const CostModel model(parse_problem("O[m,n] += I[m,k] * W[k,n] for m=64 n=64 k=64"), preset("gemmini"));
    const Mapping mapping =
        parse_mapping("L3[OIW] m64 - L2[IW] n4 n16X - L1[O] k4 k16X - L0[W]", model.problem, model.architecture);
    const Evaluation costs = evaluate(model, mapping);
    fmt::print("\n{:.0f} cycles, {:.3f} uJ on {}\n", costs.cycles, costs.energy_pj / 1e6, model.architecture.name);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return static_cast<int>(error.fault());
  }
}
