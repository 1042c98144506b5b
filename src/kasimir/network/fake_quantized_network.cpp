// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/fake_quantized_network.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/grid_domain.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr double offset_unit = 0x1p-24;

/// a * b + c rounded once to a multiple of 2^-16; exact until then, since the three are multiples of small powers of
/// two: the rounding errors of product and sum are numbers themselves, and so is their sum.
double multiply_add(double a, double b, double c) {
  const double product = a * b;
  const double product_rest = std::fma(a, b, -product);
  const double sum = product + c;
  const double back = sum - product;
  const double sum_rest = (product - (sum - back)) + (c - back);
  const double rest = product_rest + sum_rest;
  const double high = sum + rest;
  const double low = rest - (high - sum);
  return clamp_grid(round_pair(high / grid_unit, low / grid_unit) * grid_unit);
}

std::vector<double> codes_of(const std::vector<GridValue>& values, double step, const IntegerFormat& format) {
  const double inverse = round_stored(1 / step);
  std::vector<double> codes;
  for (const GridValue& value : values)
    codes.push_back(std::clamp(std::nearbyint(value.value * inverse), static_cast<double>(format.lowest()),
                               static_cast<double>(format.highest())));
  return codes;
}

/// The sum of products of codes is exact; its factor is part of the scale.
std::vector<GridValue> run_sum(const CodeSums& product, const QuantizedSum& sum, const std::vector<GridValue>& input) {
  const std::vector<double> sums = product.sums(codes_of(input, sum.activation_step, sum.activation_format));
  std::vector<GridValue> result;
  result.reserve(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto slice = static_cast<std::size_t>(sum.slices[i]);
    const double scale = round_stored(sum.scale[slice] / grid_unit) * grid_unit;
    const double offset =
        sum.offset.empty() ? 0
                           : std::clamp(std::nearbyint(sum.offset[slice] / offset_unit) * offset_unit, -0x1p16, 0x1p16);
    result.push_back({multiply_add(sums[i], scale, offset), false});
  }
  return result;
}

}  // namespace

FakeQuantizedNetwork::FakeQuantizedNetwork(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                           const Quantization& quantization)
    : quantized_(quantize_network(plan, weights, quantization)) {
  for (const QuantizedStage& of : quantized_.stages) {
    if (!of.sum) continue;
    const QuantizedSum& sum = *of.sum;
    sums_.emplace(of.stage, CodeSums(quantized_.graph, quantized_.graph.stages[of.stage], sum.activation, sum.weight,
                                     sum.weight_codes));
  }
}

std::vector<double> FakeQuantizedNetwork::scores(std::span<const float> image) const {
  const BoundGraph& graph = quantized_.graph;
  TensorValues<GridValue> values(graph.tensors.size());
  for (std::size_t t = 0; t < values.size(); ++t)
    for (const double value : quantized_.stored[t]) values[t].push_back({value, true});
  KASIMIR_CHECK(
      static_cast<std::int64_t>(image.size()) == elements(graph.tensors[static_cast<std::size_t>(graph.input)]),
      "an image of {} numbers", image.size());
  for (const float pixel : image) values[static_cast<std::size_t>(graph.input)].push_back({to_grid(pixel), false});
  for (const QuantizedStage& of : quantized_.stages) {
    if (of.sum) {
      values[static_cast<std::size_t>(of.sum->out)] =
          run_sum(sums_.at(of.stage), *of.sum, values[static_cast<std::size_t>(of.sum->activation.tensor)]);
    } else {
      GridDomain grid;
      evaluate_stage(graph, graph.stages[of.stage], grid, values);
    }
  }
  std::vector<double> result;
  for (const GridValue& value : values[static_cast<std::size_t>(graph.output)]) result.push_back(value.value);
  return result;
}

}  // namespace kasimir
