// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/lower.h"

#include "kasimir/base/error.h"
#include "kasimir/network/equation.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kasimir {
namespace {

class Lowering {
 public:
  Lowering(const NetworkPlan& plan, std::int64_t batch) : plan_(plan), batch_(batch) {}

  Outcome<NetworkGraph> run() {
    const auto& layers = plan_.network->layers();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layer_ = &layers[i];
      index_ = static_cast<int>(i);
      const int tensor = plan_.replaced.contains(index_) ? kernel() : std::visit(*this, layer_->op);
      tensor_of_.push_back(tensor);
    }
    if (rejection_) return *rejection_;
    result_.graph.output = tensor_of_.back();
    result_.graph = freeze(result_.graph);
    return std::move(result_);
  }

  int operator()(const layer::Input&) {
    const int tensor = activation("image", layer_->out);
    result_.graph.tensors[static_cast<std::size_t>(tensor)].role = Role::input;
    result_.graph.input = tensor;
    nonnegative_.push_back(false);
    return tensor;
  }

  int operator()(const layer::Conv& op) {
    const auto parts = weights(op.bias ? 2 : 1);
    Equation eq;
    const auto n = eq.left(AxisKind::batch, batch_);
    const auto [g, c] = eq.left(AxisKind::channel, op.groups, op.out / op.groups);
    const auto h = eq.left(AxisKind::height, layer_->out.h);
    const auto w = eq.left(AxisKind::width, layer_->out.w);
    const auto ci = eq.reduced(AxisKind::channel, op.in / op.groups);
    const auto u = eq.reduced(AxisKind::window_h, op.kernel_h);
    const auto v = eq.reduced(AxisKind::window_w, op.kernel_w);
    const int x = eq.read(
        input(), {n, plus(times(op.in / op.groups, g), ci), plus(times(op.stride, h), times(op.dilation, u), -op.pad_h),
                  plus(times(op.stride, w), times(op.dilation, v), -op.pad_w)});
    const BoundCoord out = plus(times(op.out / op.groups, g), c);
    eq.apply(Fn::mul, x, eq.read(parts[0], {out, ci, u, v}));
    eq.stage.reduce = Reduce::sum;
    const int product = emit(std::move(eq), op.bias ? ".product" : "");
    return op.bias ? with_bias(product, parts[1]) : product;
  }

  int operator()(const layer::BatchNorm&) {
    const auto parts = weights(4);
    const auto [scale, offset, mean, variance] = std::array{parts[0], parts[1], parts[2], parts[3]};
    Equation eq;
    const auto at = pass(eq);
    const int centred = eq.apply(Fn::sub, eq.read(input(), at), eq.read(mean, {at[1]}));
    // The constant beside the variance is PyTorch's default for BatchNorm2d.
    const int spread = eq.apply(Fn::add, eq.read(variance, {at[1]}), eq.constant(Rational(1, 100000)));
    const int unit = eq.apply(Fn::mul, centred, eq.apply(Fn::rsqrt, spread));
    eq.apply(Fn::add, eq.apply(Fn::mul, unit, eq.read(scale, {at[1]})), eq.read(offset, {at[1]}));
    return emit(std::move(eq));
  }

  int operator()(const layer::Activation& op) {
    Equation eq;
    const int x = eq.read(input(), pass(eq));
    switch (op.kind) {
      case layer::ActivationKind::relu:
        eq.apply(Fn::relu, x);
        break;
      case layer::ActivationKind::relu6:
        eq.apply(Fn::min, eq.apply(Fn::relu, x), eq.constant(6));
        break;
      case layer::ActivationKind::hardswish:
        eq.apply(Fn::hardswish, x);
        break;
      case layer::ActivationKind::sigmoid:
        eq.apply(Fn::sigmoid, x);
        break;
      case layer::ActivationKind::tanh:
        eq.apply(Fn::tanh, x);
        break;
      case layer::ActivationKind::silu:
        eq.apply(Fn::mul, x, eq.apply(Fn::sigmoid, x));
        break;
      case layer::ActivationKind::gelu:
        eq.apply(Fn::gelu, x);
        break;
      case layer::ActivationKind::hardsigmoid: {
        const int risen = eq.apply(Fn::relu, eq.apply(Fn::add, x, eq.constant(3)));
        eq.apply(Fn::min, eq.apply(Fn::mul, risen, eq.constant(Rational(1, 6))), eq.constant(1));
        break;
      }
    }
    return emit(std::move(eq));
  }

