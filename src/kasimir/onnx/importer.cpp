// SPDX-License-Identifier: Apache-2.0
// names primitives: operators of ONNX share their words
#include "kasimir/onnx/importer.h"

#include "kasimir/base/text.h"
#include "kasimir/onnx/fold.h"

#include <algorithm>

namespace kasimir {
namespace {

constexpr std::int64_t oldest_opset = 11;
// Names are compared with all earlier ones; networks that classify images have some hundred operators.
constexpr int most_nodes = 20'000;
constexpr std::int64_t most_folded_values = std::int64_t{1} << 28;

/// Operators that may read one image whose axis of the batch is not the first.
constexpr std::string_view without_batch[] = {"Add", "Div",     "Flatten", "Gather",  "Gemm",      "MatMul",
                                              "Mul", "Reshape", "Shape",   "Squeeze", "Transpose", "Unsqueeze"};

/// What to try instead of an operator.
struct Hint {
  std::string_view op;
  std::string_view text;
};
constexpr Hint hints[] = {
    {"ConvTranspose", "networks that classify images have none: export the part that classifies"},
    {"DequantizeLinear", "export the network in floating point; `kasimir quantize` finds its bits"},
    {"InstanceNormalization", "train with batch norm, whose factors are constants at inference"},
    {"GroupNormalization", "train with batch norm, whose factors are constants at inference"},
    {"If", "export with fixed sizes, so that both branches are not needed"},
    {"LeakyRelu", "Relu, Clip(0, 6), HardSwish, Sigmoid, Tanh, Gelu and x * Sigmoid(x) are read"},
    {"Loop", "export with fixed sizes, so that loops are unrolled"},
    {"NonMaxSuppression", "detection is not read: export the part that classifies"},
    {"PRelu", "Relu, Clip(0, 6), HardSwish, Sigmoid, Tanh, Gelu and x * Sigmoid(x) are read"},
    {"QuantizeLinear", "export the network in floating point; `kasimir quantize` finds its bits"},
    {"Resize", "give images of the size that the network was made for, so that nothing is resized"},
};

}  // namespace

const std::vector<OnnxImporter::Rule>& OnnxImporter::rules() {
  using I = OnnxImporter;
  static const std::vector<Rule> all{
      {"Add", &I::add_values},
      {"AveragePool", &I::average_pool},
      {"BatchNormalization", &I::batch_norm},
      {"Cast", &I::alias},
      {"Clip", &I::clip},
      {"Concat", &I::concat},
      {"Conv", &I::conv},
      {"Div", &I::div_values},
      {"Dropout", &I::dropout},
      {"Erf", &I::erf},
      {"Flatten", &I::flatten},
      {"Gather", &I::gather},
      {"Gelu", &I::gelu},
      {"Gemm", &I::gemm},
      {"GlobalAveragePool", &I::global_average},
      {"GlobalMaxPool", &I::global_maximum},
      {"HardSigmoid", &I::hard_sigmoid},
      {"HardSwish", &I::activation},
      {"Identity", &I::alias},
      {"LayerNormalization", &I::layer_norm},
      {"LogSoftmax", &I::softmax},
      {"MatMul", &I::matmul},
      {"MaxPool", &I::max_pool},
      {"Mul", &I::mul_values},
      {"Pad", &I::pad},
      {"ReduceMean", &I::reduce_mean},
      {"Relu", &I::activation},
      {"Reshape", &I::reshape},
      {"Shape", &I::shape_of},
      {"Sigmoid", &I::activation},
      {"Slice", &I::slice},
      {"Softmax", &I::softmax},
      {"Split", &I::split},
      {"Squeeze", &I::squeeze},
      {"Sub", &I::sub_values},
      {"Sum", &I::add_values},
      {"Tanh", &I::activation},
      {"Transpose", &I::transpose},
      {"Unsqueeze", &I::unsqueeze},
  };
  return all;
}

OnnxImporter::OnnxImporter(const onnx::ModelProto& model, const std::filesystem::path& file, Shape3 input)
    : model_(model), path_(file), file_(file.filename().string()), input_(input), opset_(opset()), reader_(file) {}

std::int64_t OnnxImporter::opset() const {
  std::int64_t version = 0;
  for (const auto& set : model_.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") version = set.version();
  if (version < oldest_opset)
    throw input_error("{}: its operators are of set {}, needed {} or newer", file_, version, oldest_opset)
        .note("export it again, or convert it with onnx.version_converter.convert_version");
  return version;
}

ImportedNetwork OnnxImporter::run() {
  const auto& graph = model_.graph();
  if (graph.node_size() > most_nodes)
    throw input_error("{}: it has {} operators, at most {} are read", file_, graph.node_size(), most_nodes);
  if (graph.output_size() != 1)
    throw input_error("{}: it has {} outputs, needed 1: a score for each class", file_, graph.output_size())
        .note("export the network without its other outputs");
  find_needed();
  read_initializers();
  read_input();
  for (const auto& proto : graph.node()) read_node(proto);
  return finish();
}

void OnnxImporter::find_needed() {
  const auto& nodes = model_.graph().node();
  needed_.emplace(model_.graph().output(0).name(), 1);
  for (int i = nodes.size(); i-- > 0;) {
    const auto& outputs = nodes[i].output();
    if (std::ranges::none_of(outputs, [&](const std::string& name) { return needed_.contains(name); })) continue;
    for (const std::string& input : nodes[i].input())
      if (!input.empty()) {
        ++needed_[input];
        readers_[input].push_back(i);
      }
  }
}

bool OnnxImporter::read_once(std::size_t i) const { return needed_.find(node_->input(i))->second == 1; }

void OnnxImporter::read_initializers() {
  for (const auto& tensor : model_.graph().initializer()) {
    if (!needed_.contains(tensor.name())) continue;
    const std::string what = fmt::format("tensor `{}`", shown(tensor.name()));
    auto read = std::make_shared<OnnxConstant>(reader_.read(tensor, what));
    stored_ += read->elements();
    if (!values_.emplace(tensor.name(), std::move(read)).second)
      throw input_error("{}: {} is there twice", file_, what);
  }
  if (model_.graph().sparse_initializer_size() > 0)
    throw input_error("{}: it has sparse tensors, which are not read", file_).note("store them in full");
}

void OnnxImporter::read_input() {
  std::vector<const onnx::ValueInfoProto*> images;
  for (const auto& input : model_.graph().input())
    if (!values_.contains(input.name()) && needed_.contains(input.name())) images.push_back(&input);
  if (images.size() != 1) throw input_error("{}: it has {} inputs, needed 1: the images", file_, images.size());
  const std::string name = shown(images[0]->name());
  const auto& dims = images[0]->type().tensor_type().shape().dim();
  if (dims.size() != 4)
    throw input_error("{}: input `{}` has {} axes, needed 4: images [N, channels, height, width]", file_, name,
                      dims.size());
  std::vector<std::int64_t> extents;
  for (const auto& dim : dims) extents.push_back(dim.has_dim_value() ? dim.dim_value() : 0);
  if (extents[0] > 0) batch_ = extents[0];
  // TensorFlow's order: colours last.
  const auto side = [](std::int64_t extent) { return extent == 0 || extent > 4; };
  const bool last = (extents[3] == 1 || extents[3] == 3) && side(extents[1]) && side(extents[2]);
  Shape3 shape = last ? Shape3{extents[3], extents[1], extents[2]} : Shape3{extents[1], extents[2], extents[3]};
  if (input_.c > 0) {
    if (shape.c > 0 && shape.c != input_.c)
      throw input_error("{}: its images have {} channels, asked for {}", file_, shape.c, input_.str());
    shape = input_;
  }
  if (shape.c < 1 || shape.h < 1 || shape.w < 1)
    throw input_error("{}: input `{}` has no fixed size", file_, name)
        .note("say which: --input CHANNELSxHEIGHTxWIDTH such as 3x224x224");
  net_ = std::make_unique<NetworkBuilder>(path_.stem().string(), shape);
  MapView view = MapView::of(shape);
  if (last) std::rotate(view.axes.begin(), view.axes.begin() + 1, view.axes.end());
  values_.emplace(images[0]->name(), Feature{0, std::move(view)});
}

void OnnxImporter::read_node(const onnx::NodeProto& proto) {
  const auto wanted = [&](const std::string& name) { return needed_.contains(name); };
  if (std::ranges::none_of(proto.output(), wanted)) return;
  const OnnxNode node(proto, opset_, file_);
  node_ = &node;
  bool known = true;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (!node.has_input(i)) continue;
    if (!values_.contains(node.input(i)))
      node.fail("it reads `{}`, which nothing before it gives", shown(node.input(i)));
    known = known && std::holds_alternative<SharedConstant>(value(i));
  }
  for (const std::string& output : proto.output())
    if (values_.contains(output)) node.fail("it gives `{}` a second time", shown(output));
  const auto rule = std::ranges::find(rules(), node.op(), &Rule::op);
  if (known && folds(node.op()))
    fold_node();
  else if (rule != rules().end())
    (this->*rule->read)();
  else
    refuse();
  for (std::size_t i = 0; i < node.outputs(); ++i)
    if (wanted(node.output(i)) && !values_.contains(node.output(i)))
      node.fail("its result `{}` is not computed here", shown(node.output(i)));
  node_ = nullptr;
}

void OnnxImporter::fold_node() {
  auto made = fold(*node_, constants(), reader_);
  KASIMIR_CHECK(made.has_value(), "operator {} is not folded", node_->op());
  count_computed(made->elements());
  give(std::make_shared<OnnxConstant>(*std::move(made)));
}

void OnnxImporter::count_computed(std::int64_t values) {
  folded_ += values;
  // Factors and offsets are multiplied into weights some few times.
  if (folded_ > most_folded_values + 4 * stored_) node_->fail("{} values of constants so far are too many", folded_);
}

void OnnxImporter::shape_of() {
  const auto* fixed = constant(0);
  std::vector<std::int64_t> extents = fixed != nullptr ? fixed->shape : array_shape(feature());
  const std::int64_t rank = std::ssize(extents);
  const auto at = [&](std::int64_t axis) { return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const std::int64_t start = at(node_->integer("start", 0));
  const std::int64_t end = std::max(start, at(node_->integer("end", rank)));
  extents = {extents.begin() + start, extents.begin() + end};
  const std::int64_t count = std::ssize(extents);
  give(std::make_shared<OnnxConstant>(OnnxConstant{{count}, std::move(extents)}));
}

void OnnxImporter::refuse() const {
  Error error = input_error("{}: node `{}` is a `{}` (operator set {}), which is not read", file_, shown(node_->name()),
                            node_->op(), opset_);
  const auto hint = std::ranges::find(hints, node_->op(), &Hint::op);
  if (hint != std::end(hints)) error.note(std::string(hint->text));
  if (std::ranges::any_of(model_.functions(), [&](const auto& f) { return f.name() == node_->proto().op_type(); }))
    error.note("it is a function of the file: onnx.inliner.inline_local_functions writes it out");
  throw error.note("read are: " + join(onnx_operators(), ", "));
}

const OnnxValue& OnnxImporter::value(std::size_t i) const {
  if (!node_->has_input(i)) node_->fail("input {} is missing", i + 1);
  return values_.find(node_->input(i))->second;
}

const Feature& OnnxImporter::feature(std::size_t i) const {
  const auto* found = std::get_if<Feature>(&value(i));
  if (std::holds_alternative<GeluPart>(value(i)))
    node_->fail("input {} is a part of x * (1 + erf(x / sqrt 2)) / 2 that is not read alone", i + 1);
  if (std::holds_alternative<AttentionPart>(value(i)))
    node_->fail("input {} is a product of queries and keys that is not read alone", i + 1);
  if (found == nullptr) node_->fail("input {} is a constant, needed what comes from the images", i + 1);
  if (!found->batched && std::ranges::find(without_batch, node_->op()) == std::end(without_batch))
    node_->fail("its input {} has no axis for the batch", fmt::join(array_shape(*found), "x"));
  return *found;
}

const OnnxConstant* OnnxImporter::constant(std::size_t i) const {
  if (!node_->has_input(i)) return nullptr;
  const auto* found = std::get_if<SharedConstant>(&value(i));
  return found == nullptr ? nullptr : found->get();
}

const OnnxConstant& OnnxImporter::weight(std::size_t i) const {
  if (!node_->has_input(i)) node_->fail("input {} is missing", i + 1);
  const OnnxConstant* found = constant(i);
  if (found == nullptr) node_->fail("input {} (`{}`) is no constant", i + 1, shown(node_->input(i)));
  if (found->whole()) node_->fail("input {} (`{}`) holds whole numbers", i + 1, shown(node_->input(i)));
  return *found;
}

std::vector<const OnnxConstant*> OnnxImporter::constants() const {
  std::vector<const OnnxConstant*> all;
  for (std::size_t i = 0; i < node_->inputs(); ++i) all.push_back(constant(i));
  return all;
}

std::vector<std::int64_t> OnnxImporter::array_shape(const Feature& of) const {
  std::vector<std::int64_t> extents = of.view.shape();
  if (of.batched) extents.insert(extents.begin(), batch_);
  return extents;
}

std::size_t OnnxImporter::channel_axis(const Feature& of) const {
  const ViewAxis channels = whole_axis(MapDigit::Of::channel, shape(of).c);
  const auto found = std::ranges::find(of.view.axes, channels);
  if (found == of.view.axes.end())
    node_->fail("no axis of its input {} is the channels of a feature map", fmt::join(array_shape(of), "x"));
  return static_cast<std::size_t>(found - of.view.axes.begin());
}

std::size_t OnnxImporter::view_axis(const Feature& of, std::int64_t axis) const {
  const auto rank = static_cast<std::int64_t>(of.view.axes.size()) + (of.batched ? 1 : 0);
  if (axis < -rank || axis >= rank) node_->fail("axis {} of an array of {} axes", axis, rank);
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (!of.batched) return static_cast<std::size_t>(at);
  if (at == 0) node_->fail("axis 0 is the batch, whose images do not depend on each other");
  return static_cast<std::size_t>(at - 1);
}

void OnnxImporter::give(OnnxValue value, std::size_t output) {
  if (output < node_->outputs() && !node_->output(output).empty())
    values_.emplace(node_->output(output), std::move(value));
}

int OnnxImporter::add(Op op, std::vector<int> inputs, LayerValues values, std::string_view weight_name) {
  try {
    // Layers get their names at the end, when it is known which are needed; until then, those of their nodes.
    const std::string name = fmt::format("{} ({})", shown(node_->name()), net_->size());
    const int layer = net_->add(name, std::move(op), std::move(inputs));
    const auto uses = needed_.find(weight_name);
    const bool own = uses != needed_.end() && uses->second == 1 && weight_name.ends_with(".weight");
    origins_[layer] = {node_->name(), node_->proto().op_type(), own ? std::string(weight_name) : ""};
    if (!values.empty()) values_of_layer_.emplace(layer, std::move(values));
    return layer;
  } catch (Error& error) {
    throw error.note(fmt::format("it is node `{}` ({}) of {}", shown(node_->name()), node_->op(), file_));
  }
}

void OnnxImporter::give_view(Feature of) {
  const MapView plain = MapView::of(shape(of));
  const auto& axes = of.view.axes;
  if (!of.batched && !axes.empty() && axes[0].empty()) {
    of.view.axes.erase(of.view.axes.begin());
    of.batched = true;
  }
  if (axes.size() == 3 && axes[0] == plain.axes[0] && axes[1] == places_of(shape(of)) && axes[1].size() == 2 &&
      axes[2].empty())
    return give_map(add(layer::Sequence{}, {of.layer}));
  if (axes.size() == 3 && axes[1] == plain.axes[1] && axes[2] == plain.axes[2] && axes[0].size() == 2) {
    const auto [far, near] = std::pair(axes[0][0], axes[0][1]);
    if (far.of == MapDigit::Of::channel && near.of == far.of && far.step == 1 && near.step == far.extent)
      of = {add(layer::Shuffle{near.extent}, {of.layer}), plain, of.batched};
  }
  give(std::move(of));
}

int OnnxImporter::map_of(const Feature& of) const {
  const Shape3 map = shape(of);
  if (of.view == MapView::of(map)) return of.layer;
  node_->fail("its input {} is not in the order images, channels, height, width of a feature map {}",
              fmt::join(array_shape(of), "x"), map.str());
}

ImportedNetwork OnnxImporter::finish() {
  const std::string& result = model_.graph().output(0).name();
  const auto found = values_.find(result);
  if (found == values_.end()) throw input_error("{}: nothing gives its output `{}`", file_, shown(result));
  const auto* scores = std::get_if<Feature>(&found->second);
  if (scores == nullptr) throw input_error("{}: its output `{}` does not depend on the images", file_, shown(result));
  std::vector<bool> used(net_->size(), false);
  used[static_cast<std::size_t>(scores->layer)] = true;
  for (int i = scores->layer; i >= 0; --i)
    if (used[static_cast<std::size_t>(i)])
      for (const int from : net_->layer(i).inputs) used[static_cast<std::size_t>(from)] = true;
  NetworkBuilder last(path_.stem().string(), net_->shape(0));
  std::vector<int> renamed(used.size(), 0);
  std::map<std::string, LayerValues> values;
  for (int i = 1; i <= scores->layer; ++i) {
    if (!used[static_cast<std::size_t>(i)]) continue;
    const Layer& of = net_->layer(i);
    const Origin& origin = origins_[i];
    const std::string name = names_.of(origin.node, origin.op, origin.weight);
    std::vector<int> inputs;
    for (const int from : of.inputs) inputs.push_back(renamed[static_cast<std::size_t>(from)]);
    renamed[static_cast<std::size_t>(i)] = last.add(name, of.op, std::move(inputs));
    const auto own = values_of_layer_.find(i);
    if (own != values_of_layer_.end()) values.emplace(name, std::move(own->second));
  }
  Network network = std::move(last).finish();
  std::vector<NamedTensor> weights;
  const NetworkPlan plan{&network, {}};
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    auto own = values.find(network.layers()[i].name);
    for (const LayerPart& part : layer_parts(plan, static_cast<int>(i))) {
      KASIMIR_CHECK(own != values.end(), "no values for {}", part.name);
      const auto value = std::ranges::find_if(
          own->second, [&](const auto& of) { return part.name == fmt::format("{}.{}", own->first, of.first); });
      KASIMIR_CHECK(value != own->second.end() && std::ssize(value->second) == part.elements(), "values of {}",
                    part.name);
      weights.push_back({part.name, part.shape, part.learned(), std::move(value->second)});
    }
  }
  return {std::move(network).with_start(std::move(weights)), model_.graph().node_size(), opset_, std::move(notes_)};
}

}  // namespace kasimir
