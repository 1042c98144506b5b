// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/architecture.h"

#include "kasimir/base/error.h"
#include "kasimir/hardware/pipeline/fpga.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace kasimir {
namespace {

double rounds(int bits, int width) { return std::ceil(static_cast<double>(bits) / width); }

/// Products of one DSP48E2 or DSP58 that share an operand, by the wider of the two.
double packed_products(MacEngine engine, int bits) {
  if (bits <= 3) return 6;
  if (bits <= 4) return 4;
  if (bits <= 8) return engine == MacEngine::dsp58 ? 3 : 2;
  return 1;
}

/// FINN-R (TRETS 2018) fits 1.1 * (SIMD * (2 * ceil((W + A) / 6) - 1) * (W + A) + (W + A) * (2 * SIMD - 1)) LUT to a
/// dot product; this is its part for each of the SIMD products.
double lut_of_product(int input, int weight) {
  const double sum = input + weight;
  return 1.1 * ((2 * rounds(input + weight, 6) - 1) * sum + 2 * sum);
}

}  // namespace

MacCost mac_cost(const ComputeUnit& unit, int input, int weight) {
  MacCost result{.operations_per_cycle = unit.operations_per_cycle,
                 .energy_pj = unit.energy_pj,
                 .area_um2 = unit.area_um2,
                 .dsp = 0,
                 .lut = 0};
  for (const PrecisionEntry& entry : unit.table)
    if (entry.input_bits == input && entry.weight_bits == weight) {
      result.operations_per_cycle = entry.operations_per_cycle;
      result.energy_pj = entry.energy_pj;
      result.area_um2 = entry.area_um2;
      return result;
    }
  const double inputs = static_cast<double>(input) / unit.input_bits;
  const double weights = static_cast<double>(weight) / unit.weight_bits;
  double time = 1;  // of an operation, relative to one at the native widths
  switch (unit.engine) {
    case MacEngine::fixed:
      time = rounds(input, unit.input_bits) * rounds(weight, unit.weight_bits);
      result.area_um2 *= inputs * weights;
      result.energy_pj *= unit.gates_operands ? inputs * weights : time;
      result.operations_per_cycle /= time;
      return result;
    case MacEngine::bit_serial:
      time = inputs * rounds(weight, unit.weight_bits);
      result.area_um2 *= weights;
      break;
    case MacEngine::bit_serial_both:
      time = inputs * weights;
      break;
    case MacEngine::bit_fusion:
      time = rounds(input, 2) * rounds(weight, 2) / (rounds(unit.input_bits, 2) * rounds(unit.weight_bits, 2));
      result.area_um2 *= time;
      break;
    case MacEngine::dsp48:
    case MacEngine::dsp58:
      // a DSP48E2 multiplies 18 by 27 bits; anything wider is put together of several passes
      time = rounds(std::min(input, weight), 18) * rounds(std::max(input, weight), 27) /
             packed_products(unit.engine, std::max(input, weight));
      result.dsp = 1;
      break;
    case MacEngine::lut:
      result.energy_pj *= inputs * weights;
      result.lut = lut_of_product(input, weight);
      return result;
  }
  result.operations_per_cycle /= time;
  result.energy_pj *= time;
  return result;
}

double Architecture::units() const { return instances(levels.size()); }

double Architecture::instances(std::size_t level) const {
  double product = 1;
  for (std::size_t l = 0; l < level; ++l) product *= static_cast<double>(levels[l].fan_out());
  return product;
}

namespace {

double kib(const MemoryLevel& level) { return std::isinf(level.capacity_bits) ? 0 : level.capacity_bits / 8192; }

}  // namespace

double access_pj(const MemoryLevel& level, double base) { return base + level.access_pj_per_kib * kib(level); }

double Architecture::area_um2() const {
  double area = units() * compute.area_um2;
  for (std::size_t l = 0; l < levels.size(); ++l)
    area += instances(l) * (levels[l].area_um2 + levels[l].area_um2_per_kib * kib(levels[l]));
  return area;
}

double Architecture::leakage_mw() const {
  double leakage = units() * compute.leakage_mw;
  for (std::size_t l = 0; l < levels.size(); ++l) leakage += instances(l) * levels[l].leakage_mw;
  return leakage;
}

