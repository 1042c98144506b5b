// SPDX-License-Identifier: Apache-2.0
// names primitives: functions of array libraries share their words
#include "kasimir/codegen/pytorch.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/codegen/pytorch_kernel.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

namespace kasimir {
namespace {

constexpr std::string_view head = R"(import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent
)";

constexpr std::string_view follow = R"(

def follow(stored, batch, momentum):
    """Moves a running statistic towards the batch's."""
    stored.lerp_(batch.detach().to(stored.dtype), momentum)
)";

constexpr std::string_view learned_map = R"(

class LearnedMap(nn.Module):
    """Adds a learned map to each image's."""

    def __init__(self, *shape):
        super().__init__()
        self.map = nn.Parameter(torch.zeros(shape))

    def forward(self, x):
        return x + self.map
)";

constexpr std::string_view attention = R"(

def attention(queries, keys, values, heads, scale):
    """Attention of heads between the places of maps [n, heads * size, h, w]."""

    def tokens(x):
        return x.flatten(2).unflatten(1, (heads, -1)).transpose(2, 3)

    mean = F.scaled_dot_product_attention(tokens(queries), tokens(keys), tokens(values), scale=scale)
    return mean.transpose(2, 3).reshape(len(queries), values.shape[1], *queries.shape[2:])
)";

constexpr std::string_view tail = R"(

def read_tensors(path):
    """The float32 tensors of a .safetensors file by name."""
    data = bytearray(pathlib.Path(path).read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=start + begin)
        tensors[name] = values.reshape(entry["shape"]).clone()
    return tensors


def load(path=FOLDER / "weights.safetensors"):
    """The network with its weights, for inference; call `.train()` to train it on."""
    network = Network()
    network.load_state_dict(read_tensors(path))
    return network.eval()


def check():
    """Compares the network's scores with stored ones; says why where they differ."""
    stored = read_tensors(FOLDER / "check.safetensors")
    expected = stored["output"]
    with torch.inference_mode():
        found = load()(stored["input"])
    difference = (found - expected).abs().max().item()
    limit = 1e-4 * max(1.0, expected.abs().max().item())
    classes = (found.argmax(1) == expected.argmax(1)).sum().item()
    print(f"{classes} of {len(found)} images in the same class, largest difference {difference:.1e}, limit {limit:.1e}")
    return None if difference <= limit and classes == len(found) else "the scores are not those that were stored"


if __name__ == "__main__":
    sys.exit(check())
)";