  int operator()(const layer::Add&) {
    Equation eq;
    const auto at = pass(eq);
    int sum = eq.read(input(), at);
    for (std::size_t i = 1; i < layer_->inputs.size(); ++i) sum = eq.apply(Fn::add, sum, eq.read(input(i), at));
    return emit(std::move(eq));
  }

  int operator()(const layer::Mul&) {
    Equation eq;
    auto at = pass(eq);
    const int x = eq.read(input(0), at);
    if (input_shape(1) != layer_->out) at[2] = at[3] = {};
    eq.apply(Fn::mul, x, eq.read(input(1), at));
    return emit(std::move(eq));
  }

  int operator()(const layer::Slice& op) {
    Equation eq;
    auto at = pass(eq);
    at[1].offset += op.first;
    eq.read(input(), at);
    return emit(std::move(eq));
  }

  int operator()(const layer::Shuffle& op) {
    Equation eq;
    const std::int64_t each = layer_->out.c / op.groups;
    const auto n = eq.left(AxisKind::batch, batch_);
    const auto [k, g] = eq.left(AxisKind::channel, each, op.groups);
    const auto h = eq.left(AxisKind::height, layer_->out.h);
    const auto w = eq.left(AxisKind::width, layer_->out.w);
    eq.read(input(), {n, plus(times(each, g), k), h, w});
    return emit(std::move(eq));
  }

  int operator()(const layer::Pad& op) {
    Equation eq;
    auto at = pass(eq);
    at[2].offset -= op.top;
    at[3].offset -= op.left;
    eq.read(input(), at);
    return emit(std::move(eq));
  }

  int operator()(const layer::ChannelNorm& op) {
    const auto parts = weights(2);
    const int mean = channel_mean([&](Equation& eq, const auto& at) { eq.read(input(), at); }, ".mean");
    const auto centred = [&](Equation& eq, std::vector<BoundCoord> at) {
      const int x = eq.read(input(), at);
      at[1] = {};
      return eq.apply(Fn::sub, x, eq.read(mean, at));
    };
    const auto square = [&](Equation& eq, const std::vector<BoundCoord>& at) {
      const int x = centred(eq, at);
      eq.apply(Fn::mul, x, x);
    };
    const int variance = channel_mean(square, ".variance");
    Equation eq;
    auto at = pass(eq);
    const BoundCoord channel = at[1];
    const int x = centred(eq, at);
    at[1] = {};
    const Rational epsilon(std::llround(op.epsilon * 1e12), 1'000'000'000'000);
    const int spread = eq.apply(Fn::add, eq.read(variance, at), eq.constant(epsilon));
    const int unit = eq.apply(Fn::mul, x, eq.apply(Fn::rsqrt, spread));
    eq.apply(Fn::add, eq.apply(Fn::mul, unit, eq.read(parts[0], {channel})), eq.read(parts[1], {channel}));
    return emit(std::move(eq));
  }

  int operator()(const layer::Rows& op) {
    Equation eq;
    auto at = pass(eq);
    at[2].offset += op.first;
    eq.read(input(), at);
    return emit(std::move(eq));
  }

  int operator()(const layer::Sequence&) {
    const Shape3 in = input_shape();
    Equation eq;
    const auto n = eq.left(AxisKind::batch, batch_);
    const auto c = eq.left(AxisKind::channel, in.c);
    const auto [h, w] = eq.left(AxisKind::height, in.h, in.w);
    eq.stage.left.push_back({AxisKind::width, {}});
    eq.read(input(), {n, c, h, w});
    return emit(std::move(eq));
  }

  int operator()(const layer::LearnedMap&) {
    const auto parts = weights(1);
    Equation eq;
    const auto at = pass(eq);
    eq.apply(Fn::add, eq.read(input(), at), eq.read(parts[0], {at[1], at[2], at[3]}));
    return emit(std::move(eq));
  }

  int operator()(const layer::Attention& op) { return Heads(*this, op).emit(); }

  int operator()(const layer::Concat&) {
    Equation eq;
    auto at = pass(eq);
    const BoundCoord channel = at[1];
    int joined = -1;
    for (std::size_t i = 0; i < layer_->inputs.size(); ++i) {
      const int part = eq.read(input(i), at);
      joined = joined < 0 ? part : eq.apply(Fn::join, joined, part);
      at[1].offset -= input_shape(i).c;
    }
    return emit(std::move(eq));
  }

