// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/small_site.h"

#include "kasimir/interp/field.h"
#include "kasimir/synth/solver.h"

namespace kasimir {

Outcome<BoundGraph> at_small_site(const Kernel& kernel) {
  Outcome<BoundGraph> last = Rejection{"the kernel fits a small site", ""};
  for (std::int64_t channels : {4, 8, 16, 32, 64}) {
    const Site site{channels, channels, 5, 6, 1};
    auto graph = lower(kernel, SiteSet({site}, kernel.choices));
    if (!graph.ok()) {
      last = graph.rejection();
      continue;
    }
    auto fitted = any_fit(kernel, *graph, site);
    if (!fitted.ok()) {
      last = fitted.rejection();
      continue;
    }
    Kernel small = kernel;
    small.fits = {{site, *fitted}};
    last = lower_at(small, site, 1);
    if (last.ok()) return last;
  }
  return last;
}

Outcome<Label> label(const Kernel& kernel) {
  auto graph = at_small_site(kernel);
  if (!graph.ok()) return graph.rejection();
  return Label{analyse(*graph), fingerprint(*graph, fingerprint_seed).low};
}

}  // namespace kasimir