namespace {

/// Bits that go through the busiest port in a cycle, at least one.
double port_bits(const MemoryLevel& level) {
  double widest = 0;
  for (const double rate : {level.bandwidth, level.read_bandwidth, level.write_bandwidth})
    if (!std::isinf(rate)) widest = std::max(widest, rate);
  return std::max(1.0, std::ceil(widest));
}

/// Of one instance.
double bram18_of(const MemoryLevel& level) {
  const double width = port_bits(level);
  const auto blocks = [&](double bits) {
    return static_cast<double>(
        bram18_count(static_cast<std::int64_t>(width), static_cast<std::int64_t>(std::ceil(bits / width))));
  };
  double parts = 0;
  for (const double bits : level.partition_bits)
    if (!std::isinf(bits)) parts += blocks(bits);
  return parts > 0 ? parts : blocks(level.capacity_bits);
}

}  // namespace

double Architecture::bram18() const {
  double sum = 0;
  for (std::size_t l = 0; l < levels.size(); ++l)
    if (levels[l].block_ram) sum += instances(l) * bram18_of(levels[l]);
  return sum;
}

int Architecture::find_level(std::string_view level) const {
  for (std::size_t l = 0; l < levels.size(); ++l)
    if (levels[l].name == level) return static_cast<int>(l);
  return -1;
}

namespace {

void check_level(const MemoryLevel& level) {
  for (const double value : {level.capacity_bits, level.bandwidth, level.read_bandwidth, level.write_bandwidth,
                             level.partition_bits[0], level.partition_bits[1], level.partition_bits[2]})
    if (!(value > 0))
      throw input_error("level {}: a capacity or bandwidth of {}, more than 0 is needed", level.name, value);
  for (const double value :
       {level.read_pj, level.write_pj, level.access_pj_per_kib, level.read_pj_per_bit, level.write_pj_per_bit,
        level.hop_pj_per_bit, level.leakage_mw, level.area_um2, level.area_um2_per_kib})
    if (!(value >= 0) || std::isinf(value))
      throw input_error("level {}: an energy, area or power of {}, at least 0 is needed", level.name, value);
  for (const FanOut* fan : {&level.x, &level.y})
    if (fan->size < 1) throw input_error("level {}: a fan-out of {}, at least 1 is needed", level.name, fan->size);
  const auto& parts = level.partition_bits;
  if (level.block_ram && std::isinf(level.capacity_bits) &&
      std::all_of(parts.begin(), parts.end(), [](double bits) { return std::isinf(bits); }))
    throw input_error("level {}: block RAMs without a capacity, at least one is needed", level.name);
}

void check_compute(const ComputeUnit& unit) {
  if (unit.input_bits < 1 || unit.input_bits > 64 || unit.weight_bits < 1 || unit.weight_bits > 64)
    throw input_error("compute: operands of {} and {} bits, 1 to 64 are possible", unit.input_bits, unit.weight_bits);
  if (!(unit.operations_per_cycle > 0))
    throw input_error("compute: {} operations per cycle, more than 0 is needed", unit.operations_per_cycle);
  for (const double value : {unit.energy_pj, unit.area_um2, unit.leakage_mw})
    if (!(value >= 0)) throw input_error("compute: an energy, area or power of {}, at least 0 is needed", value);
  for (const PrecisionEntry& entry : unit.table)
    if (!(entry.operations_per_cycle > 0) || !(entry.energy_pj >= 0) || !(entry.area_um2 >= 0))
      throw input_error(
          "compute: the entry for {} x {} bits needs a speed above 0, an energy and an area of at least 0",
          entry.input_bits, entry.weight_bits);
}

}  // namespace

void check_architecture(const Architecture& architecture) {
  if (architecture.levels.empty() || architecture.levels.size() > static_cast<std::size_t>(max_levels))
    throw input_error("architecture {} has {} levels, 1 to {} are possible", architecture.name,
                      architecture.levels.size(), max_levels);
  if (!(architecture.clock_mhz > 0))
    throw input_error("architecture {}: a clock of {} MHz, more than 0 is needed", architecture.name,
                      architecture.clock_mhz);
  std::set<std::string> names;
  for (const MemoryLevel& level : architecture.levels) {
    if (level.name.empty()) throw input_error("architecture {}: a level has no name", architecture.name);
    if (!names.insert(level.name).second)
      throw input_error("architecture {}: level {} is there twice", architecture.name, level.name);
    check_level(level);
  }
  if (architecture.levels.front().keeps != all_roles)
    throw input_error("architecture {}: the outermost level {} must keep input, weight and output", architecture.name,
                      architecture.levels.front().name);
  check_compute(architecture.compute);
}

}  // namespace kasimir