  int operator()(const layer::MaxPool& op) {
    const Shape3 in = input_shape();
    const auto beyond = [&](std::int64_t extent, std::int64_t out) {
      return op.padding > 0 || (out - 1) * op.stride + op.kernel > extent;
    };
    if ((beyond(in.h, layer_->out.h) || beyond(in.w, layer_->out.w)) && !all_nonnegative() && !rejection_)
      rejection_ = {"a maximum that reads outside the image has an input that is not negative",
                    fmt::format("layer `{}` ({}) of network `{}`", layer_->name, op_text(op), plan_.network->name())};
    return window(op.kernel, op.stride, op.padding, Reduce::max);
  }

  int operator()(const layer::AvgPool& op) { return window(op.kernel, op.stride, 0, Reduce::sum); }

  int operator()(const layer::GlobalAvgPool&) {
    const Shape3 in = input_shape();
    Equation eq;
    const auto n = eq.left(AxisKind::batch, batch_);
    const auto c = eq.left(AxisKind::channel, in.c);
    eq.stage.left.push_back({AxisKind::height, {}});
    eq.stage.left.push_back({AxisKind::width, {}});
    const auto h = eq.reduced(AxisKind::height, in.h);
    const auto w = eq.reduced(AxisKind::width, in.w);
    eq.read(input(), {n, c, h, w});
    eq.stage.reduce = Reduce::sum;
    eq.stage.factor = Rational(1, in.h * in.w);
    return emit(std::move(eq));
  }

  int operator()(const layer::Dropout&) { return input(); }

  int operator()(const layer::Linear& op) {
    const auto parts = weights(op.bias ? 2 : 1);
    const Shape3 in = input_shape();
    Equation eq;
    const auto n = eq.left(AxisKind::batch, batch_);
    const auto out = eq.left(AxisKind::channel, op.out);
    eq.stage.left.push_back({AxisKind::height, {}});
    eq.stage.left.push_back({AxisKind::width, {}});
    const auto c = eq.reduced(AxisKind::channel, in.c);
    const auto h = eq.reduced(AxisKind::height, in.h);
    const auto w = eq.reduced(AxisKind::width, in.w);
    const BoundCoord flat = plus(plus(times(in.h * in.w, c), times(in.w, h)), w);
    eq.apply(Fn::mul, eq.read(input(), {n, c, h, w}), eq.read(parts[0], {out, flat}));
    eq.stage.reduce = Reduce::sum;
    const int product = emit(std::move(eq), op.bias ? ".product" : "");
    return op.bias ? with_bias(product, parts[1]) : product;
  }

 private:
  /// Tensors between the products of attention are [n, head, place of a query, place of a key].
  struct Heads {
    Lowering& of;
    const layer::Attention& op;
    Shape3 queries = of.input_shape(0), keys = of.input_shape(1), values = of.input_shape(2);
    std::int64_t many = queries.h * queries.w;

    int emit() {
      const int scores = products();
      const int top = over_keys(scores, Reduce::max, ".top");
      Equation power;
      const auto at = left(power);
      const int below = power.apply(Fn::sub, power.read(scores, at), power.read(top, {at[0], at[1], at[2], {}}));
      power.apply(Fn::exp, below);
      const int exponentials = of.emit_as(std::move(power), {op.heads, many, op.places}, ".exp");
      const int total = over_keys(exponentials, Reduce::sum, ".total");
      Equation quotient;
      const auto in = left(quotient);
      quotient.apply(Fn::div, quotient.read(exponentials, in), quotient.read(total, {in[0], in[1], in[2], {}}));
      return mean(of.emit_as(std::move(quotient), {op.heads, many, op.places}, ".weights"));
    }

