// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/lattice.h"

#include <span>
#include <vector>

/// The inner loops of the budget solver: eight sites at once, compiled for what the machine has.
namespace kasimir {

/// factor(site) times powers of the free symbols.
struct FitTerm {
  std::uint64_t key;  ///< the powers as one number
  Powers powers;
  std::array<std::uint8_t, free_symbol_count> used;  ///< symbols whose power is not 0: the first `count`
  std::uint8_t count;
  int degree;  ///< the sum of the powers
};

/// One sum of terms for each site. Terms of equal powers are one.
class SumPerSite {
 public:
  void reset(std::size_t blocks);  ///< zero everywhere, for 8 * blocks sites; keeps its memory
  /// Adds a term, one factor per site; `largest` keeps, of terms with equal powers, the larger factor in place of the
  /// sum.
  void add(const Powers& powers, std::span<const double> factors, bool largest = false);

  [[nodiscard]] const std::vector<FitTerm>& terms() const { return terms_; }  ///< those with a symbol
  [[nodiscard]] const Lanes& fixed(std::size_t block) const { return fixed_[block]; }
  [[nodiscard]] const Lanes& factor(std::size_t term, std::size_t block) const {
    return factors_[term * fixed_.size() + block];
  }

 private:
  std::vector<FitTerm> terms_;
  std::vector<Lanes> fixed_, factors_;
};

/// Values of the free symbols at the eight sites of a block; 1 where a symbol is not in use.
struct Widths {
  std::array<Lanes, free_symbol_count> of;
};

/// -1 where something is true of a site, else 0.
using SiteMask = std::array<std::int64_t, Lanes::width>;

/// Eight sites of a problem under upper limits.
struct FitBlock {
  static constexpr std::size_t most_lines = 3;
  struct Line {
    const SumPerSite* sum = nullptr;
    Lanes high{};
  };

  std::size_t block = 0;
  std::size_t sites = 0;  ///< of the eight, the first so many exist
  std::span<const std::uint8_t> symbols;
  const Lattices* lattices = nullptr;
  const Lanes* co = nullptr;
  const SumPerSite* volumes = nullptr;  ///< each term alone is at most `most_volume`
  double most_volume = 0.0;
  std::array<Line, most_lines> lines;
  std::size_t line_count = 0;
  std::uint8_t negative = 0;  ///< symbols with a negative power somewhere
  std::uint8_t falling = 0;   ///< those without a positive one: costs fall as they rise
  std::uint8_t curved = 0;    ///< symbols with a power that is neither 0 nor 1

  [[nodiscard]] const Lanes& least(std::size_t symbol) const { return lattices->least(lattices->cell(symbol, block)); }
  [[nodiscard]] const Lanes& most(std::size_t symbol) const { return lattices->most(lattices->cell(symbol, block)); }
};

/// Every symbol at its largest value <= ratio * Co, or at its least. `pinned`: these symbols at their largest value.
/// Clears sites in `legal` at which some size cannot be whole.
void place_widths(const FitBlock& block, const Lanes& ratio, std::uint8_t pinned, Widths& widths, SiteMask& legal);
/// The sums at the widths.
void sums_at(const SumPerSite& sum, std::size_t block, const Widths& widths, Lanes& values);
/// Which sites keep the limits.
void check_limits(const FitBlock& block, const Widths& widths, SiteMask& fits);
/// The largest ratio of each site at which it keeps its limits, with its widths; where there is none, `fits` is 0 and
/// the widths are the least.
void largest_ratio(const FitBlock& block, std::uint8_t pinned, Lanes& ratio, Widths& widths, SiteMask& fits);
/// Raises one symbol at each site, up to `most`, as far as the limits allow; lowers one that only divides costs.
void raise_width(const FitBlock& block, std::size_t symbol, const Lanes& most, Widths& widths);

}  // namespace kasimir
