// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/network_module.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

// Momentum and epsilon of PyTorch's BatchNorm2d.
constexpr double norm_momentum = 0.1;
constexpr double norm_epsilon = 1e-5;

}  // namespace

/// The start value of one of a layer's tensors.
struct Model::Impl::Maker {
  const LayerPart& part;
  at::Generator generator;

  at::Tensor operator()(const layer::Conv& op) const {
    if (part.kind == PartKind::bias) return at::zeros(part.shape, at::kFloat);
    const std::int64_t fan_out = op.out / op.groups * op.kernel_h * op.kernel_w;
    return at::empty(part.shape, at::kFloat)
        .normal_(0.0, std::sqrt(2.0 / static_cast<double>(fan_out)), generator)
        .contiguous(at::MemoryFormat::ChannelsLast);
  }
  at::Tensor operator()(const layer::BatchNorm&) const {
    const bool one = part.kind == PartKind::norm_scale || part.kind == PartKind::running_var;
    return at::full(part.shape, one ? 1.0 : 0.0, at::kFloat);
  }
  at::Tensor operator()(const layer::ChannelNorm&) const {
    return at::full(part.shape, part.kind == PartKind::norm_scale ? 1.0 : 0.0, at::kFloat);
  }
  at::Tensor operator()(const layer::LearnedMap&) const {
    // As Vision Transformers begin (arXiv 2010.11929, published code).
    return at::empty(part.shape, at::kFloat).normal_(0.0, 0.02, generator);
  }
  at::Tensor operator()(const layer::Linear& op) const {
    const double bound = 1.0 / std::sqrt(static_cast<double>(op.in));
    return at::empty(part.shape, at::kFloat).uniform_(-bound, bound, generator);
  }
  template <typename Other>
  at::Tensor operator()(const Other&) const {
    KASIMIR_CHECK(false, "a layer without weights has the tensor {}", part.name);
  }
};

/// What one layer computes.
struct Model::Impl::Runner {
  const Impl& model;
  const Layer& layer;
  Node& node;
  const std::vector<at::Tensor>& values;
  bool training;

  [[nodiscard]] const at::Tensor& input(std::size_t i = 0) const {
    return values[static_cast<std::size_t>(layer.inputs[i])];
  }
  [[nodiscard]] const at::Tensor& part(std::size_t i) const { return node.parts[i].tensor; }

  /// The input and the weight of a convolution or fully connected layer, as they are to be multiplied.
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> operands() const {
    std::pair<at::Tensor, at::Tensor> pair{input(), part(0)};
    if (model.operands) model.operands(node.parts[0].name, pair.first, pair.second);
    return pair;
  }

  /// True if the input may be overwritten: nobody else reads it, and the layer that made it does not need it again.
  [[nodiscard]] bool may_overwrite() const {
    const auto from = static_cast<std::size_t>(layer.inputs[0]);
    const Op& op = model.network.layers()[from].op;
    // A hook may give the result of one layer for that of another.
    const bool forgets =
        std::holds_alternative<layer::BatchNorm>(op) || (std::holds_alternative<layer::Add>(op) && !model.around);
    return forgets && model.nodes_[from].readers == 1 && !model.nodes_[from].kernel;
  }

