// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/fpga.h"

#include "kasimir/base/division.h"
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check(std::vector<Violation>& broken, std::string_view name, double used, double limit) {
  if (used > limit) broken.push_back({std::string(name), used, limit});
}

}  // namespace

const std::vector<Board>& boards() {
  constexpr std::string_view ds190 = "AMD DS190, Zynq-7000 overview";
  constexpr std::string_view ds891 = "AMD DS891, Zynq UltraScale+ overview";
  static const std::vector<Board> all{
      {.name = "ZC706",
       .part = "XC7Z045",
       .dsp = {900, "blocks", ds190},
       .bram18 = {1090, "blocks of 18 Kb", ds190},
       .lut = {218600, "tables of 6 inputs", ds190},
       .flip_flop = {437200, "bits", ds190},
       .dram = {4.264, "GB/s", "AMD UG954: 32 bit DDR3-1066; Qiu et al., FPGA 2016, give 4.2"},
       .clock = {200, "MHz", "Auto-NBA (ICML 2021) and AccDNN (ICCAD 2018) on this board"}},
      {.name = "ZCU104",
       .part = "XCZU7EV",
       .dsp = {1728, "blocks", ds891},
       .bram18 = {624, "blocks of 18 Kb", ds891},
       .lut = {230400, "tables of 6 inputs", ds891},
       .flip_flop = {460800, "bits", ds891},
       .dram = {19.2, "GB/s", "AMD UG1267: 64 bit DDR4-2400"},
       .clock = {200, "MHz", "the clock of the ZC706 designs, a cautious choice for a faster part"}},
      {.name = "Ultra96",
       .part = "XCZU3EG",
       .dsp = {360, "blocks", ds891},
       .bram18 = {432, "blocks of 18 Kb", ds891},
       .lut = {70560, "tables of 6 inputs", ds891},
       .flip_flop = {141120, "bits", ds891},
       .dram = {8.528, "GB/s", "Avnet Ultra96 user guide: 32 bit LPDDR4-2132"},
       .clock = {200, "MHz", "the clock of the ZC706 designs, a cautious choice for a faster part"}},
  };
  return all;
}

const Board* find_board(std::string_view name) {
  for (const Board& board : boards())
    if (lower_case(board.name) == lower_case(name)) return &board;
  return nullptr;
}

const Board& board_named(std::string_view name) {
  if (const Board* board = find_board(name)) return *board;
  std::vector<std::string> names;
  for (const Board& board : boards()) names.emplace_back(board.name);
  throw input_error("unknown board `{}`", name).note(suggestion(name, names));
}

Resources operator+(const Resources& a, const Resources& b) {
  return {a.dsp + b.dsp, a.bram18 + b.bram18, a.lut + b.lut, a.dram_bits + b.dram_bits};
}

ResourceBudget unlimited() { return {infinity, infinity, infinity, infinity}; }

ResourceBudget budget_of(const Board& board, double clock_mhz) {
  const double clock = clock_mhz > 0 ? clock_mhz : board.clock.value;
  const double bits_per_cycle = board.dram.value * 8e9 / (clock * 1e6);
  return {board.dsp.value, board.bram18.value, board.lut.value, bits_per_cycle};
}

ResourceBudget auto_nba_budget() { return {900, 700, infinity, infinity}; }

std::string Violation::str() const { return fmt::format("{}: {:.6g} of {:.6g}", constraint, used, limit); }

std::vector<Violation> violations(const Resources& used, double cycles, const ResourceBudget& budget) {
  std::vector<Violation> broken;
  check(broken, "dsp", used.dsp, budget.dsp);
  check(broken, "bram18", used.bram18, budget.bram18);
  check(broken, "lut", used.lut, budget.lut);
  check(broken, "dram bits per cycle", cycles > 0 ? used.dram_bits / cycles : 0, budget.dram_bits_per_cycle);
  return broken;
}

std::int64_t bram18_count(std::int64_t width_bits, std::int64_t depth) {
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 6> shapes{
      {{1, 16384}, {2, 8192}, {4, 4096}, {9, 2048}, {18, 1024}, {36, 512}}};
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (const auto& [width, words] : shapes) best = std::min(best, ceil_div(width_bits, width) * ceil_div(depth, words));
  return best;
}

MemoryCost memory_cost(std::int64_t width_bits, std::int64_t depth) {
  constexpr std::int64_t small = 1024;
  if (width_bits * depth > small) return {bram18_count(width_bits, depth), 0};
  return {0, 4 * ceil_div(width_bits, 3) * ceil_div(depth, 64)};
}

std::int64_t dsp_count(std::int64_t sharing, std::int64_t copies, const LayerBits& bits) {
  const int wide = bits.widest();
  const int narrow = std::min(bits.weight, bits.activation);
  if (wide <= 4) return ceil_div(sharing, 4) * copies;
  if (wide <= 8) return ceil_div(sharing, 2) * copies;
  if (wide <= 25 && narrow <= 18) return sharing * copies;
  // Unsigned parts of 24 x 17 bits: the sign takes one bit of each port.
  return sharing * copies * ceil_div(wide, 24) * ceil_div(narrow, 17);
}

}  // namespace kasimir
