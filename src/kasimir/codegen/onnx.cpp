// SPDX-License-Identifier: Apache-2.0
// names primitives: attributes of ONNX share their words
#include "kasimir/codegen/onnx.h"

#include "kasimir/base/error.h"
#include "kasimir/codegen/onnx_graph.h"
#include "kasimir/codegen/onnx_quantized.h"
#include "kasimir/nest/inline_copies.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <set>

namespace kasimir {
namespace {

// The newest that runtimes of several years read: ONNX 1.12, 2022.
constexpr std::int64_t operator_set = 17;
constexpr std::int64_t format_version = 8;

constexpr std::string_view check_script = R"(#!/usr/bin/env python3
"""Compares model.onnx with the stored scores of check.safetensors; needs numpy and onnxruntime."""
import json
import pathlib
import sys

import numpy
import onnxruntime

FOLDER = pathlib.Path(__file__).resolve().parent
DIFFERENCE = 1e-4  # of the largest score
SAME = 1.0  # of the images have the same class


def read_tensors(path):
    """The float32 tensors of a .safetensors file by name."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = numpy.frombuffer(data[start + begin : start + end], "<f4").reshape(entry["shape"])
    return tensors


stored = read_tensors(FOLDER / "check.safetensors")
expected = stored["output"]
session = onnxruntime.InferenceSession(str(FOLDER / "model.onnx"), providers=["CPUExecutionProvider"])
found = session.run(["scores"], {"images": stored["input"]})[0]
difference = abs(found - expected).max()
limit = DIFFERENCE * max(1.0, abs(expected).max())
classes = (found.argmax(1) == expected.argmax(1)).sum()
print(f"{classes} of {len(found)} images in the same class, largest difference {difference:.1e}, limit {limit:.1e}")
good = difference <= limit and classes >= SAME * len(found)
sys.exit(None if good else "the scores are not those that were stored")
)";

/// A value between two codes goes to either by its last bits, and layers behind it make more of that.
std::string quantized_check_script() {
  std::string script(check_script);
  for (const auto& [exact, rough] :
       {std::pair<std::string, std::string>{"DIFFERENCE = 1e-4", "DIFFERENCE = 0.2"}, {"SAME = 1.0", "SAME = 0.95"}})
    script.replace(script.find(exact), exact.size(), rough);
  return script;
}

/// A layer's value: its name, and whether it is [N, features] rather than [N, c, h, w].
struct Value {
  std::string name;
  bool flat = false;
};

class NetworkNodes {
 public:
  NetworkNodes(onnx::GraphProto& graph, const NetworkPlan& plan,
               const std::map<std::string_view, const NamedTensor*>& tensors, const Quantization& quantization)
      : onnx_(graph),
        plan_(plan),
        tensors_(tensors),
        quantization_(quantization),
        values_(plan.network->layers().size()) {
    for (const auto& [weight, norm] : folded_norms(plan))
      if (quantization.contains(weight)) norms_.emplace(weight, norm);
  }

  void run() {
    const auto& layers = plan_.network->layers();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layer_ = &layers[i];
      index_ = static_cast<int>(i);
      flat_ = false;
      const std::string name = plan_.replaced.contains(index_) ? kernel() : std::visit(*this, layer_->op);
      values_[i] = {name, flat_};
    }
    const Value& last = values_.back();
    const std::string scores =
        last.flat ? last.name : onnx_.node("Flatten", {last.name}, "scores", {{"axis", std::int64_t{1}}});
    onnx_.output(scores, "scores", {any_batch, plan_.network->classes()});
  }

  std::string operator()(const layer::Input&) {
    const Shape3 in = layer_->out;
    onnx_.input("images", {any_batch, in.c, in.h, in.w});
    return "images";
  }
  std::string operator()(const layer::Conv& op) {
    return onnx_.node("Conv", products(map(), op.bias), layer_->name,
                      {{"kernel_shape", ArrayShape{op.kernel_h, op.kernel_w}},
                       {"strides", ArrayShape{op.stride, op.stride}},
                       {"dilations", ArrayShape{op.dilation, op.dilation}},
                       {"pads", ArrayShape{op.pad_h, op.pad_w, op.pad_h, op.pad_w}},
                       {"group", op.groups}});
  }
  std::string operator()(const layer::BatchNorm&) {
    if (folded_.contains(index_)) return input().name;
    return onnx_.node("BatchNormalization",
                      {map(), tensor("weight"), tensor("bias"), tensor("running_mean"), tensor("running_var")},
                      layer_->name, {{"epsilon", static_cast<float>(layer::BatchNorm::epsilon)}});
  }
  std::string operator()(const layer::Activation& op) {
    flat_ = input().flat;
    switch (op.kind) {
      case layer::ActivationKind::relu:
        return onnx_.node("Relu", {input().name}, layer_->name);
      case layer::ActivationKind::relu6:
        return onnx_.node("Clip", {input().name, onnx_.number(0), onnx_.number(6)}, layer_->name);
      case layer::ActivationKind::hardswish:
        return onnx_.node("HardSwish", {input().name}, layer_->name);
      case layer::ActivationKind::sigmoid:
        return onnx_.node("Sigmoid", {input().name}, layer_->name);
      case layer::ActivationKind::tanh:
        return onnx_.node("Tanh", {input().name}, layer_->name);
      case layer::ActivationKind::silu:
        return onnx_.node("Mul", {input().name, onnx_.node("Sigmoid", {input().name}, layer_->name + "/sigmoid")},
                          layer_->name);
      case layer::ActivationKind::gelu:
        return gelu(input().name);
      case layer::ActivationKind::hardsigmoid:
        return onnx_.node("HardSigmoid", {input().name}, layer_->name, {{"alpha", 1.0F / 6.0F}, {"beta", 0.5F}});
    }
    KASIMIR_CHECK(false, "activation {}", static_cast<int>(op.kind));
  }
  std::string operator()(const layer::Add&) {
    const auto all = all_inputs();
    std::string sum = all[0];
    for (std::size_t i = 1; i < all.size(); ++i) sum = onnx_.node("Add", {sum, all[i]}, layer_->name);
    return sum;
  }
  std::string operator()(const layer::Mul&) { return onnx_.node("Mul", all_inputs(), layer_->name); }
  std::string operator()(const layer::Slice& op) {
    flat_ = input().flat;
    return onnx_.node(
        "Slice", {input().name, onnx_.integers({op.first}), onnx_.integers({op.first + op.count}), onnx_.integers({1})},
        layer_->name);
  }
  std::string operator()(const layer::Shuffle& op) {
    const auto [c, h, w] = layer_->out;
    const std::string split =
        onnx_.node("Reshape", {map(), onnx_.integers({0, op.groups, c / op.groups, h, w})}, layer_->name + "/groups");
    const std::string turned =
        onnx_.node("Transpose", {split}, layer_->name + "/dealt", {{"perm", ArrayShape{0, 2, 1, 3, 4}}});
    return onnx_.node("Reshape", {turned, onnx_.integers({0, c, h, w})}, layer_->name);
  }
  std::string operator()(const layer::Pad& op) {
    return onnx_.node("Pad", {map(), onnx_.integers({0, 0, op.top, op.left, 0, 0, op.bottom, op.right})}, layer_->name);
  }
  std::string operator()(const layer::ChannelNorm& op) {
    const std::string last =
        onnx_.node("Transpose", {map()}, layer_->name + "/last", {{"perm", ArrayShape{0, 2, 3, 1}}});
    const std::string unit =
        onnx_.node("LayerNormalization", {last, tensor("weight"), tensor("bias")}, layer_->name + "/norm",
                   {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(op.epsilon)}});
    return onnx_.node("Transpose", {unit}, layer_->name, {{"perm", ArrayShape{0, 3, 1, 2}}});
  }
  std::string operator()(const layer::Rows& op) {
    return onnx_.node("Slice",
                      {map(), onnx_.integers({op.first}), onnx_.integers({op.first + op.count}), onnx_.integers({2})},
                      layer_->name);
  }
  std::string operator()(const layer::Sequence&) {
    return onnx_.node("Reshape", {map(), onnx_.integers({0, layer_->out.c, layer_->out.h, 1})}, layer_->name);
  }
  std::string operator()(const layer::LearnedMap&) {
    const NamedTensor& learned = part("map");
    ArrayShape one{1};
    one.insert(one.end(), learned.shape.begin(), learned.shape.end());
    return onnx_.node("Add", {map(), onnx_.tensor(learned.name, one, learned.values)}, layer_->name);
  }
  std::string operator()(const layer::Attention& op) {
    const std::string& name = layer_->name;
    const auto heads = [&](std::size_t i, const char* what) {
      const Shape3 in = plan_.network->layer(layer_->inputs[i]).out;
      return onnx_.node("Reshape", {map(i), onnx_.integers({0, op.heads, in.c / op.heads, in.h * in.w})}, name + what);
    };
    const auto turned = [&](const std::string& of, const char* what) {
      return onnx_.node("Transpose", {of}, name + what, {{"perm", ArrayShape{0, 1, 3, 2}}});
    };
    const std::string products =
        onnx_.node("MatMul", {turned(heads(0, "/queries"), "/rows"), heads(1, "/keys")}, name + "/products");
    const std::string scores = onnx_.node("Mul", {products, onnx_.number(op.scale)}, name + "/scores");
    const std::string weights = onnx_.node("Softmax", {scores}, name + "/weights", {{"axis", std::int64_t{-1}}});
    const std::string mean = onnx_.node("MatMul", {weights, turned(heads(2, "/values"), "/columns")}, name + "/mean");
    const auto [c, h, w] = layer_->out;
    return onnx_.node("Reshape", {turned(mean, "/turned"), onnx_.integers({0, c, h, w})}, name);
  }
  std::string operator()(const layer::Concat&) {
    return onnx_.node("Concat", all_inputs(), layer_->name, {{"axis", std::int64_t{1}}});
  }
  std::string operator()(const layer::MaxPool& op) {
    // What a last window needs behind the map is padded, so that no runtime has to round as PyTorch does.
    const Shape3 in = plan_.network->input_of(index_);
    const auto behind = [&](std::int64_t extent, std::int64_t places) {
      return std::max<std::int64_t>(0, (places - 1) * op.stride + op.kernel - extent - op.padding);
    };
    return onnx_.node(
        "MaxPool", {map()}, layer_->name,
        {{"kernel_shape", ArrayShape{op.kernel, op.kernel}},
         {"strides", ArrayShape{op.stride, op.stride}},
         {"pads", ArrayShape{op.padding, op.padding, behind(in.h, layer_->out.h), behind(in.w, layer_->out.w)}}});
  }
  std::string operator()(const layer::AvgPool& op) {
    return onnx_.node(
        "AveragePool", {map()}, layer_->name,
        {{"kernel_shape", ArrayShape{op.kernel, op.kernel}}, {"strides", ArrayShape{op.stride, op.stride}}});
  }
  std::string operator()(const layer::GlobalAvgPool&) { return onnx_.node("GlobalAveragePool", {map()}, layer_->name); }
  std::string operator()(const layer::Dropout&) {
    flat_ = input().flat;
    return input().name;
  }
  std::string operator()(const layer::Linear& op) {
    flat_ = true;
    const std::string x =
        input().flat ? input().name
                     : onnx_.node("Flatten", {input().name}, layer_->name + "/flat", {{"axis", std::int64_t{1}}});
    return onnx_.node("Gemm", products(x, op.bias), layer_->name, {{"transB", std::int64_t{1}}});
  }

 private:
  [[nodiscard]] const Value& input(std::size_t i = 0) const {
    return values_[static_cast<std::size_t>(layer_->inputs[i])];
  }
  /// The operator set has none of that name.
  std::string gelu(const std::string& x) {
    const std::string& name = layer_->name;
    const std::string scaled = onnx_.node("Mul", {x, onnx_.number(std::numbers::sqrt2 / 2)}, name + "/scaled");
    const std::string risen =
        onnx_.node("Add", {onnx_.node("Erf", {scaled}, name + "/erf"), onnx_.number(1)}, name + "/risen");
    return onnx_.node("Mul", {onnx_.node("Mul", {x, risen}, name + "/twice"), onnx_.number(0.5)}, name);
  }
  /// An input as [N, c, h, w].
  std::string map(std::size_t i = 0) {
    if (!input(i).flat) return input(i).name;
    return onnx_.node("Unsqueeze", {input(i).name, onnx_.integers({2, 3})}, input(i).name + "/map");
  }
  std::vector<std::string> all_inputs() {
    flat_ = true;
    for (std::size_t i = 0; i < layer_->inputs.size(); ++i) flat_ = flat_ && input(i).flat;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < layer_->inputs.size(); ++i) all.push_back(flat_ ? input(i).name : map(i));
    return all;
  }
  [[nodiscard]] const NamedTensor& part(const char* name) const {
    return *tensors_.at(fmt::format("{}.{}", layer_->name, name));
  }
  std::string tensor(const char* name) {
    const NamedTensor& found = part(name);
    return onnx_.tensor(found.name, found.shape, found.values);
  }

  /// The operands of a convolution or a fully connected layer.
  std::vector<std::string> products(const std::string& x, bool bias) {
    const NamedTensor& weight = part("weight");
    const auto found = quantization_.find(weight.name);
    if (found == quantization_.end()) {
      std::vector<std::string> inputs{x, tensor("weight")};
      if (bias) inputs.push_back(tensor("bias"));
      return inputs;
    }
    const QuantizedPlace& place = found->second;
    OnnxCodes codes = onnx_codes(weight, place);
    std::vector<float> added;
    if (bias) added = part("bias").values;
    if (norms_.contains(weight.name)) fold_norm(norms_.at(weight.name), place, codes, added);
    std::vector<std::string> inputs{onnx_quantized(onnx_, x, place, layer_->name),
                                    onnx_weight(onnx_, weight.name, weight.shape, codes, place)};
    if (!added.empty()) inputs.push_back(onnx_bias(onnx_, layer_->name + ".bias", added, codes, place));
    return inputs;
  }

  /// The norm's factor goes into the steps of the codes, its offset becomes a bias, if the codes allow it.
  void fold_norm(int norm, const QuantizedPlace& place, OnnxCodes& codes, std::vector<float>& bias) {
    const NormFactors factors = norm_factors(plan_.network->layer(norm).name, tensors_);
    if (!multiply_codes(codes, factors.factor, place.weight)) return;
    for (const double offset : factors.offset) bias.push_back(static_cast<float>(offset));
    folded_.insert(norm);
  }

  std::string kernel() {
    const auto& [kernel, site] = plan_.replaced.at(index_);
    const auto lowered = lower_at(kernel, site, program_batch);
    KASIMIR_CHECK(lowered.ok(), "kernel {} at {}: {}", kernel.name, site.str(), lowered.rejection().str());
    OnnxTensors tensors;
    OnnxPlaces places;
    for (const LayerPart& of : layer_parts(plan_, index_)) {
      tensors[of.tensor] = tensors_.at(of.name);
      const auto found = quantization_.find(of.name);
      if (found != quantization_.end()) places[of.tensor] = &found->second;
    }
    std::string x = map();
    const Shape3 in = plan_.network->input_of(index_);
    const ArrayShape missing{0, 0, 0, 0, 0, 0, site.s * site.h - in.h, site.s * site.w - in.w};
    if (missing[6] > 0 || missing[7] > 0) x = onnx_.node("Pad", {x, onnx_.integers(missing)}, layer_->name + "/padded");
    return add_to_onnx(onnx_, inline_copies(freeze(*lowered)), tensors, places, x, layer_->name);
  }

  OnnxGraph onnx_;
  const NetworkPlan& plan_;
  const std::map<std::string_view, const NamedTensor*>& tensors_;
  const Quantization& quantization_;
  std::map<std::string, int> norms_;  ///< that may become part of the convolution of this weight
  std::set<int> folded_;              ///< norms that have
  std::vector<Value> values_;         ///< by layer
  const Layer* layer_ = nullptr;
  int index_ = 0;
  bool flat_ = false;
};

}  // namespace

std::vector<ExportedFile> export_onnx(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                      const ExportNotes& notes, const Quantization& quantization) {
  const auto tensors = tensors_by_name(plan, weights);
  require_fits(plan, quantization);
  onnx::ModelProto model;
  model.set_ir_version(format_version);
  model.set_producer_name("kasimir");
  auto* version = model.add_opset_import();
  version->set_domain("");
  version->set_version(operator_set);
  for (const auto& [key, value] : notes) {
    auto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  model.mutable_graph()->set_name(plan.network->name());
  NetworkNodes(*model.mutable_graph(), plan, tensors, quantization).run();
  if (model.ByteSizeLong() > std::numeric_limits<std::int32_t>::max())
    throw input_error("network {} has {} bytes as ONNX, more than the 2 GiB of one file", plan.network->name(),
                      model.ByteSizeLong())
        .note("export it as C or PyTorch");
  return {{"model.onnx", model.SerializeAsString()},
          {"check.py", quantization.empty() ? std::string(check_script) : quantized_check_script()}};
}

}  // namespace kasimir