  at::Tensor operator()(const layer::Input&) const { return values[0]; }
  at::Tensor operator()(const layer::Conv& op) const {
    if (node.kernel) return node.kernel->forward(input(), training, model.operands);
    const std::optional<at::Tensor> bias = op.bias ? std::optional(part(1)) : std::nullopt;
    const auto [x, weight] = operands();
    return at::conv2d(x, weight, bias, {op.stride, op.stride}, {op.pad_h, op.pad_w}, {op.dilation, op.dilation},
                      op.groups);
  }
  at::Tensor operator()(const layer::BatchNorm&) const {
    return at::batch_norm(input(), part(0), part(1), part(2), part(3), training, norm_momentum, norm_epsilon, true);
  }
  at::Tensor operator()(const layer::Activation& op) const {
    at::Tensor x = input();
    switch (op.kind) {
      case layer::ActivationKind::relu:
        return may_overwrite() ? x.relu_() : at::relu(x);
      case layer::ActivationKind::relu6:
        return at::hardtanh(x, 0.0, 6.0);
      case layer::ActivationKind::hardswish:
        return at::hardswish(x);
      case layer::ActivationKind::sigmoid:
        return at::sigmoid(x);
      case layer::ActivationKind::tanh:
        return at::tanh(x);
      case layer::ActivationKind::silu:
        return at::silu(x);
      case layer::ActivationKind::gelu:
        return at::gelu(x);
      case layer::ActivationKind::hardsigmoid:
        return at::hardsigmoid(x);
    }
    KASIMIR_CHECK(false, "activation {}", static_cast<int>(op.kind));
  }
  at::Tensor operator()(const layer::Add&) const {
    at::Tensor sum = at::add(input(0), input(1));
    for (std::size_t i = 2; i < layer.inputs.size(); ++i) sum = at::add(sum, input(i));
    return sum;
  }
  at::Tensor operator()(const layer::Mul&) const { return at::mul(input(0), input(1)); }
  at::Tensor operator()(const layer::Slice& op) const { return input().narrow(1, op.first, op.count); }
  at::Tensor operator()(const layer::Shuffle& op) const { return at::channel_shuffle(input(), op.groups); }
  at::Tensor operator()(const layer::Pad& op) const {
    return at::constant_pad_nd(input(), {op.left, op.right, op.top, op.bottom});
  }
  at::Tensor operator()(const layer::ChannelNorm& op) const {
    const at::Tensor last = input().permute({0, 2, 3, 1});
    return at::layer_norm(last, {op.channels}, part(0), part(1), op.epsilon).permute({0, 3, 1, 2});
  }
  at::Tensor operator()(const layer::Rows& op) const { return input().narrow(2, op.first, op.count); }
  at::Tensor operator()(const layer::Sequence&) const { return input().flatten(2).unsqueeze(3); }
  at::Tensor operator()(const layer::LearnedMap&) const { return at::add(input(), part(0)); }
  at::Tensor operator()(const layer::Attention& op) const {
    const auto tokens = [&](std::size_t i) { return input(i).flatten(2).unflatten(1, {op.heads, -1}).transpose(2, 3); };
    const at::Tensor mean = at::scaled_dot_product_attention(tokens(0), tokens(1), tokens(2), {}, 0.0, false, op.scale);
    return mean.transpose(2, 3).reshape({mean.size(0), layer.out.c, layer.out.h, layer.out.w});
  }
  at::Tensor operator()(const layer::Concat&) const {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) all.push_back(input(i));
    return at::cat(all, 1);
  }
  at::Tensor operator()(const layer::MaxPool& op) const {
    return at::max_pool2d(input(), {op.kernel, op.kernel}, {op.stride, op.stride}, {op.padding, op.padding}, {1, 1},
                          op.ceil);
  }
  at::Tensor operator()(const layer::AvgPool& op) const {
    return at::avg_pool2d(input(), {op.kernel, op.kernel}, {op.stride, op.stride});
  }
  at::Tensor operator()(const layer::GlobalAvgPool&) const { return input().mean({2, 3}, true); }
  at::Tensor operator()(const layer::Dropout& op) const { return at::dropout(input(), op.probability, training); }
  at::Tensor operator()(const layer::Linear& op) const {
    const std::optional<at::Tensor> bias = op.bias ? std::optional(part(1)) : std::nullopt;
    const auto [x, weight] = operands();
    return at::linear(x.flatten(1), weight, bias).unsqueeze(2).unsqueeze(3);
  }
};