    [[nodiscard]] std::vector<BoundCoord> left(Equation& eq) const {
      return {eq.left(AxisKind::batch, of.batch_), eq.left(AxisKind::channel, op.heads),
              eq.left(AxisKind::height, many), eq.left(AxisKind::width, op.places)};
    }
    int products() {
      Equation eq;
      const auto n = eq.left(AxisKind::batch, of.batch_);
      const auto head = eq.left(AxisKind::channel, op.heads);
      const auto [qh, qw] = eq.left(AxisKind::height, queries.h, queries.w);
      const auto [kh, kw] = eq.left(AxisKind::width, keys.h, keys.w);
      const std::int64_t each = op.channels / op.heads;
      const BoundCoord channel = plus(times(each, head), eq.reduced(AxisKind::channel, each));
      eq.apply(Fn::mul, eq.read(of.input(0), {n, channel, qh, qw}), eq.read(of.input(1), {n, channel, kh, kw}));
      eq.stage.reduce = Reduce::sum;
      eq.stage.factor = Rational(std::llround(op.scale * 1e9), 1'000'000'000);
      return of.emit_as(std::move(eq), {op.heads, many, op.places}, ".scores");
    }
    int over_keys(int tensor, Reduce reduce, const std::string& suffix) {
      Equation eq;
      std::vector<BoundCoord> at{eq.left(AxisKind::batch, of.batch_), eq.left(AxisKind::channel, op.heads),
                                 eq.left(AxisKind::height, many)};
      eq.stage.left.push_back({AxisKind::width, {}});
      at.push_back(eq.reduced(AxisKind::width, op.places));
      eq.read(tensor, at);
      eq.stage.reduce = reduce;
      eq.stage.stabiliser = reduce == Reduce::max;
      return of.emit_as(std::move(eq), {op.heads, many, 1}, suffix);
    }
    int mean(int weights) {
      Equation eq;
      const auto n = eq.left(AxisKind::batch, of.batch_);
      const std::int64_t each = values.c / op.heads;
      const auto [head, c] = eq.left(AxisKind::channel, op.heads, each);
      const auto h = eq.left(AxisKind::height, queries.h);
      const auto w = eq.left(AxisKind::width, queries.w);
      const auto kh = eq.reduced(AxisKind::height, keys.h);
      const auto kw = eq.reduced(AxisKind::width, keys.w);
      const int weight = eq.read(weights, {n, head, plus(times(queries.w, h), w), plus(times(keys.w, kh), kw)});
      eq.apply(Fn::mul, weight, eq.read(of.input(2), {n, plus(times(each, head), c), kh, kw}));
      eq.stage.reduce = Reduce::sum;
      return of.emit(std::move(eq));
    }
  };

  [[nodiscard]] int input(std::size_t i = 0) const { return tensor_of_[static_cast<std::size_t>(layer_->inputs[i])]; }
  [[nodiscard]] Shape3 input_shape(std::size_t i = 0) const { return plan_.network->layer(layer_->inputs[i]).out; }
  [[nodiscard]] bool all_nonnegative() const {
    return std::ranges::all_of(layer_->inputs, [&](int from) {
      return nonnegative_[static_cast<std::size_t>(tensor_of_[static_cast<std::size_t>(from)])];
    });
  }

  int add_tensor(BoundTensor tensor, std::string name) {
    result_.graph.tensors.push_back(std::move(tensor));
    result_.names.push_back(std::move(name));
    return static_cast<int>(result_.graph.tensors.size()) - 1;
  }
  int activation(const std::string& name, Shape3 shape) {
    BoundTensor tensor;
    tensor.name = name;
    tensor.axes = {{AxisKind::batch, batch_},
                   {AxisKind::channel, shape.c},
                   {AxisKind::height, shape.h},
                   {AxisKind::width, shape.w}};
    return add_tensor(std::move(tensor), "");
  }

  /// The layer's own tensors, which are known to be so many.
  std::vector<int> weights(std::size_t count) {
    const auto parts = layer_parts(plan_, index_);
    KASIMIR_CHECK(parts.size() == count, "layer {} has {} tensors", layer_->name, parts.size());
    std::vector<int> tensors;
    static constexpr std::array kinds{AxisKind::channel, AxisKind::group, AxisKind::window_h, AxisKind::window_w};
    for (const LayerPart& part : parts) {
      BoundTensor tensor;
      tensor.name = part.name;
      tensor.role = Role::weight;
      tensor.weight_role = part.role;
      tensor.fan_in = part.fan_in;
      for (std::size_t a = 0; a < part.shape.size(); ++a) tensor.axes.push_back({kinds[a], part.shape[a]});
      tensors.push_back(add_tensor(std::move(tensor), part.name));
      nonnegative_.push_back(false);
    }
    return tensors;
  }

  /// The left side and the coordinates of a stage that keeps the layer's shape.
  std::vector<BoundCoord> pass(Equation& eq) const {
    return {eq.left(AxisKind::batch, batch_), eq.left(AxisKind::channel, layer_->out.c),
            eq.left(AxisKind::height, layer_->out.h), eq.left(AxisKind::width, layer_->out.w)};
  }

  /// A stage of the layer: with a suffix one on the way, without the layer's result.
  int emit(Equation eq, const std::string& suffix = "") { return emit_as(std::move(eq), layer_->out, suffix); }
  int emit_as(Equation eq, Shape3 shape, const std::string& suffix) {
    eq.stage.out = activation(layer_->name + suffix, shape);
    nonnegative_.push_back(suffix.empty() && never_negative(layer_->op, all_nonnegative()));
    result_.graph.stages.push_back(std::move(eq.stage));
    return result_.graph.stages.back().out;
  }

