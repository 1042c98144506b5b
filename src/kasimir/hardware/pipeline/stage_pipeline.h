// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/layer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

/// One layer of a DNNBuilder pipeline (Zhang et al., ICCAD 2018; AccDNN), a stage of its own: `cpf` input channels
/// times `kpf` filters are multiplied per cycle.
struct DnnBuilderStage {
  ConvLayer layer;
  int cpf = 1, kpf = 1;
};

/// What a pipeline of one stage a layer costs.
struct StagePipelineCost {
  std::vector<double> cycles;  ///< of each stage for a frame
  double bottleneck = 0;
  std::size_t slowest = 0;  ///< a place in `cycles`
  double multipliers = 0;   ///< AccDNN: DSP blocks for MACs
  double macs = 0;          ///< of the network, without padded channels
  [[nodiscard]] double fps(double clock_hz) const { return clock_hz / bottleneck; }
  [[nodiscard]] double gops(double clock_hz) const { return 2 * macs * fps(clock_hz) * 1e-9; }
  /// Part of the multipliers that work, over time.
  [[nodiscard]] double efficiency() const { return macs / (bottleneck * multipliers); }
};

/// AccDNN's count: MACs / (CPF x KPF), the first layer's channels padded to 4. @throws Error (input) on no stages or a
/// factor below 1.
StagePipelineCost dnnbuilder_cost(const std::vector<DnnBuilderStage>& stages);

/// Pairs of filters share a DSP block for numbers of at most 8 bits where KPF is even.
double dnnbuilder_dsp(const DnnBuilderStage& stage);

/// A matrix-vector unit of FINN (Umuroglu et al., FPGA 2017; Blott et al., TRETS 2018): `pe` rows times `simd` columns
/// of a `rows` x `cols` matrix per cycle, for `vectors` vectors a frame.
struct FinnUnit {
  std::string name;
  std::int64_t rows = 1, cols = 1, vectors = 1;
  std::int64_t pe = 1, simd = 1;
  LayerBits bits{1, 1};
  bool operator==(const FinnUnit&) const = default;
};
/// The unit of a convolution or fully connected layer. A depthwise layer is a vector-vector unit: one row per channel,
/// the window as columns.
FinnUnit finn_unit(const ConvLayer& layer, std::int64_t pe, std::int64_t simd);

/// Cycles for a frame: (rows / PE)(cols / SIMD) vectors. @throws Error (input) unless the foldings divide the sizes.
std::int64_t finn_cycles(const FinnUnit& unit);
/// Look-up tables of a unit with multipliers in tables: FINN-R's fit (TRETS 2018), 300 + 1.1 PE (SIMD multipliers and
/// an adder tree), W + A bits wide.
double finn_lut(const FinnUnit& unit);
/// DSP blocks: HLS takes PE x SIMD x ceil((W + A) / 48); FINN's RTL unit on DSP48 packs four products of 4 bits, on
/// DSP58 three of 8 bits.
enum class FinnMultiplier { hls, rtl_dsp48_4bit, rtl_dsp58_8bit };
std::int64_t finn_dsp(const FinnUnit& unit, FinnMultiplier kind);
/// Block RAMs of 18 Kb for resident weights: a memory PE x SIMD x W bits wide, by the port shapes.
std::int64_t finn_weight_bram18(const FinnUnit& unit);
/// All units of a network. `multipliers` is the sum of PE x SIMD.
StagePipelineCost finn_cost(const std::vector<FinnUnit>& units);

/// Parts of a device up to which FINN fills it (its `platforms.py`): LUT 0.7, FF 0.5, BRAM 0.8, URAM 0.8, DSP 0.8.
struct FinnFill {
  double lut = 0.7, flip_flop = 0.5, bram = 0.8, uram = 0.8, dsp = 0.8;
};

}  // namespace kasimir
