// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/score.h"

#include "kasimir/base/error.h"
#include "kasimir/data/split.h"
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/failure.h"
#include "kasimir/train/scores/score_input.h"

#include <chrono>

namespace kasimir {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<LayerPart> kinds_of(const NetworkPlan& plan) {
  std::vector<LayerPart> kinds;
  for (std::size_t i = 0; i < plan.network->layers().size(); ++i)
    for (LayerPart& part : layer_parts(plan, static_cast<int>(i))) kinds.push_back(std::move(part));
  return kinds;
}

ScoreResult result_of(const ZeroCostScore& score, const NetworkPlan& plan, const ImageSet& images,
                      const ScoreOptions& options) {
  ScoreResult result{std::string(score.name), {}, {}, 0};
  const auto start = Clock::now();
  std::optional<MemoryMeter> meter;
  if (options.memory_limit > 0) meter.emplace(options.memory_limit);
  const auto failed = out_of_memory_in([&] {
    Model model(plan, {options.seed, options.device, {}});
    const Outcome<double> value = score_of(score, plan, model, images, options.seed);
    if (value.ok()) {
      result.value = *value;
    } else {
      result.rejected = value.rejection();
    }
  });
  if (failed) result.rejected = Rejection{"score: memory", failed->with};
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace

Outcome<double> score_of(const ZeroCostScore& score, const NetworkPlan& plan, Model& model, const ImageSet& images,
                         std::uint64_t seed) {
  if (images.size() < 2) throw input_error("score: {} images, at least 2 are needed", images.size());
  const std::vector<std::int32_t> all = every_index(images);
  const Batcher batcher(images, channel_statistics(images, all));
  Model::Impl& impl = model.impl();
  const ScoreInput input{impl, kinds_of(plan), image_tensor(batcher, all).to(impl.device()),
                         target_tensor(batcher, all).to(impl.device()), seed};
  KASIMIR_CHECK(input.kinds.size() == impl.parts().size(), "{} kinds of {} parts", input.kinds.size(),
                impl.parts().size());
  impl.around = [&](int layer, const std::vector<at::Tensor>& results, const std::function<at::Tensor()>& compute) {
    return without_chance(impl, layer, results, compute);
  };
  return score.compute(input);
}

std::vector<ScoreResult> zero_cost_scores(const NetworkPlan& plan, const ImageSet& images,
                                          const std::vector<std::string>& names, const ScoreOptions& options) {
  std::vector<ScoreResult> all;
  for (const std::string& name : names) all.push_back(result_of(score_named(name), plan, images, options));
  return all;
}

}  // namespace kasimir