Model::Impl::Impl(const NetworkPlan& plan, const ModelOptions& options)
    : network(*plan.network), device_(options.device == Device::cuda ? at::kCUDA : at::kCPU) {
  if (options.device == Device::cuda && !has_cuda())
    throw input_error("device cuda: this torch finds no CUDA device")
        .note("use device cpu, or install a torch with CUDA");
  const auto count = static_cast<std::size_t>(network.input().c);
  normalisation = {std::vector<double>(count, 0.5), std::vector<double>(count, 0.5)};
  nodes_.resize(network.layers().size());
  // One generator per layer: replacing one layer leaves the others' start values as they are.
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Layer& of = network.layers()[i];
    const at::Generator generator = at::detail::createCPUGenerator(Rng(options.seed, i).bits());
    const auto replaced = plan.replaced.find(static_cast<int>(i));
    if (replaced == plan.replaced.end()) {
      for (const LayerPart& part : layer_parts(plan, static_cast<int>(i))) {
        at::Tensor value = std::visit(Maker{part, generator}, of.op);
        if (const auto* start = start_values(network, part))
          value.copy_(at::from_blob(const_cast<float*>(start->data()), part.shape, at::kFloat));
        nodes_[i].parts.push_back({part.name, value.requires_grad_(part.learned()), part.learned(),
                                   part.kind == PartKind::weight, part.learned() ? 0 : norm_momentum});
      }
    } else {
      KASIMIR_CHECK(std::holds_alternative<layer::Conv>(of.op), "layer {} ({}) is replaced", of.name, op_text(of.op));
      nodes_[i].kernel = std::make_unique<KernelModule>(replaced->second.first, replaced->second.second, of.name,
                                                        options.peepholes, generator);
    }
    for (int from : of.inputs) {
      nodes_[static_cast<std::size_t>(from)].last_reader = static_cast<int>(i);
      ++nodes_[static_cast<std::size_t>(from)].readers;
    }
  }
  if (device_.is_cpu()) return;
  for (Part* part : parts()) part->tensor = part->tensor.detach().to(device_).requires_grad_(part->learned);
}

void average_statistics(const std::vector<Part*>& statistics, std::size_t batches,
                        const std::function<void(std::size_t batch)>& run) {
  const at::NoGradGuard fixed;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    std::vector<at::Tensor> before;
    for (const Part* part : statistics) before.push_back(part->tensor.clone());
    run(batch);
    // A part moved by momentum * (batch's own - before); the mean over the batches so far moves it by
    // (batch's own - before) / number.
    const double number = static_cast<double>(batch + 1);
    for (std::size_t s = 0; s < statistics.size(); ++s) {
      at::Tensor& tensor = statistics[s]->tensor;
      tensor.copy_(before[s] + (tensor - before[s]) / (statistics[s]->momentum * number));
    }
  }
}

at::Tensor Model::Impl::forward(const at::Tensor& images, bool training, std::map<int, at::Tensor>* taps) {
  std::vector<at::Tensor> values(nodes_.size());
  values[0] = images;
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    const Layer& of = network.layers()[i];
    const auto compute = [&] { return std::visit(Runner{*this, of, nodes_[i], values, training}, of.op); };
    values[i] = around ? around(static_cast<int>(i), values, compute) : compute();
    if (taps != nullptr && taps->contains(static_cast<int>(i))) (*taps)[static_cast<int>(i)] = values[i].detach();
    for (int from : of.inputs)
      if (nodes_[static_cast<std::size_t>(from)].last_reader == static_cast<int>(i))
        values[static_cast<std::size_t>(from)].reset();
  }
  return values.back().flatten(1);
}

std::vector<Part*> Model::Impl::parts() {
  std::vector<Part*> all;
  for (Node& node : nodes_)
    for (Part& part : node.kernel ? node.kernel->parts() : node.parts) all.push_back(&part);
  return all;
}

std::vector<at::Tensor> Model::Impl::learned_steps() const {
  std::vector<at::Tensor> all;
  for (const auto& [weight, quantizer] : quantizers)
    for (const at::Tensor& steps : quantizer.learned()) all.push_back(steps);
  return all;
}

std::vector<Part*> Model::Impl::kernel_parts() {
  std::vector<Part*> all;
  for (KernelModule* kernel : kernels())
    for (Part& part : kernel->parts()) all.push_back(&part);
  return all;
}

std::vector<KernelModule*> Model::Impl::kernels() {
  std::vector<KernelModule*> all;
  for (Node& node : nodes_)
    if (node.kernel) all.push_back(node.kernel.get());
  return all;
}

}  // namespace kasimir
