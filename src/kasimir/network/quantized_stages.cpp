// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/quantized_stages.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/integer_product.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace kasimir {
namespace {

class NetworkQuantizer {
 public:
  NetworkQuantizer(const NetworkPlan& plan, const std::vector<NamedTensor>& weights, const Quantization& quantization)
      : plan_(plan), quantization_(quantization), norms_(folded_norms(plan)) {
    require_covered(plan, quantization);
    for (const WeightedPlace& place : weighted_places(plan)) places_.emplace(place.weight, place);
    auto lowered = lower_network(plan, 1);
    if (!lowered.ok())
      throw input_error("network `{}` in integers: {}", plan.network->name(), lowered.rejection().str());
    lowered_ = *std::move(lowered);
    values_ = values_of(lowered_, weights);
    for (std::size_t t = 0; t < values_.size(); ++t) require_finite(t);
    for (const NamedTensor& tensor : weights) by_name_.emplace(tensor.name, &tensor);
  }

  QuantizedNetwork run() {
    std::set<int> folded;  // tensors of batch norms
    QuantizedNetwork made;
    made.stored.resize(values_.size());
    for (std::size_t t = 0; t < values_.size(); ++t) made.stored[t].assign(values_[t].begin(), values_[t].end());
    for (std::size_t s = 0; s < lowered_.graph.stages.size(); ++s) {
      const BoundStage& stage = lowered_.graph.stages[s];
      if (folded.contains(stage.out)) continue;
      const auto product = weighted_product(lowered_.graph, stage);
      if (!product) {
        made.stages.push_back({s, std::nullopt});
        continue;
      }
      made.stages.push_back({s, sum_of(stage, *product)});
      const QuantizedSum& sum = *made.stages.back().sum;
      made.stored[static_cast<std::size_t>(sum.weight.tensor)].clear();
      if (sum.out != stage.out) folded.insert(sum.out);
    }
    made.graph = std::move(lowered_.graph);
    return made;
  }

 private:
  void require_finite(std::size_t tensor) const {
    const auto& of = values_[tensor];
    const auto odd = std::ranges::count_if(of, [](float value) { return !std::isfinite(value); });
    if (odd > 0)
      throw input_error("tensor `{}`: {} of {} values are not finite", lowered_.names[tensor], odd, of.size());
  }

  QuantizedSum sum_of(const BoundStage& stage, const WeightedProduct& product) const {
    QuantizedSum sum;
    const std::string& name = lowered_.names[static_cast<std::size_t>(product.weight->tensor)];
    const WeightedPlace& place = places_.at(name);
    const QuantizedPlace& quantized = quantization_.at(name);
    sum.activation = *product.activation;
    sum.weight = *product.weight;
    sum.activation_format = quantized.activation;
    sum.activation_step = quantized.activation_step;
    sum.slices = slices_of_result(lowered_.graph, stage, *product.weight, place.channel_axes);
    sum.out = stage.out;
    sum.weight_codes = weight_codes(name, values_[static_cast<std::size_t>(sum.weight.tensor)], quantized);
    const double factor = stage.root ? std::sqrt(stage.factor.value()) : stage.factor.value();
    const std::int64_t slices = slice_count(place.shape, place.channel_axes);
    const auto same = static_cast<std::size_t>(slices) / quantized.weight_steps.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(slices); ++i)
      sum.scale.push_back(sum.activation_step * static_cast<double>(quantized.weight_steps[i / same]) * factor);
    if (norms_.contains(name)) fold_norm(norms_.at(name), sum);
    return sum;
  }

  void fold_norm(int layer, QuantizedSum& sum) const {
    const std::string& name = plan_.network->layer(layer).name;
    for (const float variance : by_name_.at(name + ".running_var")->values)
      if (!(variance >= 0)) throw input_error("tensor `{}.running_var`: {} is below zero", name, variance);
    NormFactors norm = norm_factors(name, by_name_);
    for (std::size_t c = 0; c < sum.scale.size(); ++c) sum.scale[c] *= norm.factor[c];
    sum.offset = std::move(norm.offset);
    for (const BoundStage& stage : lowered_.graph.stages)
      if (lowered_.graph.tensors[static_cast<std::size_t>(stage.out)].name == name) sum.out = stage.out;
  }

  const NetworkPlan& plan_;
  const Quantization& quantization_;
  std::map<std::string, int> norms_;
  std::map<std::string, WeightedPlace> places_;
  NetworkGraph lowered_;
  std::vector<std::vector<float>> values_;
  std::map<std::string_view, const NamedTensor*> by_name_;
};

}  // namespace

QuantizedNetwork quantize_network(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                  const Quantization& quantization) {
  return NetworkQuantizer(plan, weights, quantization).run();
}

}  // namespace kasimir
