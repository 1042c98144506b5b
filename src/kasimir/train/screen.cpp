// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/screen.h"

#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/failure.h"
#include "kasimir/train/network_module.h"

#include <chrono>
#include <cmath>

namespace kasimir {
namespace {

using Clock = std::chrono::steady_clock;

/// One network on one batch.
class Trial {
 public:
  Trial(const NetworkPlan& plan, const ImageSet& images, const ScreenOptions& options,
        const std::map<int, at::Tensor>& taps)
      : model_(plan, ModelOptions{options.seed, options.device, {}}), taps_(taps) {
    const std::vector<std::int32_t> all = every_index(images);
    const Batcher batcher(images, channel_statistics(images, all));
    images_ = image_tensor(batcher, all).to(model_.impl().device());
    targets_ = target_tensor(batcher, all).to(model_.impl().device());
  }

  /// A forward and a backward pass; their seconds.
  double step() {
    for (Part* part : model_.impl().parts())
      if (part->learned) part->tensor.mutable_grad() = at::Tensor();
    const auto start = Clock::now();
    scores_ = model_.impl().forward(images_, true, &taps_);
    mean_loss(scores_, targets_).backward();
    scores_ = scores_.detach();
    finite_ = scores_.isfinite().all().item<bool>();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  [[nodiscard]] bool finite() const { return finite_; }
  [[nodiscard]] double variance(int layer) const { return taps_.at(layer).to(at::kFloat).var().item<double>(); }
  [[nodiscard]] std::vector<Part*> kernel_parts() { return model_.impl().kernel_parts(); }
  [[nodiscard]] double images() const { return static_cast<double>(images_.size(0)); }

 private:
  Model model_;
  std::map<int, at::Tensor> taps_;
  at::Tensor images_, targets_, scores_;
  bool finite_ = false;
};

std::optional<Rejection> check_gradients(Trial& trial) {
  for (const Part* part : trial.kernel_parts()) {
    if (!part->learned) continue;
    const at::Tensor gradient = part->tensor.grad();
    if (!gradient.defined() || gradient.abs().max().item<double>() == 0.0)
      return Rejection{"screen: every weight has a gradient", fmt::format("{} has none", part->name)};
    if (!gradient.isfinite().all().item<bool>())
      return Rejection{"screen: the gradients are finite", fmt::format("{} has others", part->name)};
  }
  return std::nullopt;
}

std::optional<Rejection> check_signal(const SiteSignal& signal, const ScreenOptions& options) {
  const double ratio = signal.variance / signal.original_variance;
  if (ratio >= options.variance_low && ratio <= options.variance_high) return std::nullopt;
  return Rejection{"screen: the signal's variance is kept",
                   fmt::format("{} has {:.2g} times the original's, allowed is {:g} to {:g}", signal.layer, ratio,
                               options.variance_low, options.variance_high)};
}

void look(const NetworkPlan& plan, const ImageSet& images, const ScreenOptions& options, ScreenResult& result) {
  std::map<int, at::Tensor> taps;
  for (const auto& [layer, kernel] : plan.replaced) taps[layer] = at::Tensor();
  Trial original(NetworkPlan{plan.network, {}}, images, options, taps);
  original.step();
  result.original_seconds_per_image = original.step() / original.images();

  Trial candidate(plan, images, options, taps);
  const double first = candidate.step() / candidate.images();
  result.seconds_per_image = first;
  if (!candidate.finite()) {
    result.rejected = Rejection{"screen: the output is finite", "some class score is not"};
    return;
  }
  for (const auto& [layer, kernel] : plan.replaced) {
    result.signals.push_back({plan.network->layer(layer).name, candidate.variance(layer), original.variance(layer)});
    if (!result.rejected) result.rejected = check_signal(result.signals.back(), options);
  }
  if (!result.rejected) result.rejected = check_gradients(candidate);
  if (result.rejected) return;
  // The first step of a kernel pays for its preparation; far too slow is far too slow all the same.
  if (first < 2 * options.slowest * result.original_seconds_per_image)
    result.seconds_per_image = candidate.step() / candidate.images();
  const double times = result.seconds_per_image / result.original_seconds_per_image;
  if (times > options.slowest)
    result.rejected =
        Rejection{"screen: a training step is not too slow",
                  fmt::format("it takes {:.1f} times the original's, allowed is {:g}", times, options.slowest)};
}

}  // namespace

ScreenResult screen(const NetworkPlan& plan, const ImageSet& images, const ScreenOptions& options) {
  if (images.size() < 2) throw input_error("screen: {} images, at least 2 are needed", images.size());
  ScreenResult result;
  const MemoryMeter meter(options.memory_limit);
  const auto failed = out_of_memory_in([&] { look(plan, images, options, result); });
  result.step_bytes = meter.peak();
  if (failed) result.rejected = Rejection{"screen: memory", failed->with};
  return result;
}

}  // namespace kasimir
