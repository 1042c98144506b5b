// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/training_speed.h"

#include "kasimir/base/statistics.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/train/kernel_module.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <ctime>

namespace kasimir {
namespace {

double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// What one step gives.
struct StepResult {
  at::Tensor output;
  std::vector<at::Tensor> statistics;
  std::vector<at::Tensor> gradients;  ///< by the input, then by each learned part; undefined where there is none
};

class Side {
 public:
  Side(KernelModule& module, const at::Tensor& input, const at::Tensor& cotangent)
      : module_(module), input_(input.detach().clone().requires_grad_(true)), cotangent_(cotangent) {}

  StepResult step() {
    input_.mutable_grad().reset();
    for (Part& part : module_.parts()) part.tensor.mutable_grad().reset();
    StepResult made;
    made.output = module_.forward(input_, true);
    if (made.output.requires_grad()) made.output.backward(cotangent_);
    made.gradients.push_back(input_.grad());
    for (const Part& part : module_.parts()) {
      if (part.learned) {
        made.gradients.push_back(part.tensor.grad());
      } else {
        made.statistics.push_back(part.tensor.clone());
      }
    }
    return made;
  }

 private:
  KernelModule& module_;
  at::Tensor input_;
  at::Tensor cotangent_;
};

double largest(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? at::abs(tensor.detach()).amax().item<double>() : 0;
}

/// Relative to the largest value of the tensor, or to a share of the largest anywhere where it is all but zero.
double error_of(const at::Tensor& found, const at::Tensor& expected, double anywhere) {
  const double scale = std::max({largest(expected), 1e-3 * anywhere, 1e-30});
  if (!found.defined() || !expected.defined()) return (largest(found) + largest(expected)) / scale;
  const double error = largest(at::sub(found.detach(), expected.detach())) / scale;
  return std::isnan(error) ? INFINITY : error;
}

double worst_error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  double anywhere = 0;
  for (const at::Tensor& tensor : expected) anywhere = std::max(anywhere, largest(tensor));
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, error_of(found[i], expected[i], anywhere));
  return worst;
}

}  // namespace

Outcome<TrainingSpeed> time_training(const Kernel& kernel, const Site& site, const TrainingSpeedOptions& options) {
  TrainingSpeed speed;
  speed.site = site;
  const Stopwatch compiling;
  auto compiled = TrainingKernel::build(kernel, site, options.batch, options.compiled);
  if (!compiled.ok()) return compiled.rejection();
  speed.compile_seconds = compiling.seconds();
  speed.compiled = *compiled;
  speed.plan = (*compiled)->plan();

  at::Generator generator = at::detail::createCPUGenerator(options.seed);
  KernelModule aten(kernel, site, "", {}, at::detail::createCPUGenerator(options.seed + 1));
  KernelModule fused(kernel, site, "", {}, at::detail::createCPUGenerator(options.seed + 1));
  fused.use_fused(options.batch, *compiled);
  {
    // Scales and offsets away from where they start, so that forgetting one shows.
    const at::NoGradGuard fixed;
    for (std::size_t p = 0; p < aten.parts().size(); ++p) {
      Part& part = aten.parts()[p];
      if (!part.decays) part.tensor.add_(at::empty_like(part.tensor).uniform_(0, 0.2, generator));
      fused.parts()[p].tensor.copy_(part.tensor);
    }
  }
  const auto drawn = [&](std::int64_t channels, std::int64_t rows, std::int64_t columns) {
    return at::empty({options.batch, channels, rows, columns}, at::kFloat)
        .normal_(0, 1, generator)
        .contiguous(at::MemoryFormat::ChannelsLast);
  };
  const at::Tensor input = drawn(site.ci, site.s * site.h, site.s * site.w);
  const at::Tensor cotangent = drawn(site.co, site.h, site.w);
  Side theirs(aten, input, cotangent);
  Side ours(fused, input, cotangent);
  const StepResult expected = theirs.step();
  const StepResult found = ours.step();
  std::vector<at::Tensor> values{expected.output};
  values.insert(values.end(), expected.statistics.begin(), expected.statistics.end());
  std::vector<at::Tensor> found_values{found.output};
  found_values.insert(found_values.end(), found.statistics.begin(), found.statistics.end());
  speed.value_error = worst_error(found_values, values);
  speed.gradient_error = worst_error(found.gradients, expected.gradients);
  if (!(std::max(speed.value_error, speed.gradient_error) <= options.bound))
    return Rejection{"training: fused gradients are those of ATen",
                     fmt::format("{} at {}: off by {:.2g} in values and {:.2g} in gradients of the largest one",
                                 kernel.name, site.str(), speed.value_error, speed.gradient_error)};

  if (options.repeats == 0) return speed;
  std::vector<double> aten_ms;
  std::vector<double> fused_ms;
  const Stopwatch watch;
  while (static_cast<int>(aten_ms.size()) < options.repeats || watch.seconds() < options.min_seconds) {
    for (auto& [side, samples] : {std::pair(&theirs, &aten_ms), {&ours, &fused_ms}}) {
      const double start = processor_milliseconds();
      side->step();
      samples->push_back(processor_milliseconds() - start);
    }
  }
  speed.aten_ms = median(aten_ms);
  speed.fused_ms = median(fused_ms);
  return speed;
}

}  // namespace kasimir
