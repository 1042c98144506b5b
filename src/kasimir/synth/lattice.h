// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/size/size.h"
#include "kasimir/synth/budget.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kasimir {

/// Exponents of x0 .. x5.
using Powers = std::array<std::int8_t, free_symbol_count>;
/// Values of x0 .. x5 at one site.
using FreeValues = std::array<std::int64_t, free_symbol_count>;

/// Eight sites side by side, so that a loop over `at` is a vector instruction or a few.
struct alignas(64) Lanes {
  static constexpr std::size_t width = 8;
  std::array<double, width> at;
};

/// Which values each free symbol may take at each site: its lattice. Multiples of the number that the sizes ask for, up
/// to four times the wider side of the site and to what memory allows, or the least of them if that is larger (up to
/// eight times). Where multiples of the lane are among them, values above the first of those are multiples of the lane.
/// Where a size divides by the symbol, only the divisors among them.
class Lattices {
 public:
  void set_sites(std::span<const SiteLoad> loads);
  /// Every whole number for each symbol. Bit i of `symbols` stands for xi.
  void reset(std::uint8_t symbols);
  /// num / den * prod x^p is to be a whole number >= 1 at each site. With one symbol it narrows that symbol's lattice;
  /// with more it is kept, and a symbol's value then depends on those chosen before it. @pre den >= 1
  void require_whole(const Powers& powers, std::span<const std::int64_t> num, std::span<const std::int64_t> den);

  struct Empty {
    bool memory;  ///< only because of the limit on memory
    int site;
  };
  /// Works out the rows below. `memory`: by cell, the largest value that memory allows.
  /// Returns the first lattice that has no value.
  std::optional<Empty> prepare(std::int64_t lane, std::span<const Lanes> memory);

  [[nodiscard]] std::size_t cell(std::size_t symbol, std::size_t block) const { return symbol * blocks_ + block; }
  // By cell: the least and the largest value, the step below the first multiple of the lane, and that multiple.
  [[nodiscard]] const Lanes& least(std::size_t cell) const { return least_[cell]; }
  [[nodiscard]] const Lanes& most(std::size_t cell) const { return most_[cell]; }
  [[nodiscard]] const Lanes& fine(std::size_t cell) const { return fine_[cell]; }
  [[nodiscard]] const Lanes& coarse(std::size_t cell) const { return coarse_[cell]; }
  /// Symbols whose values the rows do not describe: those with divisors, and those in sizes with several symbols.
  [[nodiscard]] std::uint8_t special() const { return static_cast<std::uint8_t>(listed_ | joint_symbols_); }

  // Changes to one lattice that is no list, until the next prepare().
  /// Values on a finer lane belong to it too; false if that changes nothing.
  bool refine(std::size_t symbol, std::size_t site, std::int64_t lane);
  /// Values above do not belong to it any more, unless all are; returns what was the largest before.
  double cap(std::size_t symbol, std::size_t site, double most);
  void uncap(std::size_t symbol, std::size_t site, double most) { put(most_, symbol, site, most); }
  [[nodiscard]] bool is_list(std::size_t symbol) const { return (listed_ >> symbol & 1U) != 0; }

  /// The largest value <= aim, else the least one above, with which the sizes are whole whose symbols are all chosen;
  /// 0 if there is none. `chosen`: the symbols that have their value in `values`.
  [[nodiscard]] std::int64_t snap(std::size_t symbol, std::size_t site, double aim, const FreeValues& values,
                                  std::uint8_t chosen) const;
  /// The lattice, ascending, regardless of sizes with several symbols.
  void list(std::size_t symbol, std::size_t site, std::vector<std::int64_t>& values) const;
  /// Whether the sizes with several symbols that are all chosen are whole.
  [[nodiscard]] bool joint_sizes_whole(std::size_t site, const FreeValues& values, std::uint8_t chosen) const;
  [[nodiscard]] bool has_joint_sizes() const { return joint_symbols_ != 0; }

 private:
  struct Fraction {
    std::int64_t num = 1, den = 1;
  };
  /// A multiple of one number and a divisor of another (0: of none).
  struct Step {
    std::int64_t multiple = 1;
    std::int64_t divisor = 0;
  };
  /// The steps of a symbol; one for all sites, in the first, while it is the same at all of them.
  [[nodiscard]] Step& step(std::size_t symbol, std::size_t site) {
    return steps_[slot(symbol, (uniform_ >> symbol & 1U) != 0 ? 0 : site)];
  }
  [[nodiscard]] const Step& step(std::size_t symbol, std::size_t site) const {
    return steps_[slot(symbol, (uniform_ >> symbol & 1U) != 0 ? 0 : site)];
  }
  struct JointSize {
    Powers powers;
    std::uint8_t symbols;
    bool implied;       ///< by the lattices
    std::size_t first;  ///< in parts_, one per site
  };
  struct Range {
    std::size_t first = 0, count = 0;
  };

  static bool narrow(Step& step, Fraction part, int power);
  [[nodiscard]] static bool allows(const Step& step, std::int64_t value) {
    return value % step.multiple == 0 && (step.divisor == 0 || step.divisor % value == 0);
  }
  [[nodiscard]] std::size_t slot(std::size_t symbol, std::size_t site) const {
    return symbol * blocks_ * Lanes::width + site;
  }
  [[nodiscard]] double row(const std::vector<Lanes>& rows, std::size_t symbol, std::size_t site) const {
    return rows[cell(symbol, site / Lanes::width)].at[site % Lanes::width];
  }
  void put(std::vector<Lanes>& rows, std::size_t symbol, std::size_t site, double value) {
    rows[cell(symbol, site / Lanes::width)].at[site % Lanes::width] = value;
  }
  void spread(std::size_t symbol);
  bool prepare_uniform(std::size_t symbol, std::int64_t lane, std::span<const Lanes> memory);
  std::optional<Empty> prepare_each(std::size_t symbol, std::int64_t lane, std::span<const Lanes> memory);
  bool span_multiples(std::size_t symbol, std::size_t site, std::int64_t lane);
  bool list_divisors(std::size_t symbol, std::size_t site, std::int64_t lane);
  bool cut_to_memory(std::size_t symbol, std::size_t site, double memory);
  void find_implied();
  [[nodiscard]] bool implied(const JointSize& size) const;
  [[nodiscard]] std::optional<Step> joint_step(std::size_t symbol, std::size_t site, const FreeValues& values,
                                               std::uint8_t chosen) const;
  [[nodiscard]] std::int64_t snap_down(std::size_t symbol, std::size_t site, std::int64_t aim, const Step& joint) const;
  [[nodiscard]] std::int64_t snap_up(std::size_t symbol, std::size_t site, std::int64_t aim, const Step& joint) const;

  std::size_t sites_ = 0, blocks_ = 0;
  std::vector<std::int64_t> widest_;  ///< by site
  std::uint8_t symbols_ = 0;
  std::vector<Lanes> widest_rows_;  ///< by block; infinite where there is no site
  std::vector<Step> steps_;         ///< by slot
  std::uint8_t uniform_ = 0;        ///< symbols with the same step at all sites
  std::vector<JointSize> joint_;
  std::vector<Fraction> parts_;
  int impossible_site_ = -1;  ///< where some size is not whole whatever the values are

  std::vector<Lanes> least_, most_, fine_, coarse_;
  std::vector<Range> ranges_;  ///< by slot, in divisors_; none: all multiples. Only of symbols in listed_.
  std::vector<std::int64_t> divisors_;
  std::uint8_t listed_ = 0, joint_symbols_ = 0;
};

}  // namespace kasimir
