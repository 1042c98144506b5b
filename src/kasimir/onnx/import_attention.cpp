// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/importer.h"

#include <algorithm>

namespace kasimir {

bool OnnxImporter::read_by_products() const {
  const auto found = readers_.find(node_->output(0));
  return found != readers_.end() && std::ranges::all_of(found->second, [&](int i) {
           const auto& reader = model_.graph().node(i);
           return reader.op_type() == "MatMul" && std::ranges::none_of(reader.input(), [&](const std::string& input) {
                    const auto value = values_.find(input);
                    return value != values_.end() && std::holds_alternative<SharedConstant>(value->second);
                  });
         });
}

bool OnnxImporter::attention_step(std::size_t i, double factor) {
  if (const auto* part = std::get_if<AttentionPart>(&value(i))) {
    AttentionPart scaled = *part;
    if (scaled.soft) node_->fail("weights of attention times {}, which no layer here has", factor);
    scaled.scale *= factor;
    give(scaled);
    return true;
  }
  if (!std::holds_alternative<Feature>(value(i)) || !read_by_products()) return false;
  Feature scaled = feature(i);
  scaled.factor *= factor;
  give(std::move(scaled));
  return true;
}

std::int64_t OnnxImporter::heads_of(const Feature& of, bool turned) const {
  const Shape3 map = shape(of);
  const auto& axes = of.view.axes;
  std::int64_t heads = 1;
  bool good = axes.size() >= 2;
  for (std::size_t i = 0; good && i + 2 < axes.size(); ++i) {
    if (axes[i].empty()) continue;
    good = heads == 1 && axes[i].size() == 1;
    heads = axes[i][0].extent;
    good = good && map.c % heads == 0 && axes[i][0] == MapDigit{MapDigit::Of::channel, heads, map.c / heads};
  }
  good = good && axes[axes.size() - (turned ? 1 : 2)] == places_of(map) &&
         axes[axes.size() - (turned ? 2 : 1)] == whole_axis(MapDigit::Of::channel, map.c / heads);
  if (!good)
    node_->fail("a product of maps, {} of them, needed attention: [.., heads, places, channels of a head]",
                fmt::join(array_shape(of), "x"));
  return heads;
}

void OnnxImporter::products() {
  const Feature a = feature(0);
  const Feature b = feature(1);
  const std::int64_t heads = heads_of(a, false);
  if (heads_of(b, true) != heads || a.batched != b.batched || shape(a).c != shape(b).c)
    node_->fail("{} times {}, needed as many heads and channels in both", fmt::join(array_shape(a), "x"),
                fmt::join(array_shape(b), "x"));
  give(AttentionPart{a.layer, b.layer, heads, a.factor * b.factor, false, array_shape(a).size()});
}

void OnnxImporter::mean_of_values(const AttentionPart& part) {
  const Feature values = feature(1);
  const std::int64_t heads = heads_of(values, false);
  if (!part.soft || heads != part.heads || values.factor != 1)
    node_->fail("products of queries and keys times {}, needed their softmax and values of {} heads",
                fmt::join(array_shape(values), "x"), part.heads);
  Feature result = values;
  result.layer = add(layer::Attention{.heads = heads, .scale = part.scale}, {part.queries, part.keys, values.layer});
  result.view.axes[result.view.axes.size() - 2] = places_of(shape(result));
  give(std::move(result));
}

void OnnxImporter::pick(const Feature& of, std::size_t axis, std::int64_t index, bool keep) {
  const Shape3 map = shape(of);
  const ViewAxis& digits = of.view.axes[axis];
  const std::int64_t all = extent(digits);
  if (index < -all || index >= all) node_->fail("index {} of {}", index, all);
  Feature result = of;
  if (!digits.empty()) {
    const MapDigit digit = digits[0];
    const bool rows = digit.of == MapDigit::Of::height;
    const std::int64_t whole = rows ? map.h : map.c;
    if (digits.size() != 1 || digit.of == MapDigit::Of::width || digit.step * digit.extent != whole)
      node_->fail("it picks from axis {} of {}, needed channels or rows that follow one another",
                  axis + (of.batched ? 1 : 0), fmt::join(array_shape(of), "x"));
    const std::int64_t first = (index < 0 ? index + all : index) * digit.step;
    const Op op = rows ? Op(layer::Rows{first, digit.step}) : Op(layer::Slice{first, digit.step});
    result.layer = add(op, {of.layer});
  }
  if (keep)
    result.view.axes[axis].clear();
  else
    result.view.axes.erase(result.view.axes.begin() + static_cast<std::ptrdiff_t>(axis));
  give_view(std::move(result));
}

void OnnxImporter::join_places(const Feature& of, const OnnxConstant& values, std::size_t axis, bool front) {
  const Shape3 map = shape(of);
  const std::int64_t places = map.h * map.w;
  const auto& axes = of.view.axes;
  if (!of.batched || axes.size() != 2 || axis > 1 || axes[axis] != places_of(map) || channel_axis(of) != 1 - axis)
    node_->fail("a constant {} joined to {}, needed places in front of a sequence or behind it",
                fmt::join(values.shape, "x"), fmt::join(array_shape(of), "x"));
  const bool fits = values.shape.size() == 3 && values.shape[0] == 1 && values.shape[2 - axis] == map.c;
  if (!fits)
    node_->fail("a constant {} joined to {}, needed one image's and as many channels", fmt::join(values.shape, "x"),
                fmt::join(array_shape(of), "x"));
  const std::int64_t more = values.shape[axis + 1];
  count_computed(map.c * (places + more));
  // Zeros, to which a learned map is added: with a position embedding behind it both are one.
  std::vector<float> learned(static_cast<std::size_t>(map.c * (places + more)), 0.0F);
  for (std::int64_t c = 0; c < map.c; ++c)
    for (std::int64_t i = 0; i < more; ++i)
      learned[static_cast<std::size_t>(c * (places + more) + i + (front ? 0 : places))] =
          values.floats()[static_cast<std::size_t>(axis == 0 ? i * map.c + c : c * more + i)];
  const int sequence = map.w == 1 ? of.layer : add(layer::Sequence{}, {of.layer});
  const int longer = add(front ? layer::Pad{.top = more} : layer::Pad{.bottom = more}, {sequence});
  Feature result{add(layer::LearnedMap{}, {longer}, {{"map", std::move(learned)}}), of.view};
  result.view.axes[axis] = places_of(shape(result));
  give(std::move(result));
}

void OnnxImporter::add_map(const Feature& of, std::size_t i, const OnnxConstant& values) {
  std::vector<std::int64_t> given = values.shape;
  const auto whole = array_shape(of);
  while (given.size() < whole.size()) given.insert(given.begin(), 1);
  if (values.whole() || given != whole || batch_ != 1)
    node_->fail("a constant {} beside {}, needed one number, one for each channel, or one for each element",
                fmt::join(values.shape, "x"), fmt::join(whole, "x"));
  count_computed(values.elements());
  const auto order = of.view.order(shape(of));
  std::vector<float> learned(order.size(), 0.0F);
  for (std::size_t k = 0; k < order.size(); ++k) learned[static_cast<std::size_t>(order[k])] = values.floats()[k];
  const Layer before = net_->layer(of.layer);
  int from = of.layer;
  if (std::holds_alternative<layer::LearnedMap>(before.op) && read_once(i)) {
    const auto& other = values_of_layer_.at(of.layer)[0].second;
    for (std::size_t k = 0; k < learned.size(); ++k) learned[k] += other[k];
    from = before.inputs[0];
  }
  give_like(of, add(layer::LearnedMap{}, {from}, {{"map", std::move(learned)}}));
}

}  // namespace kasimir