bool is_python_name(std::string_view word) {
  static const std::set<std::string_view> keywords{
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto inside = [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; };
  return !word.empty() && letter(word[0]) && std::ranges::all_of(word, inside) && !keywords.contains(word);
}

/// The module of a layer as an expression.
std::string module_text(const std::string& layer) {
  const auto parts = split(layer, '.');
  if (std::ranges::all_of(parts, is_python_name)) return "self." + layer;
  return fmt::format("self.get_submodule(\"{}\")", docstring_text(layer));
}

/// "squeeze_excite" at 64->128x16x16/2 as "SqueezeExcite64x128x16x16s2".
std::string class_name(const Kernel& kernel, const Site& site) {
  std::string name;
  bool first = true;
  for (char c : kernel.name) {
    const bool usable = std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128;
    if (usable) name += first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    first = !usable;
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "Kernel" + name;
  name += fmt::format("{}x{}x{}x{}", site.ci, site.co, site.h, site.w);
  return site.s == 1 ? name : fmt::format("{}s{}", name, site.s);
}

std::string pair_text(std::int64_t a, std::int64_t b) {
  return a == b ? std::to_string(a) : fmt::format("({}, {})", a, b);
}

std::string conv_text(const layer::Conv& op) {
  std::string text = fmt::format("nn.Conv2d({}, {}, {}", op.in, op.out, pair_text(op.kernel_h, op.kernel_w));
  if (op.stride != 1) text += fmt::format(", stride={}", op.stride);
  if (op.pad_h != 0 || op.pad_w != 0) text += ", padding=" + pair_text(op.pad_h, op.pad_w);
  if (op.dilation != 1) text += fmt::format(", dilation={}", op.dilation);
  if (op.groups != 1) text += fmt::format(", groups={}", op.groups);
  return text + (op.bias ? ")" : ", bias=False)");
}

/// The classes of the kernels: one per kernel and site.
class KernelClasses {
 public:
  explicit KernelClasses(const NetworkPlan& plan) {
    for (const auto& [layer, placed] : plan.replaced) {
      const auto& [kernel, site] = placed;
      const Shape3 in = plan.network->input_of(layer);
      const std::int64_t rows = site.s * site.h - in.h;
      const std::int64_t columns = site.s * site.w - in.w;
      auto& known = names_[{str(kernel), site, rows, columns}];
      if (known.empty()) {
        known = fresh(class_name(kernel, site));
        const PytorchKernel made = pytorch_kernel(kernel, site, rows, columns, known);
        source_ += "\n\n" + made.source;
        has_statistics_ = has_statistics_ || made.has_statistics;
      }
      of_layer_[layer] = known;
    }
  }
  [[nodiscard]] std::string source() const { return (has_statistics_ ? std::string(follow) : "") + source_; }
  [[nodiscard]] const std::string& of(int layer) const { return of_layer_.at(layer); }

 private:
  std::string fresh(const std::string& wish) {
    std::string name = wish;
    for (int i = 2; taken_.contains(name); ++i) name = fmt::format("{}_{}", wish, i);
    taken_.insert(name);
    return name;
  }

  std::map<std::tuple<std::string, Site, std::int64_t, std::int64_t>, std::string> names_;
  std::set<std::string> taken_{"LearnedMap", "Network"};
  std::map<int, std::string> of_layer_;
  std::string source_;
  bool has_statistics_ = false;
};

/// A layer's value in `forward`.
struct Variable {
  std::string name;
  bool flat = false;  ///< [n, features] rather than [n, c, 1, 1]
};

class NetworkText {
 public:
  NetworkText(const NetworkPlan& plan, const KernelClasses& kernels)
      : plan_(plan), kernels_(kernels), values_(plan.network->layers().size()), last_reader_(values_.size(), -1) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      for (int from : plan.network->layers()[i].inputs)
        last_reader_[static_cast<std::size_t>(from)] = static_cast<int>(i);
  }

  [[nodiscard]] std::string modules() const {
    std::string text;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Layer& layer = plan_.network->layers()[i];
      const std::string module = module_of(static_cast<int>(i));
      if (!module.empty()) text += fmt::format("            \"{}\": {},\n", docstring_text(layer.name), module);
    }
    return text;
  }

  [[nodiscard]] std::string forward() {
    std::string text;
    values_[0] = {"x", false};
    for (std::size_t i = 1; i < values_.size(); ++i) {
      layer_ = &plan_.network->layers()[i];
      index_ = static_cast<int>(i);
      flat_ = false;
      const std::string made = std::visit(*this, layer_->op);
      values_[i] = {variable(), flat_};
      if (made != values_[i].name) text += fmt::format("        {} = {}\n", values_[i].name, made);
    }
    const Variable& result = values_.back();
    return text + fmt::format("        return {}{}\n", result.name, result.flat ? "" : ".flatten(1)");
  }

  std::string operator()(const layer::Input&) const { KASIMIR_CHECK(false, "layer {} is an image", index_); }
  std::string operator()(const layer::Conv&) const { return call(map()); }
  std::string operator()(const layer::BatchNorm&) const { return call(map()); }
  std::string operator()(const layer::Activation& op) {
    flat_ = input().flat;
    switch (op.kind) {
      case layer::ActivationKind::relu:
        return fmt::format("F.relu({})", input().name);
      case layer::ActivationKind::relu6:
        return fmt::format("F.relu6({})", input().name);
      case layer::ActivationKind::hardswish:
        return fmt::format("F.hardswish({})", input().name);
      case layer::ActivationKind::sigmoid:
        return fmt::format("torch.sigmoid({})", input().name);
      case layer::ActivationKind::tanh:
        return fmt::format("torch.tanh({})", input().name);
      case layer::ActivationKind::silu:
        return fmt::format("F.silu({})", input().name);
      case layer::ActivationKind::gelu:
        return fmt::format("F.gelu({})", input().name);
      case layer::ActivationKind::hardsigmoid:
        return fmt::format("F.hardsigmoid({})", input().name);
    }
    KASIMIR_CHECK(false, "activation {}", static_cast<int>(op.kind));
  }
  std::string operator()(const layer::Add&) { return fmt::format("{}", fmt::join(all_inputs(), " + ")); }
  std::string operator()(const layer::Mul&) { return fmt::format("{}", fmt::join(all_inputs(), " * ")); }
  std::string operator()(const layer::Slice& op) {
    flat_ = input().flat;
    return fmt::format("{}[:, {}:{}]", input().name, op.first, op.first + op.count);
  }
  std::string operator()(const layer::Shuffle& op) const {
    return fmt::format("F.channel_shuffle({}, {})", map(), op.groups);
  }
  std::string operator()(const layer::Pad& op) const {
    return fmt::format("F.pad({}, ({}, {}, {}, {}))", map(), op.left, op.right, op.top, op.bottom);
  }
  std::string operator()(const layer::ChannelNorm&) const {
    return fmt::format("{}({}.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)", module_text(layer_->name), map());
  }
  std::string operator()(const layer::Rows& op) const {
    return fmt::format("{}[:, :, {}:{}]", map(), op.first, op.first + op.count);
  }
  std::string operator()(const layer::Sequence&) const { return map() + ".flatten(2)[:, :, :, None]"; }
  std::string operator()(const layer::LearnedMap&) const { return call(map()); }
  std::string operator()(const layer::Attention& op) const {
    return fmt::format("attention({}, {}, {}, {}, {})", map(0), map(1), map(2), op.heads, op.scale);
  }
  std::string operator()(const layer::Concat&) {
    return fmt::format("torch.cat(({}), 1)", fmt::join(all_inputs(), ", "));
  }
  std::string operator()(const layer::MaxPool& op) const {
    std::string text = fmt::format("F.max_pool2d({}, {}, stride={}", map(), op.kernel, op.stride);
    if (op.padding != 0) text += fmt::format(", padding={}", op.padding);
    return text + (op.ceil ? ", ceil_mode=True)" : ")");
  }
  std::string operator()(const layer::AvgPool& op) const {
    return fmt::format("F.avg_pool2d({}, {}, stride={})", map(), op.kernel, op.stride);
  }
  std::string operator()(const layer::GlobalAvgPool&) const { return map() + ".mean((2, 3), keepdim=True)"; }
  std::string operator()(const layer::Dropout& op) {
    flat_ = input().flat;
    return fmt::format("F.dropout({}, {}, self.training)", input().name, op.probability);
  }
  std::string operator()(const layer::Linear&) {
    flat_ = true;
    return call(input().name + (input().flat ? "" : ".flatten(1)"));
  }

 private:
  [[nodiscard]] const Variable& input(std::size_t i = 0) const {
    return values_[static_cast<std::size_t>(layer_->inputs[i])];
  }
  /// An input as [n, c, h, w].
  [[nodiscard]] std::string map(std::size_t i = 0) const {
    return input(i).name + (input(i).flat ? "[:, :, None, None]" : "");
  }
  [[nodiscard]] std::string call(const std::string& argument) const {
    return fmt::format("{}({})", module_text(layer_->name), argument);
  }
  std::vector<std::string> all_inputs() {
    flat_ = true;
    for (std::size_t i = 0; i < layer_->inputs.size(); ++i) flat_ = flat_ && input(i).flat;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < layer_->inputs.size(); ++i) all.push_back(flat_ ? input(i).name : map(i));
    return all;
  }

  /// The first name that no later layer needs.
  [[nodiscard]] std::string variable() const {
    std::set<std::string> live;
    for (int i = 0; i < index_; ++i)
      if (last_reader_[static_cast<std::size_t>(i)] > index_) live.insert(values_[static_cast<std::size_t>(i)].name);
    for (const char* name : {"x", "y", "z"})
      if (!live.contains(name)) return name;
    int number = 1;
    while (live.contains(fmt::format("v{}", number))) ++number;
    return fmt::format("v{}", number);
  }

  [[nodiscard]] std::string module_of(int index) const {
    const Layer& layer = plan_.network->layer(index);
    if (plan_.replaced.contains(index)) return kernels_.of(index) + "()";
    if (const auto* conv = std::get_if<layer::Conv>(&layer.op)) return conv_text(*conv);
    if (const auto* norm = std::get_if<layer::BatchNorm>(&layer.op))
      return fmt::format("nn.BatchNorm2d({})", norm->channels);
    if (const auto* norm = std::get_if<layer::ChannelNorm>(&layer.op))
      return fmt::format("nn.LayerNorm({}, eps={})", norm->channels, norm->epsilon);
    if (std::holds_alternative<layer::LearnedMap>(layer.op))
      return fmt::format("LearnedMap({}, {}, {})", layer.out.c, layer.out.h, layer.out.w);
    if (const auto* linear = std::get_if<layer::Linear>(&layer.op))
      return fmt::format("nn.Linear({}, {}{})", linear->in, linear->out, linear->bias ? "" : ", bias=False");
    return "";
  }

  const NetworkPlan& plan_;
  const KernelClasses& kernels_;
  std::vector<Variable> values_;  ///< by layer
  std::vector<int> last_reader_;
  const Layer* layer_ = nullptr;
  int index_ = 0;
  bool flat_ = false;
};

