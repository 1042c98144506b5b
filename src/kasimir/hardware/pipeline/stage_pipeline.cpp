// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/stage_pipeline.h"

#include "kasimir/base/division.h"
#include "kasimir/base/error.h"
#include "kasimir/hardware/pipeline/fpga.h"

#include <algorithm>

namespace kasimir {
namespace {

void add_stage(StagePipelineCost& cost, double cycles) {
  if (cycles > cost.bottleneck) {
    cost.bottleneck = cycles;
    cost.slowest = cost.cycles.size();
  }
  cost.cycles.push_back(cycles);
}

}  // namespace

StagePipelineCost dnnbuilder_cost(const std::vector<DnnBuilderStage>& stages) {
  if (stages.empty()) throw input_error("a pipeline without stages");
  StagePipelineCost cost;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const DnnBuilderStage& stage = stages[i];
    if (stage.cpf < 1 || stage.kpf < 1)
      throw input_error("stage `{}`: CPF = {}, KPF = {}, needed: at least 1", stage.layer.name, stage.cpf, stage.kpf);
    const auto macs = static_cast<double>(stage.layer.macs());
    const double padding = i == 0 && stage.layer.cin % 4 != 0
                               ? static_cast<double>(4 * ceil_div(stage.layer.cin, 4)) / stage.layer.cin
                               : 1;
    add_stage(cost, macs * padding / (stage.cpf * stage.kpf));
    cost.macs += macs * padding;
    cost.multipliers += dnnbuilder_dsp(stage);
  }
  return cost;
}

double dnnbuilder_dsp(const DnnBuilderStage& stage) {
  const bool pairs = stage.layer.bits.widest() <= 8 && stage.kpf % 2 == 0;
  return stage.cpf * stage.kpf / (pairs ? 2.0 : 1.0);
}

FinnUnit finn_unit(const ConvLayer& layer, std::int64_t pe, std::int64_t simd) {
  const Gemm product = layer.gemm();
  const std::int64_t rows = layer.depthwise() ? layer.cout : product.n;
  return {layer.name, rows, product.k, product.m * (layer.depthwise() ? 1 : layer.groups), pe, simd, layer.bits};
}

std::int64_t finn_cycles(const FinnUnit& unit) {
  if (unit.pe < 1 || unit.simd < 1 || unit.rows % unit.pe != 0 || unit.cols % unit.simd != 0)
    throw input_error("unit `{}`: PE = {} of {} rows, SIMD = {} of {} columns, needed: divisors", unit.name, unit.pe,
                      unit.rows, unit.simd, unit.cols);
  return (unit.rows / unit.pe) * (unit.cols / unit.simd) * unit.vectors;
}

double finn_lut(const FinnUnit& unit) {
  constexpr double fixed = 300, scale = 1.1;
  const std::int64_t bits = unit.bits.weight + unit.bits.activation;
  const std::int64_t multipliers = unit.simd * (2 * ceil_div(bits, 6) - 1) * bits;
  const std::int64_t adders = bits * (2 * unit.simd - 1);
  return fixed + scale * static_cast<double>(unit.pe * (multipliers + adders));
}

std::int64_t finn_dsp(const FinnUnit& unit, FinnMultiplier kind) {
  switch (kind) {
    case FinnMultiplier::hls:
      return unit.pe * unit.simd * ceil_div(unit.bits.weight + unit.bits.activation, 48);
    case FinnMultiplier::rtl_dsp48_4bit:
      return ceil_div(unit.pe, 4) * unit.simd;
    case FinnMultiplier::rtl_dsp58_8bit:
      return unit.pe * ceil_div(unit.simd, 3);
  }
  fail_check("a known multiplier", __FILE__, __LINE__, "");
}

std::int64_t finn_weight_bram18(const FinnUnit& unit) {
  return bram18_count(unit.pe * unit.simd * unit.bits.weight, ceil_div(unit.rows * unit.cols, unit.pe * unit.simd));
}

StagePipelineCost finn_cost(const std::vector<FinnUnit>& units) {
  if (units.empty()) throw input_error("a pipeline without units");
  StagePipelineCost cost;
  for (const FinnUnit& unit : units) {
    add_stage(cost, static_cast<double>(finn_cycles(unit)));
    cost.macs += static_cast<double>(unit.rows * unit.cols * unit.vectors);
    cost.multipliers += static_cast<double>(unit.pe * unit.simd);
  }
  return cost;
}

}  // namespace kasimir
