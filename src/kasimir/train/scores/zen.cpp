// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/rng.h"
#include "kasimir/train/scores/scores.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <limits>

namespace kasimir {
namespace {

// Of the paper's section 3.3 and its code: the size of the step, images and repetitions; fewer of the latter.
constexpr double step = 0.01;
constexpr std::int64_t images = 16;
constexpr std::uint64_t repetitions = 8;

/// The layer whose result the mean over the image or the classifier reads.
int feature_layer(const Network& network) {
  int layer = static_cast<int>(network.layers().size()) - 1;
  const auto is_head = [&](const Layer& of) {
    return std::holds_alternative<layer::Linear>(of.op) || std::holds_alternative<layer::GlobalAvgPool>(of.op) ||
           std::holds_alternative<layer::Dropout>(of.op) ||
           (std::holds_alternative<layer::Activation>(of.op) && of.out.h * of.out.w == 1);
  };
  while (layer > 0 && is_head(network.layer(layer))) layer = network.layer(layer).inputs[0];
  return layer;
}

/// The longest way from the image to each layer.
std::vector<int> depths(const Network& network) {
  std::vector<int> depth;
  for (const Layer& layer : network.layers()) {
    int longest = 0;
    for (const int from : layer.inputs) longest = std::max(longest, depth[static_cast<std::size_t>(from)] + 1);
    depth.push_back(longest);
  }
  return depth;
}

bool is_variance(const LayerPart& part) {
  return part.kind == PartKind::running_var || (part.kind == PartKind::kernel_stat && part.start == 1);
}

/// One repetition: new weights, new images; the logarithm of how far the features move.
class Repetition {
 public:
  Repetition(const ScoreInput& input, std::uint64_t number) : input_(input), random_(input.seed, number) {}

  double log_distance() {
    neutralise(input_);
    draw_weights();
    std::vector<std::int64_t> shape = input_.images.sizes().vec();
    shape[0] = images;
    const at::Tensor x = normal(shape);
    const at::Tensor moved = x.add(normal(shape), step);
    const int features = feature_layer(input_.model.network);
    std::map<int, at::Tensor> taps{{features, at::Tensor()}};
    // Both in one batch, so that norms treat them alike.
    const at::Tensor both = at::cat({x, moved}, 0).contiguous(at::MemoryFormat::ChannelsLast);
    input_.model.forward(both.to(input_.model.device()), true, &taps);
    const at::Tensor found = taps.at(features).to(at::kFloat).flatten(1);
    const at::Tensor distance = found.narrow(0, 0, images).sub(found.narrow(0, images, images)).norm(2, {1}).mean();
    return std::log(distance.item<double>()) + taken_by_norms();
  }

 private:
  at::Tensor normal(const std::vector<std::int64_t>& shape) {
    return at::empty(shape, at::kFloat).normal_(0, 1, at::detail::createCPUGenerator(random_.bits()));
  }

  void draw_weights() {
    const std::vector<Part*> parts = input_.model.parts();
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (is_weight(input_.kinds[i])) parts[i]->tensor.copy_(normal(parts[i]->tensor.sizes().vec()));
  }

  /// The scale that norms took away. Running variances began at 1 and moved once towards the batch's.
  double taken_by_norms() {
    double sum = 0;
    const std::vector<Part*> parts = input_.model.parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!is_variance(input_.kinds[i])) continue;
      const double moved = parts[i]->tensor.mean().item<double>() - 1;
      sum += 0.5 * std::log(std::max(0.0, 1 + moved / parts[i]->momentum));
    }
    return sum;
  }

  const ScoreInput& input_;
  Rng random_;
};

}  // namespace

Outcome<double> zen(const ScoreInput& input) {
  const at::NoGradGuard fixed;
  const std::vector<int> depth = depths(input.model.network);
  // Without residual links, as the paper has it: of a sum, what took the longest way.
  input.model.around = [&](int layer, const std::vector<at::Tensor>& results,
                           const std::function<at::Tensor()>& compute) {
    const Layer& of = input.model.network.layer(layer);
    if (!std::holds_alternative<layer::Add>(of.op)) return without_chance(input.model, layer, results, compute);
    return results[static_cast<std::size_t>(
        *std::ranges::max_element(of.inputs, {}, [&](int from) { return depth[static_cast<std::size_t>(from)]; }))];
  };
  std::vector<double> logs;
  for (std::uint64_t i = 0; i < repetitions; ++i) logs.push_back(Repetition(input, i).log_distance());
  const double highest = *std::ranges::max_element(logs);
  if (highest == -std::numeric_limits<double>::infinity())
    return Rejection{"score: the output depends on the image", "the features stay where they are"};
  double sum = 0;
  for (const double value : logs) sum += std::exp(value - highest);
  return finite_score(highest + std::log(sum / static_cast<double>(logs.size())));
}

}  // namespace kasimir
