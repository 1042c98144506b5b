// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/native_latency.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/codegen/network_c.h"
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/machine.h"
#include "kasimir/train/model.h"
#include "kasimir/train/network_module.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

// A program that waited longer than this share of its own time was disturbed.
constexpr double waiting_share = 0.05;

bool disturbed(const NativeSample& sample, int threads) {
  return sample.wall_ms > (1 + waiting_share) * sample.cpu_ms / threads + 0.01;
}

}  // namespace

double relative_error(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double here = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (!std::isfinite(here)) return INFINITY;
    difference = std::max(difference, here);
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

struct NativeBench::Built {
  Built(NativeNetwork compiled, int uses) : program(std::move(compiled)), threads(uses) {}
  NativeNetwork program;
  VerifyResult check;
  int threads;
};

NativeBench::NativeBench(const NetworkPlan& original, int batch, NativeOptions native)
    : original_plan_(original),
      batch_(batch),
      native_(std::move(native)),
      compiler_(compiler_version(native_.compiler)) {}
NativeBench::~NativeBench() = default;

void NativeBench::tune_with(TuningCache cache, double seconds) {
  cache_ = std::move(cache);
  tuning_seconds_ = seconds;
  original_.reset();
}

Outcome<std::unique_ptr<NativeBench::Built>> NativeBench::build(const NetworkPlan& plan,
                                                                const LatencyOptions& options) {
  const auto weights = random_weights(plan, options.seed);
  COptions names;
  names.target = host_target();
  names.threads = options.threads;
  auto made = network_as_c(plan, batch_, weights, names);
  if (!made.ok()) return made.rejection();
  if (tuning_seconds_ > 0) {
    const auto tuned = tune_network(*made, names, cache_, {.seconds = tuning_seconds_, .native = native_});
    if (!tuned.ok()) return tuned.rejection();
  }
  auto program = NativeNetwork::build(made->made.c, names, made->weights, native_);
  if (!program.ok()) return program.rejection();

  Model model(plan, {.seed = options.seed});
  model.set_tensors(weights);
  const Shape3 in = plan.network->input();
  const at::Tensor images = at::randn({batch_, in.c, in.h, in.w}, at::kFloat);
  const at::Tensor scores = model.impl().forward(images, false);
  const auto found = program->run(floats_of(images));
  if (!found.ok()) return found.rejection();
  auto built = std::make_unique<Built>(*std::move(program), made->made.c.threads);
  built->check.kernel = plan.replaced.empty() ? plan.network->name() : plan.replaced.begin()->second.first.name;
  built->check.error = relative_error(*found, floats_of(scores));
  built->check.ok = built->check.error <= options.verify.bound * native_error_allowance;
  if (!built->check.ok)
    return Rejection{"latency: the kernel computes what it means",
                     fmt::format("generated C of network {} with {}: error {:.2g} of the largest score, allowed {:.2g}",
                                 plan.network->name(), built->check.kernel, built->check.error,
                                 options.verify.bound * native_error_allowance)};
  return built;
}

Outcome<LatencySamples> NativeBench::measure(const NetworkPlan& candidate, const LatencyOptions& options) {
  if (options.batch != batch_ || options.threads < 1 || options.repeats < 1)
    throw input_error("native latency: batch {}, {} threads, {} repeats: needed batch {}, at least 1 and 1",
                      options.batch, options.threads, options.repeats, batch_);
  if (!original_) {
    auto built = build(original_plan_, options);
    if (!built.ok()) return built.rejection();
    original_ = *std::move(built);
  }
  // ATen against the interpreter, kernel by kernel; then the C against ATen, the network as a whole.
  auto checks = verify_kernels(candidate, options.verify);
  if (!checks.ok()) return checks.rejection();
  auto built = build(candidate, options);
  if (!built.ok()) return built.rejection();
  NativeNetwork& theirs = original_->program;
  NativeNetwork& ours = (*built)->program;

  LatencySamples samples;
  samples.checks = *std::move(checks);
  samples.checks.push_back((*built)->check);
  std::vector<std::pair<NativeSample, NativeSample>> quiet;
  std::vector<std::pair<NativeSample, NativeSample>> all;
  const Stopwatch watch;
  const auto wanted = static_cast<std::size_t>(options.repeats);
  const auto most = static_cast<std::size_t>(std::max(options.repeats, options.most_repeats));
  for (NativeNetwork* network : {&theirs, &ours})
    if (const auto warm = network->time(std::max(1, options.warmup)); !warm.ok()) return warm.rejection();
  while (quiet.size() < wanted || watch.seconds() < options.min_seconds) {
    if (all.size() >= most || (all.size() >= 2 * wanted && watch.seconds() >= options.min_seconds)) break;
    const auto original = theirs.time(1);
    if (!original.ok()) return original.rejection();
    const auto mine = ours.time(1);
    if (!mine.ok()) return mine.rejection();
    all.emplace_back(original->front(), mine->front());
    if (!disturbed(original->front(), original_->threads) && !disturbed(mine->front(), (*built)->threads))
      quiet.push_back(all.back());
  }
  samples.set_aside = static_cast<int>(quiet.size() >= wanted ? all.size() - quiet.size() : 0);
  for (const auto& [original, mine] : quiet.size() >= wanted ? quiet : all) {
    samples.original_ms.push_back(original.wall_ms);
    samples.candidate_ms.push_back(mine.wall_ms);
  }
  samples.candidate = quartiles(samples.candidate_ms);
  samples.original = quartiles(samples.original_ms);
  samples.speedup = samples.original.median / samples.candidate.median;
  samples.machine = fmt::format("{}; {}", describe_machine().str(), compiler_);
  return samples;
}

}  // namespace kasimir
