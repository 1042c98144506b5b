// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/recipe.h"

#include "kasimir/base/error.h"

#include <array>
#include <cmath>
#include <utility>

namespace kasimir {
namespace {

void require(bool holds, std::string_view field, double value, std::string_view needed) {
  if (!holds) throw input_error("recipe: {} is {:g}, needed is {}", field, value, needed);
}

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::automatic:
      return "automatic";
    case Precision::single:
      return "single";
    case Precision::mixed:
      return "mixed";
  }
  KASIMIR_CHECK(false, "precision {}", static_cast<int>(precision));
}

constexpr std::array kernel_trainings{std::pair{KernelTraining::aten, std::string_view("aten")},
                                      std::pair{KernelTraining::fused, std::string_view("fused")},
                                      std::pair{KernelTraining::automatic, std::string_view("auto")}};

}  // namespace

KernelTraining kernel_training(std::string_view name) {
  for (const auto& [kernels, own] : kernel_trainings)
    if (own == name) return kernels;
  KASIMIR_CHECK(false, "kernels trained by {}", name);
}

std::string_view name_of(KernelTraining kernels) {
  for (const auto& [own, name] : kernel_trainings)
    if (own == kernels) return name;
  KASIMIR_CHECK(false, "kernels trained by {}", static_cast<int>(kernels));
}

std::vector<std::string> kernel_training_names() {
  std::vector<std::string> names;
  for (const auto& [kernels, name] : kernel_trainings) names.emplace_back(name);
  return names;
}

void Recipe::check() const {
  require(epochs >= 1, "epochs", epochs, "at least 1");
  require(batch >= 2, "batch", batch, "at least 2");
  require(learning_rate > 0 && std::isfinite(learning_rate), "learning_rate", learning_rate, "above 0");
  require(warmup >= 0 && warmup < 1, "warmup", warmup, "0 or more and below 1");
  require(momentum >= 0 && momentum < 1, "momentum", momentum, "0 or more and below 1");
  require(!nesterov || momentum > 0, "momentum", momentum, "above 0 with nesterov");
  require(weight_decay >= 0, "weight_decay", weight_decay, "0 or more");
  require(label_smoothing >= 0 && label_smoothing < 1, "label_smoothing", label_smoothing, "0 or more and below 1");
  require(average >= 0 && average < 1, "average", average, "0 or more and below 1");
  require(distill >= 0 && distill <= 1, "distill", distill, "0 to 1");
  require(distill_temperature > 0 && std::isfinite(distill_temperature), "distill_temperature", distill_temperature,
          "above 0");
  require(crop_padding >= 0, "crop_padding", crop_padding, "0 or more");
  require(time_limit_s >= 0, "time_limit_s", time_limit_s, "0 or more");
  require(memory_limit >= 0, "memory_limit", static_cast<double>(memory_limit), "0 or more");
  require(threads >= 1, "threads", threads, "at least 1");
  if (kernels == KernelTraining::aten) return;
  if (device != Device::cpu || threads != 1 || precision == Precision::mixed)
    throw input_error("recipe: kernels is {} on {}, {} threads, precision {}", name_of(kernels), device_name(device),
                      threads, precision_name(precision))
        .note("compiled kernels train on the processor, on one thread, in single precision; aten does otherwise");
}

std::string Recipe::str() const {
  // Only where they are in use: records from before them stay true.
  const std::string averaged = average > 0 ? fmt::format(", weights averaged with decay {:g}", average) : "";
  const std::string distilled =
      distill > 0 ? fmt::format(", distilled with weight {:g} at temperature {:g}", distill, distill_temperature) : "";
  const std::string compiled = kernels == KernelTraining::aten ? "" : fmt::format(", kernels {}", name_of(kernels));
  return fmt::format(
      "{} epochs, batch {}, rate {:g} with warmup {:g} and cosine, momentum {:g}{}, weight decay {:g}, label smoothing "
      "{:g}, "
      "crop {}, flip {}, seed {}, {} threads, {}, precision {}{}{}{}",
      epochs, batch, learning_rate, warmup, momentum, nesterov ? " nesterov" : "", weight_decay, label_smoothing,
      crop_padding, flip ? "yes" : "no", seed, threads, device_name(device), precision_name(precision), averaged,
      distilled, compiled);
}

}  // namespace kasimir
