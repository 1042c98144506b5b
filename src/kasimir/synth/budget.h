// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/site.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kasimir {

/// What a budget can limit.
enum class CostKind : std::uint8_t {
  macs,
  params,
  bytes  ///< of all tensors written for one image before fusion, 4 a number; what is replaced writes 4 * Co * H * W
};
inline constexpr std::size_t cost_kinds = 3;
inline constexpr std::array<CostKind, cost_kinds> all_cost_kinds{CostKind::macs, CostKind::params, CostKind::bytes};
inline constexpr double bytes_per_element = 4.0;
std::string_view cost_name(CostKind kind);  ///< "macs"

/// A site with what stands there now: how often the network has it, and the cost of one replaced convolution.
struct SiteLoad {
  Site site;
  std::int64_t count = 1;
  double macs = 0.0;
  double params = 0.0;
};

/// The widest value that a free size is given at a site: four times its channels.
constexpr std::int64_t widest(const Site& site) { return 4 * (site.ci > site.co ? site.ci : site.co); }

/// A site of a 3 x 3 convolution.
SiteLoad conv_load(const Site& site, std::int64_t count = 1);

/// How far, as a fraction, rounding may take a cost beyond a limit without breaking it.
inline constexpr double limit_tolerance = 1e-12;

/// Limits on one cost. Relative limits hold at *every* site against what is replaced there, so they hold for the
/// network too; absolute ones hold for the sum over all sites.
struct Limit {
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
  bool relative = true;
  bool operator==(const Limit&) const = default;
  [[nodiscard]] bool given() const { return low > 0.0 || high < std::numeric_limits<double>::infinity(); }
};

/// What a kernel may cost. The default asks for no more MACs and parameters than what it replaces, and leaves the bytes
/// free.
struct Budget {
  Limit macs{0.0, 1.0, true};
  Limit params{0.0, 1.0, true};
  Limit bytes{};
  /// Of the whole network in one run against the original's, which always is relative. A sampler cannot know it: who
  /// can predict or measure latency holds to it.
  Limit latency{};
  /// The same for the objective on an accelerator.
  Limit accelerator{};
  bool operator==(const Budget&) const = default;

  [[nodiscard]] const Limit& operator[](CostKind kind) const {
    return kind == CostKind::macs ? macs : kind == CostKind::params ? params : bytes;
  }
  [[nodiscard]] Limit& operator[](CostKind kind) { return const_cast<Limit&>(std::as_const(*this)[kind]); }

  /// "macs=0.1..0.5,params=..0.5,bytes=..3,latency=..0.6,accelerator=..0.5"; numbers with k, M or G are absolute:
  /// "params=..200k"; "none" limits nothing.
  /// @throws Error (input) with what was found and the form that is understood.
  static Budget parse(std::string_view text);
  /// What parse() reads; all but MACs and parameters only where they are limited.
  [[nodiscard]] std::string str() const;
};

}  // namespace kasimir
