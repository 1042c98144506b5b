// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/integer_network.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/fold_stored.h"
#include "kasimir/interp/integer_domain.h"
#include "kasimir/interp/integer_product.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace kasimir {
namespace {

constexpr int offset_bits = 24;  // fractional bits of the offset of a folded batch norm

/// What multiplies a sum, and what is added to it, in units of 2^-16 and 2^-24.
struct Requantizer {
  Dyadic factor;
  std::int64_t offset = 0;

  [[nodiscard]] std::int64_t code(std::int64_t sum) const {
    constexpr int spare = offset_bits - grid_bits;
    const WideInteger product = WideInteger{sum} * factor.mantissa;
    const int shift = std::max(factor.shift, spare);
    const WideInteger total = product * (WideInteger{1} << (shift - factor.shift)) +
                              WideInteger{offset} * (WideInteger{1} << (shift - spare));
    return clamp_wide(shift_rounded(total, shift), grid_lowest, grid_highest);
  }
};

/// A weighted sum ready to run.
struct SumStep {
  int activation = 0;
  int out = 0;
  Dyadic inverse_step;  ///< 1 / activation step
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  IntegerProduct product;
  std::vector<Requantizer> requantizers;  ///< per slice
  std::vector<std::int32_t> slices;       ///< per element

  void run(TensorValues<FixedValue>& values) const {
    const auto& input = values[static_cast<std::size_t>(activation)];
    std::vector<std::int32_t> codes(input.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const WideInteger scaled = WideInteger{grid_code(input[i])} * inverse_step.mantissa;
      codes[i] =
          static_cast<std::int32_t>(clamp_wide(shift_rounded(scaled, inverse_step.shift + grid_bits), lowest, highest));
    }
    const std::vector<std::int64_t> sums = product.sums(codes);
    auto& result = values[static_cast<std::size_t>(out)];
    result.resize(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      result[i] = grid_value(requantizers[static_cast<std::size_t>(slices[i])].code(sums[i]));
  }
};

/// Any other stage.
struct PlainStep {
  std::size_t stage = 0;  ///< of the graph
  IntegerDomain domain;
};

SumStep sum_step(const BoundGraph& graph, const BoundStage& stage, QuantizedSum sum) {
  const std::int64_t lowest = sum.activation_format.lowest();
  const std::int64_t highest = sum.activation_format.highest();
  std::vector<Requantizer> requantizers;
  for (std::size_t i = 0; i < sum.scale.size(); ++i) {
    Requantizer made{to_dyadic(std::ldexp(sum.scale[i], grid_bits)), 0};
    if (!sum.offset.empty()) {
      // 2^16, in units of 2^-24: beyond what the result can hold.
      constexpr double most = 0x1p40;
      const double offset = std::nearbyint(std::ldexp(sum.offset[i], offset_bits));
      made.offset = static_cast<std::int64_t>(std::clamp(offset, -most, most));
    }
    requantizers.push_back(made);
  }
  return {
      sum.activation.tensor,
      sum.out,
      to_dyadic(1 / sum.activation_step),
      lowest,
      highest,
      IntegerProduct(graph, stage, sum.activation, sum.weight, std::move(sum.weight_codes), std::max(highest, -lowest)),
      std::move(requantizers),
      std::move(sum.slices)};
}

}  // namespace

struct IntegerNetwork::Impl {
  std::string name;
  BoundGraph graph;
  std::size_t pixels = 0;
  std::int64_t macs = 0;
  TensorValues<FixedValue> stored;
  std::vector<std::variant<SumStep, PlainStep>> steps;
};

IntegerNetwork::IntegerNetwork(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                               const Quantization& quantization)
    : impl_(std::make_unique<Impl>()) {
  QuantizedNetwork quantized = quantize_network(plan, weights, quantization);
  BoundGraph& graph = quantized.graph;
  fold_stored(graph, quantized.stored);
  impl_->name = plan.network->name();
  impl_->pixels = static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(graph.input)]));
  impl_->stored.resize(quantized.stored.size());
  for (std::size_t t = 0; t < quantized.stored.size(); ++t)
    for (const double value : quantized.stored[t]) {
      if (!std::isfinite(value)) throw input_error("the stored numbers of `{}` give {}", graph.tensors[t].name, value);
      impl_->stored[t].push_back(stored_value(value));
    }
  const auto tables = std::make_shared<const GridTables>();
  for (QuantizedStage& of : quantized.stages) {
    const BoundStage& stage = graph.stages[of.stage];
    if (of.sum) {
      impl_->macs += domain(stage);
      impl_->steps.emplace_back(sum_step(graph, stage, *std::move(of.sum)));
    } else {
      impl_->steps.emplace_back(PlainStep{of.stage, IntegerDomain(tables, stage)});
    }
  }
  impl_->graph = std::move(graph);
}

IntegerNetwork::~IntegerNetwork() = default;
IntegerNetwork::IntegerNetwork(IntegerNetwork&&) noexcept = default;
IntegerNetwork& IntegerNetwork::operator=(IntegerNetwork&&) noexcept = default;

std::vector<std::int64_t> IntegerNetwork::scores(std::span<const float> image) const {
  if (image.size() != impl_->pixels)
    throw input_error("an image of {} numbers for network `{}`, needed are {}", image.size(), impl_->name,
                      impl_->pixels);
  const BoundGraph& graph = impl_->graph;
  TensorValues<FixedValue> values = impl_->stored;
  auto& input = values[static_cast<std::size_t>(graph.input)];
  for (const float pixel : image) {
    if (std::isnan(pixel)) throw input_error("an image for network `{}` with what is not a number", impl_->name);
    const double code = std::nearbyint(std::ldexp(static_cast<double>(pixel), grid_bits));
    input.push_back(grid_value(static_cast<std::int64_t>(
        std::clamp(code, static_cast<double>(grid_lowest), static_cast<double>(grid_highest)))));
  }
  for (const auto& step : impl_->steps) {
    if (const auto* sum = std::get_if<SumStep>(&step)) {
      sum->run(values);
    } else {
      const auto& plain = std::get<PlainStep>(step);
      evaluate_stage(graph, graph.stages[plain.stage], plain.domain, values);
    }
  }
  std::vector<std::int64_t> result;
  for (const FixedValue& value : values[static_cast<std::size_t>(graph.output)]) result.push_back(grid_code(value));
  return result;
}

std::int64_t IntegerNetwork::macs() const { return impl_->macs; }

}  // namespace kasimir
