// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/site.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// A site with what stands there now: how often the network has it, and the cost of one replaced convolution.
struct SiteLoad {
  Site site;
  std::int64_t count = 1;
  double macs = 0.0;
  double params = 0.0;
};

/// Limits on one cost. Relative limits hold at *every* site against what is replaced there, so they hold for the
/// network too; absolute ones hold for the sum over all sites.
struct Limit {
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
  bool relative = true;
  bool operator==(const Limit&) const = default;
};

/// What a kernel may cost. The default asks that it costs no more than what it replaces.
struct Budget {
  Limit macs{0.0, 1.0, true};
  Limit params{0.0, 1.0, true};
  bool operator==(const Budget&) const = default;

  /// "macs=0.1..0.5,params=..0.5"; numbers with k, M or G are absolute: "params=..200k".
  /// @throws Error (input) with what was found and the form that is understood.
  static Budget parse(std::string_view text);
  [[nodiscard]] std::string str() const;
};

}  // namespace kasimir
