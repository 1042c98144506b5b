// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/scores/scores.h"

namespace kasimir {
namespace {

/// The layers whose results activations read.
std::map<int, at::Tensor> before_activations(const Network& network) {
  std::map<int, at::Tensor> taps;
  for (const Layer& layer : network.layers())
    if (std::holds_alternative<layer::Activation>(layer.op)) taps[layer.inputs[0]] = at::Tensor();
  return taps;
}

/// Adds, for each pair of images, the number of units that are on for both or off for both.
void add_agreements(const at::Tensor& values, at::Tensor& sum) {
  const at::Tensor on = values.gt(0).to(at::kFloat).flatten(1);
  const at::Tensor each = on.sum(1, true);
  const at::Tensor both = on.mm(on.t());
  const at::Tensor agree = both.mul(2).sub(each).sub(each.t()).add(static_cast<double>(on.size(1)));
  sum.add_(agree.to(at::kCPU, at::kDouble));
}

/// The logarithm of the determinant of a symmetric matrix, row-major, by Cholesky; nothing if it is not positive.
std::optional<double> log_determinant(std::vector<double> a, std::size_t n) {
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const double start = a[j * n + j];
    for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
    const double pivot = a[j * n + j];
    // A pivot is what is left of a whole number after n subtractions: below this nothing but rounding is.
    if (!(pivot > 1e-10 * start)) return std::nullopt;
    sum += std::log(pivot);
    const double root = std::sqrt(pivot);
    a[j * n + j] = root;
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
      a[i * n + j] /= root;
    }
  }
  return sum;
}

}  // namespace

Outcome<double> naswot(const ScoreInput& input) {
  const at::NoGradGuard fixed;
  std::map<int, at::Tensor> taps = before_activations(input.model.network);
  if (taps.empty()) return Rejection{"score: the network has activations", "it has none"};
  const at::Tensor scores = input.model.forward(input.images, true, &taps);
  if (!scores.isfinite().all().item<bool>()) return Rejection{"score: the value is finite", "some class score is not"};
  if (auto reason = ignores_images(scores)) return *std::move(reason);
  const auto n = static_cast<std::size_t>(input.images.size(0));
  at::Tensor kernel = at::zeros({input.images.size(0), input.images.size(0)}, at::kDouble);
  for (const auto& [layer, values] : taps) add_agreements(values, kernel);
  const auto value = log_determinant({kernel.data_ptr<double>(), kernel.data_ptr<double>() + n * n}, n);
  if (!value)
    return Rejection{"score: every image has a pattern of its own",
                     fmt::format("the patterns of {} images are not independent", n)};
  return finite_score(*value);
}

}  // namespace kasimir
