// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/fused_training.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/train/training_speed.h"

#include <algorithm>
#include <map>

namespace kasimir {
namespace {

/// Nothing where ATen is to be used; the reason is added.
std::shared_ptr<TrainingKernel> compiled(const KernelModule& module, std::int64_t batch, KernelTraining how,
                                         std::vector<std::string>& reasons) {
  TrainingSpeedOptions options;
  options.batch = batch;
  options.repeats = how == KernelTraining::automatic ? 5 : 0;
  options.min_seconds = 0;
  const auto speed = time_training(module.kernel(), module.site(), options);
  std::string reason;
  if (!speed.ok())
    reason = speed.rejection().str();
  else if (how == KernelTraining::automatic && speed->fused_ms >= speed->aten_ms)
    reason = "ATen is faster";
  if (reason.empty()) return speed->compiled;
  if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
  return nullptr;
}

}  // namespace

FusedUse fuse_kernels(Model::Impl& model, std::int64_t batch, KernelTraining how, std::int64_t steps) {
  FusedUse use;
  const std::vector<KernelModule*> kernels = model.kernels();
  use.kernels = static_cast<int>(kernels.size());
  if (how == KernelTraining::aten || kernels.empty()) return use;
  if (how == KernelTraining::automatic && steps < fewest_steps) {
    use.reasons.push_back(fmt::format("{} steps are too few for compiling to pay", steps));
    return use;
  }
  const Stopwatch watch;
  std::map<std::string, std::shared_ptr<TrainingKernel>> known;
  for (KernelModule* module : kernels) {
    const std::string place = str(module->kernel()) + module->site().str();
    if (!known.contains(place)) known[place] = compiled(*module, batch, how, use.reasons);
    if (known[place] == nullptr) continue;
    module->use_fused(batch, known[place]);
    ++use.fused;
  }
  use.seconds = watch.seconds();
  return use;
}

}  // namespace kasimir
