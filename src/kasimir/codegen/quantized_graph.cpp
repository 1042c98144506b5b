// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/quantized_graph.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/nest/expression.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/substitute.h"
#include "kasimir/number/fit.h"

#include <algorithm>
#include <utility>

namespace kasimir {
namespace {

std::string step_name(const std::string& weight) { return weight + ".step"; }
std::string scale_name(const std::string& weight) { return weight + ".scale"; }
std::string codes_name(const std::string& weight) { return weight + ".codes"; }

/// What places share that quantise one activation alike.
struct CodesKey {
  int tensor;
  IntegerFormat format;
  float step;
  bool operator==(const CodesKey&) const = default;
};

/// Iterators for every digit of the left side, the same digits, and plain coordinates.
struct Place {
  BoundStage stage;
  std::vector<BoundCoord> at;
};

Place whole_of(const BoundTensor& tensor) {
  Place place;
  for (const auto& axis : tensor.axes) {
    const int iter = static_cast<int>(place.stage.iters.size());
    place.stage.iters.push_back({axis.kind, axis.extent});
    place.stage.left.push_back({axis.kind, {iter}});
    place.at.push_back({{{iter, 1}}, 0, {}});
  }
  return place;
}

class Quantizing {
 public:
  Quantizing(NetworkGraph network, const Quantization& quantization)
      : result_{std::move(network), {}}, quantization_(quantization), graph_(result_.network.graph) {}

