// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/layer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// A number of a board with its unit and where it is from.
struct BoardNumber {
  double value = 0;
  std::string_view unit;
  std::string_view source;
};

/// A board with an FPGA: what a design may use.
struct Board {
  std::string_view name, part;
  BoardNumber dsp, bram18, lut, flip_flop;
  BoardNumber dram;   ///< peak of the memory that the fabric shares with the processor
  BoardNumber clock;  ///< at which published designs of this kind run
};

/// ZC706, ZCU104, Ultra96.
const std::vector<Board>& boards();
/// Null if there is none of that name; upper and lower case are the same.
const Board* find_board(std::string_view name);
/// @throws Error (input) that names the boards there are.
const Board& board_named(std::string_view name);

/// Amounts that the chunks of a design share.
struct Resources {
  double dsp = 0, bram18 = 0, lut = 0;
  double dram_bits = 0;  ///< moved from and to the shared memory for one frame
  bool operator==(const Resources&) const = default;
};
Resources operator+(const Resources& a, const Resources& b);

/// What a design may use. Nothing binds that is left at infinity.
struct ResourceBudget {
  double dsp, bram18, lut;
  double dram_bits_per_cycle;  ///< of the shared memory: frames x bits may not pass it
  bool operator==(const ResourceBudget&) const = default;
};
/// No limits.
ResourceBudget unlimited();
/// All of a board at `clock_mhz` (0: the board's).
ResourceBudget budget_of(const Board& board, double clock_mhz = 0);
/// 900 DSPs, 700 block RAMs of 18 Kb and no others: the limits in Auto-NBA's code (ICML 2021).
ResourceBudget auto_nba_budget();

/// A constraint that a design breaks, with what it uses and what it may.
struct Violation {
  std::string constraint;  ///< "dsp", "bram18", "lut", "dram bits per cycle", ..
  double used = 0, limit = 0;
  [[nodiscard]] std::string str() const;  ///< "bram18: 812 of 700"
  bool operator==(const Violation&) const = default;
};
/// What `used`, needed once every `cycles`, breaks of `budget`.
std::vector<Violation> violations(const Resources& used, double cycles, const ResourceBudget& budget);

/// Block RAMs of 18 Kb for one memory of `depth` words, the best of the port shapes 16K x 1, 8K x 2, 4K x 4, 2K x 9,
/// 1K x 18, 512 x 36 (AMD UG473).
std::int64_t bram18_count(std::int64_t width_bits, std::int64_t depth);

/// A memory as synthesis would place it.
struct MemoryCost {
  std::int64_t bram18 = 0, lut = 0;
};
/// Memories of at most 1,024 bits go to look-up tables, 4 for each 64 words of 3 bits (RAM64M, AMD UG474);
/// the threshold is ours. Larger ones go to block RAM.
MemoryCost memory_cost(std::int64_t width_bits, std::int64_t depth);

/// DSP48 blocks for `sharing` multipliers that have one factor in common and `copies` such sets. Products of numbers
/// of at most 8 bits share a block in twos (AMD WP486; AccDNN, ICCAD 2018), of at most 4 bits in fours (FINN's RTL
/// matrix unit, `mvu_4sx4u`); wider numbers than 25 x 18 bits take several blocks (AMD UG479).
std::int64_t dsp_count(std::int64_t sharing, std::int64_t copies, const LayerBits& bits);

}  // namespace kasimir
