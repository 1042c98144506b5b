// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/kernel_latency.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/kernel_module.h"
#include "kasimir/train/native_latency.h"

#include <ATen/CPUGeneratorImpl.h>

namespace kasimir {
namespace {

/// Scales, offsets and statistics away from where they start, so that forgetting one shows.
void stir(KernelModule& module, const at::Generator& generator) {
  const at::NoGradGuard fixed;
  for (Part& part : module.parts())
    if (!part.decays) part.tensor.add_(at::empty_like(part.tensor).uniform_(0, 0.2, generator));
}

/// The kernel as C with the module's values.
struct Built {
  GraphC made;
  std::vector<float> weights;
};
Built as_c(const Kernel& kernel, const Site& site, KernelModule& module, const LatencyOptions& options,
           const COptions& names) {
  auto bound = lower_at(kernel, site, options.batch);
  KASIMIR_CHECK(bound.ok(), "kernel {} at {}: {}", kernel.name, site.str(), bound.rejection().str());
  const BoundGraph graph = freeze(*bound);
  Built built{graph_as_c(graph, names), {}};
  std::vector<std::vector<float>> values(built.made.program.tensors.size());
  for (const Part& part : module.parts())
    for (std::size_t t = 0; t < graph.tensors.size(); ++t)
      if ("." + graph.tensors[t].name == part.name) values[t] = floats_of(part.tensor);
  built.weights = pack_weights(built.made.c, values);
  return built;
}

}  // namespace

Outcome<KernelTiming> time_kernel(const Kernel& kernel, const Site& site, const LatencyOptions& options,
                                  const NativeOptions& native) {
  KernelTiming timing;
  timing.site = site;
  const VerifyResult verified = verify_kernel(kernel, site, options.verify);
  timing.verified = verified.error;
  const auto refused = [&](double error) {
    return Rejection{"latency: the kernel computes what it means",
                     fmt::format("{} at {} is off by {:.2g} of its largest value", kernel.name, site.str(), error)};
  };
  if (!verified.ok) return refused(verified.error);

  const at::NoGradGuard no_gradients;
  const at::Generator generator = at::detail::createCPUGenerator(options.seed);
  KernelModule module(kernel, site, "", {}, generator);
  stir(module, generator);
  COptions names;
  names.name = "kernel";
  names.target = host_target();
  names.threads = options.threads;
  names.input = names.output = ImageLayout::nhwc;
  const Built built = as_c(kernel, site, module, options, names);
  timing.counts = count_multiplications(built.made.program, built.made.c.methods, names.target);
  timing.work = count_work(built.made.program, built.made.c.methods, names.target);
  auto program = NativeNetwork::build(built.made.c, names, built.weights, native);
  if (!program.ok()) return program.rejection();
  timing.compile_seconds = program->compile_seconds();

  const at::Tensor x = at::empty({options.batch, site.ci, site.s * site.h, site.s * site.w}, at::kFloat)
                           .normal_(0, 1, generator)
                           .contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor expected = module.forward(x, false);
  const auto found = program->run(floats_of(x.permute({0, 2, 3, 1})));
  if (!found.ok()) return found.rejection();
  timing.error = relative_error(*found, floats_of(expected.permute({0, 2, 3, 1})));
  if (timing.error > options.verify.bound) return refused(timing.error);

  std::vector<double> ours;
  std::vector<double> theirs;
  for (int i = 0; i < options.warmup; ++i) module.forward(x, false);
  if (const auto warm = program->time(std::max(1, options.warmup)); !warm.ok()) return warm.rejection();
  const Stopwatch watch;
  while (static_cast<int>(ours.size()) < options.repeats ||
         (watch.seconds() < options.min_seconds && static_cast<int>(ours.size()) < options.most_repeats)) {
    const auto sample = program->time(1);
    if (!sample.ok()) return sample.rejection();
    ours.push_back(sample->front().wall_ms);
    const Stopwatch of_run;
    module.forward(x, false);
    theirs.push_back(of_run.milliseconds());
  }
  timing.native = quartiles(ours);
  timing.eager = quartiles(theirs);
  return timing;
}

}  // namespace kasimir
