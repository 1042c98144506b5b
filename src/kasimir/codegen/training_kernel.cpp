// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/training_kernel.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace kasimir {
namespace {

/// Floats at a whole cache line, zero at first.
class Floats {
 public:
  Floats() = default;
  explicit Floats(std::int64_t count) {
    // Whole pages of 2 MiB where there is much of it: a page fault costs as much as a small nest.
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    const std::size_t unit = bytes < (1U << 21U) ? 64 : std::size_t{1} << 21U;
    const std::size_t size = (bytes + unit - 1) / unit * unit;
    values_.reset(static_cast<float*>(std::aligned_alloc(unit, size)));
    if (values_ == nullptr) throw system_error("no memory for {} floats of a kernel's workspace", count);
#ifdef MADV_HUGEPAGE
    if (unit > 64) madvise(values_.get(), size, MADV_HUGEPAGE);
#endif
    std::fill_n(values_.get(), count, 0.0F);
  }
  [[nodiscard]] float* data() const { return values_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> values_;
};

/// The bytes that one image moves through the busiest nest.
std::int64_t traffic_of_image(const TrainingPass& pass) {
  std::int64_t most = 1;
  for (const Nest& nest : pass.program.run) {
    std::int64_t sum = 0;
    const auto add = [&](int tensor) {
      if (!pass.program.known[static_cast<std::size_t>(tensor)])
        sum += elements(pass.program.tensors[static_cast<std::size_t>(tensor)]);
    };
    for_each_out(nest, add);
    for_each_read(nest, [&](const BoundRead& read) { add(read.tensor); });
    most = std::max(most, sum);
  }
  return most * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t largest_divisor(std::int64_t of, std::int64_t limit) {
  std::int64_t best = 1;
  for (std::int64_t d = 1; d <= std::min(of, limit); ++d)
    if (of % d == 0) best = d;
  return best;
}

Outcome<TrainingPrograms> programs_at(const Kernel& kernel, const Site& site, std::int64_t images) {
  const auto graph = lower_at(kernel, site, images);
  if (!graph.ok()) return graph.rejection();
  return training_programs(*graph);
}

}  // namespace

struct TrainingKernel::Pass {
  using Prepare = void (*)(const float*, float*);
  using Init = void (*)(float*);
  using Step = void (*)(const float*, float*, const float* const*, float* const*, long);

  CProgram c;
  Prepare prepare = nullptr;
  Step step = nullptr;
  Floats prepared;
  Floats workspace;

  void load(void* library, const std::string& name) {
    const auto find = [&](const char* function) {
      void* found = dlsym(library, (name + function).c_str());
      KASIMIR_CHECK(found != nullptr, "a compiled training pass has no {}{}", name, function);
      return found;
    };
    prepare = reinterpret_cast<Prepare>(find("_prepare"));
    step = reinterpret_cast<Step>(find("_step"));
    prepared = Floats(c.prepared_size);
    workspace = Floats(c.workspace_size);
    reinterpret_cast<Init>(find("_init"))(workspace.data());
  }
};

Outcome<std::shared_ptr<TrainingKernel>> TrainingKernel::build(const Kernel& kernel, const Site& site,
                                                               std::int64_t batch,
                                                               const TrainingKernelOptions& options) {
  auto programs = programs_at(kernel, site, 1);
  if (!programs.ok()) return programs.rejection();
  const std::shared_ptr<TrainingKernel> made(new TrainingKernel());
  made->batch_ = made->part_ = batch;
  if (programs->images_apart && options.cache_bytes > 0) {
    const std::int64_t image = std::max(traffic_of_image(programs->forward), traffic_of_image(programs->backward));
    made->part_ = largest_divisor(batch, std::max<std::int64_t>(1, options.cache_bytes / image));
  }
  programs = programs_at(kernel, site, made->part_);
  if (!programs.ok()) return programs.rejection();
  made->programs_ = *std::move(programs);

  made->folder_ = std::make_unique<TemporaryFolder>();
  const auto file = [&](const char* name) { return (made->folder_->path() / name).string(); };
  const auto write = [&](const TrainingPass& pass, const char* name) {
    COptions names;
    names.name = name;
    names.target = options.target;
    auto result = std::make_unique<Pass>();
    result->c = generate_training_c(pass, default_methods(pass.program, options.target), names);
    write_file(file(name) + ".c", result->c.source);
    return result;
  };
  made->forward_ = write(made->programs_.forward, "forward");
  made->backward_ = write(made->programs_.backward, "backward");
  const auto compiled = compile_c(
      options.native, {"-shared", "-fPIC", "-o", file("kernel.so"), file("forward.c"), file("backward.c"), "-lm"});
  if (!compiled.ok()) return Rejection{"training: the C compiles", compiled.rejection().with};
  made->library_ = dlopen(file("kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (made->library_ == nullptr) return Rejection{"training: the library loads", dlerror()};
  made->forward_->load(made->library_, "forward");
  made->backward_->load(made->library_, "backward");
  made->weights_ = made->forward_->c.weights;
  made->weights_size_ = made->forward_->c.weights_size;
  KASIMIR_CHECK(made->weights_size_ == made->backward_->c.weights_size, "{} and {} floats of weights",
                made->weights_size_, made->backward_->c.weights_size);
  made->forward_out_ = made->arrays(made->programs_.forward, made->programs_.forward.out);
  made->backward_in_ = made->arrays(made->programs_.backward, made->programs_.backward.in);
  made->backward_out_ = made->arrays(made->programs_.backward, made->programs_.backward.out);
  return made;
}

TrainingKernel::~TrainingKernel() {
  if (library_ != nullptr) dlclose(library_);
}

std::vector<TrainingKernel::Array> TrainingKernel::arrays(const TrainingPass& pass,
                                                          const std::vector<int>& tensors) const {
  std::vector<Array> all;
  for (int tensor : tensors) {
    const BoundTensor& of = pass.program.tensors[static_cast<std::size_t>(tensor)];
    Array array{tensor, {}, strides_outside(of)};
    for (const auto& axis : of.axes) array.extents.push_back(axis.extent);
    if (!of.axes.empty() && of.axes.front().kind == AxisKind::batch) array.extents.front() = batch_;
    all.push_back(std::move(array));
  }
  return all;
}

std::string TrainingKernel::plan() const {
  std::string text;
  for (const auto& [pass, c] : {std::pair(&programs_.forward, &forward_->c), {&programs_.backward, &backward_->c}}) {
    for (std::size_t i = 0; i < pass->program.run.size(); ++i)
      text += fmt::format("{}: {}\n", str(c->methods[i]), str(pass->program, pass->program.run[i]));
    text += '\n';
  }
  return text;
}

void TrainingKernel::forward(const float* weights, const float* input, const std::vector<float*>& out) {
  const std::lock_guard lock(busy_);
  forward_->prepare(weights, forward_->prepared.data());
  forward_->step(forward_->prepared.data(), forward_->workspace.data(), &input, out.data(),
                 static_cast<long>(batch_ / part_));
}

void TrainingKernel::backward(const float* weights, const std::vector<const float*>& in,
                              const std::vector<float*>& out) {
  const std::lock_guard lock(busy_);
  backward_->prepare(weights, backward_->prepared.data());
  backward_->step(backward_->prepared.data(), backward_->workspace.data(), in.data(), out.data(),
                  static_cast<long>(batch_ / part_));
}

}  // namespace kasimir