std::string network_source(const NetworkPlan& plan, const KernelClasses& kernels) {
  const Shape3 in = plan.network->input();
  NetworkText text(plan, kernels);
  std::string source = fmt::format(
      "\n\nclass Network(nn.Module):\n    \"\"\"Images [n, {}, {}, {}] to scores [n, {}].\"\"\"\n\n"
      "    def __init__(self):\n        super().__init__()\n        layers = {{\n",
      in.c, in.h, in.w, plan.network->classes());
  source += text.modules();
  source += R"(        }
        for name, layer in layers.items():
            *path, last = name.split(".")
            parent = self
            for part in path:
                if part not in parent._modules:
                    parent.add_module(part, nn.Module())
                parent = parent.get_submodule(part)
            parent.add_module(last, layer)

    def forward(self, x):
)";
  return source + text.forward();
}

template <typename Kind>
bool has(const Network& network) {
  return std::ranges::any_of(network.layers(), [](const Layer& of) { return std::holds_alternative<Kind>(of.op); });
}

std::string title(const NetworkPlan& plan, const ExportNotes& notes) {
  std::string text = fmt::format("\"\"\"{}", docstring_text(plan.network->name()));
  std::set<std::string> kernels;
  for (const auto& [layer, placed] : plan.replaced) kernels.insert(placed.first.name);
  if (!kernels.empty())
    text += docstring_text(
        fmt::format(" with {} in place of {} convolutions", fmt::join(kernels, ", "), plan.replaced.size()));
  text += ", for PyTorch and nothing else.\n\n";
  for (const auto& [key, value] : notes) text += docstring_text(fmt::format("{}: {}", key, value)) + "\n";
  if (!notes.empty()) text += "\n";
  return text +
         "    from model import load\n    scores = load()(images)\n\n"
         "`python model.py` compares it with the stored scores of check.safetensors.\n\"\"\"\n\n";
}

}  // namespace

std::vector<ExportedFile> export_pytorch(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                         const ExportNotes& notes) {
  tensors_by_name(plan, weights);
  const KernelClasses kernels(plan);
  std::string source = title(plan, notes) + std::string(head) + kernels.source();
  if (has<layer::LearnedMap>(*plan.network)) source += learned_map;
  if (has<layer::Attention>(*plan.network)) source += attention;
  source += network_source(plan, kernels) + std::string(tail);
  return {{"model.py", std::move(source)}, {"weights.safetensors", to_safetensors(weights, notes)}};
}

}  // namespace kasimir