  QuantizedGraph run() {
    require_places();
    readers_ = count_reads(graph_);
    ++readers_[static_cast<std::size_t>(graph_.output)];
    const std::vector<BoundStage> stages = std::exchange(graph_.stages, {});
    for (const BoundStage& stage : stages)
      if (const std::string* weight = place_of(stage)) keys_.push_back(key_of(stage, *weight));
    for (const BoundStage& stage : stages) {
      const std::string* weight = place_of(stage);
      if (weight == nullptr) {
        graph_.stages.push_back(stage);
      } else {
        add_place(stage, *weight);
      }
      defined_by_[stage.out] = graph_.stages.size() - 1;
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] const std::string* place_of(const BoundStage& stage) const {
    const auto product = weighted_product(graph_, stage);
    if (!product) return nullptr;
    const auto found = quantization_.find(name_of(product->weight->tensor));
    return found == quantization_.end() ? nullptr : &found->first;
  }
  [[nodiscard]] const std::string& name_of(int tensor) const {
    return result_.network.names[static_cast<std::size_t>(tensor)];
  }
  [[nodiscard]] CodesKey key_of(const BoundStage& stage, const std::string& weight) const {
    const QuantizedPlace& place = quantization_.at(weight);
    return {weighted_product(graph_, stage)->activation->tensor, place.activation, place.activation_step};
  }

  void require_places() const {
    std::vector<std::string> known;
    for (const BoundStage& stage : graph_.stages)
      if (const auto product = weighted_product(graph_, stage)) known.push_back(name_of(product->weight->tensor));
    for (const auto& [name, place] : quantization_) {
      if (std::ranges::find(known, name) == known.end())
        throw input_error("no weighted sum has a weight `{}`, {}", name, suggestion(name, known));
      require_legal(place.weight, fmt::format("weights of `{}`", name));
      require_legal(place.activation, fmt::format("activations of `{}`", name));
      if (!(place.activation_step > 0))
        throw input_error("the step of the activations of `{}` is {}, needed is a positive number", name,
                          place.activation_step);
      for (float step : place.weight_steps)
        if (!(step > 0)) throw input_error("a step of `{}` is {}, needed are positive numbers", name, step);
    }
  }

  int add_tensor(BoundTensor tensor, std::string name) {
    graph_.tensors.push_back(std::move(tensor));
    result_.network.names.push_back(std::move(name));
    return static_cast<int>(graph_.tensors.size()) - 1;
  }
  int add_scale(const std::string& name, std::vector<BasicAxis<Bound>> axes) {
    BoundTensor tensor;
    tensor.name = name;
    tensor.role = Role::weight;
    tensor.weight_role = WeightRole::scale;
    tensor.axes = std::move(axes);
    return add_tensor(std::move(tensor), name);
  }

  /// Unsigned codes of relu(y) that nobody else reads are those of y: clamping does what relu does.
  [[nodiscard]] int before_relu(const CodesKey& key) const {
    const auto by = defined_by_.find(key.tensor);
    if (key.format.is_signed || by == defined_by_.end() ||
        readers_[static_cast<std::size_t>(key.tensor)] != std::ranges::count(keys_, key))
      return key.tensor;
    const BoundStage& stage = graph_.stages[by->second];
    if (!is_pointwise(stage) || stage.nodes.size() != 2) return key.tensor;
    const auto* read = std::get_if<BoundRead>(&stage.nodes[0]);
    const auto* relu = std::get_if<Apply>(&stage.nodes[1]);
    const bool plain = read != nullptr && relu != nullptr && relu->fn == Fn::relu &&
                       reads_in_place(stage, *read, graph_.tensors[static_cast<std::size_t>(read->tensor)]);
    return plain ? read->tensor : key.tensor;
  }

  /// The tensor of an activation's codes.
  int codes_of(const CodesKey& key, const std::string& weight) {
    for (const auto& [known, tensor] : codes_)
      if (known == key) return tensor;
    const BoundTensor& x = graph_.tensors[static_cast<std::size_t>(key.tensor)];
    BoundTensor tensor;
    tensor.name = codes_name(weight);
    tensor.axes = x.axes;
    Place place = whole_of(x);
    const int step = add_scale(step_name(weight), {});
    const std::string name = tensor.name;
    place.stage.out = add_tensor(std::move(tensor), "");
    place.stage.nodes = {BoundRead{before_relu(key), place.at}, BoundRead{step, {}}, Apply{Fn::div, 0, 1}};
    result_.codes.emplace(name, key.format);
    codes_.emplace_back(key, place.stage.out);
    graph_.stages.push_back(std::move(place.stage));
    return codes_.back().second;
  }

  void add_place(BoundStage stage, const std::string& weight) {
    const QuantizedPlace& place = quantization_.at(weight);
    const CodesKey key = key_of(stage, weight);
    const BoundRead weight_read = *weighted_product(graph_, stage)->weight;
    result_.codes.emplace(graph_.tensors[static_cast<std::size_t>(weight_read.tensor)].name, place.weight);
    const int codes = codes_of(key, weight);
    for (BoundNode& node : stage.nodes)
      if (auto* read = std::get_if<BoundRead>(&node); read != nullptr && read->tensor == key.tensor)
        read->tensor = codes;

    const auto& weight_axes = graph_.tensors[static_cast<std::size_t>(weight_read.tensor)].axes;
    const auto channel_axes = static_cast<std::size_t>(place.channel_axes);
    if (channel_axes > weight_axes.size())
      throw input_error("`{}` has {} axes, and steps along {}", weight, weight_axes.size(), channel_axes);
    const std::vector<BasicAxis<Bound>> channels(weight_axes.begin(), weight_axes.begin() + place.channel_axes);
    std::int64_t steps = 1;
    for (const auto& axis : channels) steps *= axis.extent;
    if (steps != static_cast<std::int64_t>(place.weight_steps.size()))
      throw input_error("`{}` has {} steps, needed are {}", weight, place.weight_steps.size(), steps);

    BoundStage scaling = scaled(stage, add_scale(scale_name(weight), channels),
                                {weight_read.at.begin(), weight_read.at.begin() + place.channel_axes});
    BoundTensor sums = graph_.tensors[static_cast<std::size_t>(stage.out)];
    sums.name += ".sums";
    stage.out = std::get<BoundRead>(scaling.nodes[0]).tensor = add_tensor(std::move(sums), "");
    if (stage.reduce == Reduce::none) {
      // A sum of one: no pass looks into sums, so that the codes stay what is read.
      stage.reduce = Reduce::sum;
      stage.reduced.push_back(static_cast<int>(stage.iters.size()));
      stage.iters.push_back({AxisKind::channel, 1});
    }
    graph_.stages.push_back(std::move(stage));
    graph_.stages.push_back(std::move(scaling));
  }

  /// `out = sums * scale`, with the iterators of the sums' left side; the tensor of the sums is for the caller to name.
  [[nodiscard]] static BoundStage scaled(const BoundStage& stage, int scale, std::vector<BoundCoord> channel) {
    BoundStage made;
    made.out = stage.out;
    made.step = stage.step;
    std::map<int, int> renamed;
    BoundRead sums{-1, {}};
    for (const LeftAxis& axis : stage.left) {
      made.left.push_back({axis.kind, {}});
      BoundCoord coord;
      for (int digit : axis.digits) {
        const BoundIter& iter = stage.iters[static_cast<std::size_t>(digit)];
        for (auto& term : coord.terms) term.second *= iter.extent;
        renamed[digit] = static_cast<int>(made.iters.size());
        coord.terms.emplace_back(renamed[digit], 1);
        made.left.back().digits.push_back(renamed[digit]);
        made.iters.push_back(iter);
      }
      sums.at.push_back(std::move(coord));
    }
    for (BoundCoord& coord : channel)
      for (auto& term : coord.terms) term.first = renamed.at(term.first);
    made.nodes = {std::move(sums), BoundRead{scale, std::move(channel)}, Apply{Fn::mul, 0, 1}};
    return made;
  }

  QuantizedGraph result_;
  const Quantization& quantization_;
  BoundGraph& graph_;
  std::vector<int> readers_;                     ///< per tensor
  std::vector<CodesKey> keys_;                   ///< per place
  std::vector<std::pair<CodesKey, int>> codes_;  ///< and the tensor
  std::map<int, std::size_t> defined_by_;        ///< tensor: its stage
};

/// The activation that a nest of codes reads at the very place that it writes, with scalars beside; nothing for others.
const BoundRead* value_of_codes(const NestProgram& program, const Nest& nest) {
  if (!program.codes.contains(nest.out) || nest.reduce != Reduce::none || nest.factor != 1.0 || !nest.also.empty() ||
      !nest.epilogue.empty())
    return nullptr;
  const BoundRead* found = nullptr;
  for (const NestNode& node : nest.value) {
    const auto* read = std::get_if<BoundRead>(&node);
    if (read == nullptr || (program.known[static_cast<std::size_t>(read->tensor)] && read->at.empty())) continue;
    if (found != nullptr || read->at != nest.out_at) return nullptr;
    found = read;
  }
  const auto& axes = program.tensors[static_cast<std::size_t>(nest.out)].axes;
  return found != nullptr && axes == program.tensors[static_cast<std::size_t>(found->tensor)].axes ? found : nullptr;
}

/// Moves nests of codes into the nest that gives the value.
void write_codes_at_once(NestProgram& program) {
  std::vector<Nest> kept;
  for (Nest& nest : program.run) {
    const BoundRead* value = value_of_codes(program, nest);
    const auto giver =
        value == nullptr ? kept.end() : std::ranges::find(kept, value->tensor, [](const Nest& of) { return of.out; });
    if (giver == kept.end()) {
      kept.push_back(std::move(nest));
      continue;
    }
    NestCopy copy{nest.out, giver->out_at, nest.value};
    for (NestNode& node : copy.value)
      if (const auto* read = std::get_if<BoundRead>(&node); read != nullptr && read->tensor == giver->out)
        node = Reduced{};
    giver->also.push_back(std::move(copy));
  }
  program.run = std::move(kept);
  program.segments = {{0, program.run.size(), program.batch}};
}

}  // namespace

QuantizedGraph quantized(NetworkGraph network, const Quantization& quantization) {
  return Quantizing(std::move(network), quantization).run();
}

std::vector<NamedTensor> quantized_tensors(const std::vector<NamedTensor>& weights, const Quantization& quantization) {
  std::vector<NamedTensor> result = weights;
  for (const auto& [name, place] : quantization) {
    const auto tensor = std::ranges::find(result, name, &NamedTensor::name);
    if (tensor == result.end()) throw input_error("the weights lack tensor `{}`", name);
    const auto& steps = place.weight_steps;
    if (steps.empty() || tensor->values.size() % steps.size() != 0)
      throw input_error("tensor `{}` has {} values, which {} steps cannot share", name, tensor->values.size(),
                        steps.size());
    std::vector<QuantizerScale> scales;
    for (const float step : steps) scales.push_back({step, 0, 0});
    const auto codes = encode_all(fmt::format("tensor `{}`", name), tensor->values, scales, place.weight);
    tensor->values.assign(codes.begin(), codes.end());
    NamedTensor scale{scale_name(name), {}, true, place.weight_steps};
    for (float& step : scale.values) step *= place.activation_step;
    result.push_back(std::move(scale));
    result.push_back({step_name(name), {}, true, {place.activation_step}});
  }
  return result;
}

void mark_codes(NestProgram& program, const CodeTensors& codes) {
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    std::string_view name = program.tensors[t].name;
    while (name.ends_with(lifted_suffix)) name.remove_suffix(lifted_suffix.size());
    const auto found = codes.find(std::string(name));
    if (found != codes.end()) program.codes.emplace(static_cast<int>(t), found->second);
  }
  if (!program.codes.empty()) write_codes_at_once(program);
}

}  // namespace kasimir
