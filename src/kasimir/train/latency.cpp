// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/latency.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/train/machine.h"
#include "kasimir/train/model.h"
#include "kasimir/train/network_module.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

double run_once(Model& model, const at::Tensor& images) {
  const Stopwatch watch;
  const at::Tensor scores = model.impl().forward(images, false);
  const double time = watch.milliseconds();
  KASIMIR_CHECK(scores.defined(), "no scores");
  return time;
}

void check_options(const LatencyOptions& options) {
  if (options.batch < 1 || options.repeats < 1 || options.warmup < 0)
    throw input_error("latency: batch {}, {} repeats, {} to warm up: at least 1, 1 and 0 are needed", options.batch,
                      options.repeats, options.warmup);
}

}  // namespace

Outcome<std::vector<VerifyResult>> verify_kernels(const NetworkPlan& plan, const VerifyOptions& options) {
  std::vector<VerifyResult> checks;
  std::vector<std::pair<std::string, Site>> seen;
  for (const auto& [layer, replacement] : plan.replaced) {
    std::pair<std::string, Site> key{str(replacement.first), replacement.second};
    if (std::ranges::count(seen, key) > 0) continue;
    seen.push_back(std::move(key));
    checks.push_back(verify_kernel(replacement.first, replacement.second, options));
    const VerifyResult& check = checks.back();
    if (!check.ok)
      return Rejection{"latency: the kernel computes what it means",
                       fmt::format("{} at {} is off by {:.2g} of its largest value", check.kernel,
                                   check.checked_at.str(), check.error)};
  }
  return checks;
}

Quartiles quartiles(std::vector<double> samples) {
  KASIMIR_CHECK(!samples.empty(), "no samples");
  std::ranges::sort(samples);
  // Linear between the neighbouring samples.
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (place - std::floor(place)) * (samples[above] - samples[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

Outcome<LatencySamples> measure_latency(const NetworkPlan& candidate, const NetworkPlan& original,
                                        const LatencyOptions& options) {
  check_options(options);
  set_threads(options.threads);
  LatencySamples samples;
  auto checks = verify_kernels(candidate, options.verify);
  if (!checks.ok()) return checks.rejection();
  samples.checks = *std::move(checks);

  const at::InferenceMode inference;
  Model ours(candidate, {.seed = options.seed});
  Model theirs(original, {.seed = options.seed});
  const Shape3 in = candidate.network->input();
  const at::Tensor images =
      at::randn({options.batch, in.c, in.h, in.w}, at::kFloat).contiguous(at::MemoryFormat::ChannelsLast);
  for (int i = 0; i < options.warmup; ++i) {
    run_once(theirs, images);
    run_once(ours, images);
  }
  const Stopwatch watch;
  const auto most = static_cast<std::size_t>(std::max(options.repeats, options.most_repeats));
  while (samples.candidate_ms.size() < static_cast<std::size_t>(options.repeats) ||
         (watch.seconds() < options.min_seconds && samples.candidate_ms.size() < most)) {
    samples.original_ms.push_back(run_once(theirs, images));
    samples.candidate_ms.push_back(run_once(ours, images));
  }
  samples.candidate = quartiles(samples.candidate_ms);
  samples.original = quartiles(samples.original_ms);
  samples.speedup = samples.original.median / samples.candidate.median;
  samples.machine = describe_machine().str();
  return samples;
}

}  // namespace kasimir