  /// The mean over the channels at each place, of what `term` adds to an equation at [n, c, h, w].
  template <typename Term>
  int channel_mean(const Term& term, const std::string& suffix) {
    const Shape3 in = input_shape();
    Equation eq;
    const auto n = eq.left(AxisKind::batch, batch_);
    eq.stage.left.push_back({AxisKind::channel, {}});
    const auto h = eq.left(AxisKind::height, in.h);
    const auto w = eq.left(AxisKind::width, in.w);
    const auto c = eq.reduced(AxisKind::channel, in.c);
    term(eq, std::vector<BoundCoord>{n, c, h, w});
    eq.stage.reduce = Reduce::sum;
    eq.stage.factor = Rational(1, in.c);
    return emit_as(std::move(eq), {1, in.h, in.w}, suffix);
  }

  int with_bias(int product, int bias) {
    Equation eq;
    const auto at = pass(eq);
    eq.apply(Fn::add, eq.read(product, at), eq.read(bias, {at[1]}));
    return emit(std::move(eq));
  }

  int window(std::int64_t kernel, std::int64_t stride, std::int64_t padding, Reduce reduce) {
    Equation eq;
    const auto at = pass(eq);
    const auto u = eq.reduced(AxisKind::window_h, kernel);
    const auto v = eq.reduced(AxisKind::window_w, kernel);
    eq.read(input(), {at[0], at[1], plus(times(stride, at[2]), u, -padding), plus(times(stride, at[3]), v, -padding)});
    eq.stage.reduce = reduce;
    if (reduce == Reduce::sum) eq.stage.factor = Rational(1, kernel * kernel);
    return emit(std::move(eq));
  }

  /// The kernel's stages on the layer's input. Rows and columns that the site has and the network lacks read zero,
  /// which is what a read outside the smaller tensor gives.
  int kernel() {
    const auto& [kernel, site] = plan_.replaced.at(index_);
    const auto bound = lower_at(kernel, site, batch_);
    KASIMIR_CHECK(bound.ok(), "kernel {} at {}: {}", kernel.name, site.str(), bound.rejection().str());
    std::vector<int> renamed(bound->tensors.size());
    for (std::size_t t = 0; t < bound->tensors.size(); ++t) {
      if (static_cast<int>(t) == bound->input) {
        renamed[t] = input();
        continue;
      }
      BoundTensor tensor = bound->tensors[t];
      tensor.name = fmt::format("{}.{}", layer_->name, tensor.name);
      const std::string name = tensor.name;
      renamed[t] = add_tensor(std::move(tensor), name);
      nonnegative_.push_back(false);
    }
    for (BoundStage stage : bound->stages) {
      const auto out = static_cast<std::size_t>(stage.out);
      stage.out = renamed[out];
      if (!stage.stat) result_.names[static_cast<std::size_t>(stage.out)].clear();
      for (BoundNode& node : stage.nodes)
        if (auto* read = std::get_if<BoundRead>(&node)) read->tensor = renamed[static_cast<std::size_t>(read->tensor)];
      result_.graph.stages.push_back(std::move(stage));
    }
    return renamed[static_cast<std::size_t>(bound->output)];
  }

  const NetworkPlan& plan_;
  std::int64_t batch_;
  NetworkGraph result_;
  std::vector<int> tensor_of_;     ///< per layer
  std::vector<bool> nonnegative_;  ///< per tensor: what is known of its values
  std::optional<Rejection> rejection_;
  const Layer* layer_ = nullptr;
  int index_ = 0;
};

}  // namespace

Outcome<NetworkGraph> lower_network(const NetworkPlan& plan, std::int64_t batch) { return Lowering(plan, batch).run(); }

std::vector<std::vector<float>> values_of(const NetworkGraph& network, const std::vector<NamedTensor>& weights) {
  std::map<std::string_view, const NamedTensor*> known;
  for (const NamedTensor& tensor : weights) known.emplace(tensor.name, &tensor);
  std::vector<std::vector<float>> values(network.graph.tensors.size());
  for (std::size_t t = 0; t < values.size(); ++t) {
    const BoundTensor& tensor = network.graph.tensors[t];
    if (tensor.role != Role::weight && tensor.role != Role::stat) continue;
    const auto found = known.find(network.names[t]);
    if (found == known.end()) throw input_error("the weights lack tensor `{}`", network.names[t]);
    if (static_cast<std::int64_t>(found->second->values.size()) != elements(tensor))
      throw input_error("tensor `{}` has {} values, needed {}", network.names[t], found->second->values.size(),
                        elements(tensor));
    values[t] = found->second->values;
  }
  return values;
}

}  // namespace kasimir
