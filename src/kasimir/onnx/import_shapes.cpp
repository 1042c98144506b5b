// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/fold_shapes.h"
#include "kasimir/onnx/importer.h"

#include <algorithm>
#include <numeric>

namespace kasimir {

void OnnxImporter::view_as(const Feature& of, const std::vector<std::int64_t>& shape) {
  const bool batched = !shape.empty() && shape[0] == batch_;
  // One image may be seen without its batch for a while.
  if (!batched && batch_ != 1)
    node_->fail("{} becomes {}: the batch has to stay the first axis", fmt::join(array_shape(of), "x"),
                fmt::join(shape, "x"));
  auto view = of.view.reshaped({shape.begin() + (batched ? 1 : 0), shape.end()});
  if (!view)
    node_->fail("{} becomes {}, which mixes the axes of a feature map {}", fmt::join(array_shape(of), "x"),
                fmt::join(shape, "x"), this->shape(of).str());
  give_view(Feature{of.layer, *std::move(view), batched});
}

void OnnxImporter::gather() {
  const Feature x = feature();
  const auto* indices = constant(1);
  if (indices == nullptr || !indices->whole()) node_->fail("its indices are no constant of whole numbers");
  const auto& all = indices->integers();
  const auto shape_now = array_shape(x);
  if (all.size() == 1 && shape_now.size() > 1)
    return pick(x, view_axis(x, node_->integer("axis", 0)), all[0], !indices->shape.empty());
  // PyTorch writes views of arrays as a choice of all elements in their order.
  bool every = shape_now.size() == 1 && shape_now[0] == std::ssize(all);
  for (std::size_t i = 0; i < all.size(); ++i) every = every && all[i] == static_cast<std::int64_t>(i);
  if (!every) node_->fail("it picks elements of {}, needed all of them in their order", fmt::join(shape_now, "x"));
  view_as(x, indices->shape);
}

void OnnxImporter::reshape() {
  const Feature x = feature();
  const auto* target = constant(1);
  if (target == nullptr || !target->whole()) node_->fail("the shape that it asks for is no constant");
  view_as(x, reshape_target(*node_, array_shape(x), target->integers()));
}

void OnnxImporter::flatten() {
  const Feature x = feature();
  const auto from = array_shape(x);
  const std::int64_t axis = node_->integer("axis", 1);
  const std::size_t at = axis == std::ssize(from) ? from.size() : axis_of(*node_, axis, from.size());
  const auto middle = from.begin() + static_cast<std::ptrdiff_t>(at);
  view_as(x, {product_of({from.begin(), middle}), product_of({middle, from.end()})});
}

void OnnxImporter::squeeze() {
  const Feature x = feature();
  const auto axes = numbers_of(*node_, "axes", 1, constants());
  view_as(x, squeezed(*node_, array_shape(x), axes.value_or(std::vector<std::int64_t>{}), axes.has_value()));
}

void OnnxImporter::unsqueeze() {
  const Feature x = feature();
  const auto axes = numbers_of(*node_, "axes", 1, constants());
  if (!axes) node_->fail("its axes are no constant");
  view_as(x, unsqueezed(*node_, array_shape(x), *axes));
}

void OnnxImporter::transpose() {
  const Feature x = feature();
  std::vector<ViewAxis> axes = x.view.axes;
  if (x.batched) axes.insert(axes.begin(), ViewAxis{});
  std::vector<std::int64_t> back(axes.size());
  std::iota(back.rbegin(), back.rend(), 0);
  const auto order = node_->integers("perm", back);
  std::vector<std::int64_t> sorted = order;
  std::ranges::sort(sorted);
  std::ranges::reverse(back);
  if (sorted != back) node_->fail("{} is no order of {} axes", fmt::join(order, ", "), back.size());
  const bool stays = x.batched && !order.empty() && order[0] == 0;
  if (!stays && batch_ != 1) node_->fail("the batch has to stay the first axis");
  Feature result{x.layer, {}, stays};
  for (std::size_t i = stays ? 1 : 0; i < order.size(); ++i)
    result.view.axes.push_back(axes[static_cast<std::size_t>(order[i])]);
  give_view(std::move(result));
}

void OnnxImporter::concat() {
  // Beginnings of the list are looked up one after another; dense blocks join some sixty.
  constexpr std::size_t most = 1024;
  if (node_->inputs() > most) node_->fail("{} inputs, at most {} are read", node_->inputs(), most);
  if (node_->inputs() == 2 && (constant(0) == nullptr) != (constant(1) == nullptr)) {
    const std::size_t i = constant(0) == nullptr ? 0 : 1;
    return join_places(feature(i), weight(1 - i), view_axis(feature(i), node_->integer("axis", 0)), i == 1);
  }
  std::vector<Feature> parts;
  for (std::size_t i = 0; i < node_->inputs(); ++i) parts.push_back(feature(i));
  if (parts.size() == 1) return alias();
  const std::size_t axis = view_axis(parts[0], node_->integer("axis", 0));
  // Each part as a view in which that axis is its channels, in their order.
  std::vector<int> layers;
  for (Feature& part : parts) {
    if (axis >= part.view.axes.size() || part.view.axes[axis] != whole_axis(MapDigit::Of::channel, shape(part).c))
      part = {map_of(part), MapView::of(shape(part))};
    if (axis >= part.view.axes.size() || part.view.axes[axis] != whole_axis(MapDigit::Of::channel, shape(part).c))
      node_->fail("axis {} of its input {} is not the channels of a feature map", axis + 1,
                  fmt::join(array_shape(part), "x"));
    MapView rest = part.view;
    MapView first = parts[0].view;
    rest.axes[axis] = {};
    if (axis < first.axes.size()) first.axes[axis] = {};
    if (rest != first) node_->fail("its inputs are maps in different orders or of different sizes");
    layers.push_back(part.layer);
  }
  // Dense blocks join the same layers again and again, each time with one more.
  const std::vector<int> all = layers;
  for (std::size_t first = layers.size(); first > 1; --first) {
    const auto known = joined_.find({layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(first)});
    if (known == joined_.end()) continue;
    layers.erase(layers.begin() + 1, layers.begin() + static_cast<std::ptrdiff_t>(first));
    layers[0] = known->second;
    break;
  }
  const int joined = layers.size() == 1 ? layers[0] : add(layer::Concat{}, std::move(layers));
  joined_.emplace(all, joined);
  Feature result{joined, parts[0].view};
  result.view.axes[axis] = whole_axis(MapDigit::Of::channel, net_->shape(joined).c);
  give(std::move(result));
}

void OnnxImporter::split() {
  Feature x = feature();
  std::size_t axis = view_axis(x, node_->integer("axis", 0));
  if (x.view.axes[axis] != whole_axis(MapDigit::Of::channel, shape(x).c)) x = {map_of(x), MapView::of(shape(x))};
  if (axis != channel_axis(x)) node_->fail("it splits another axis than the channels");
  const std::int64_t channels = shape(x).c;
  const auto parts = static_cast<std::int64_t>(node_->outputs());
  auto sizes = numbers_of(*node_, "split", 1, constants());
  if (!sizes) {
    const std::int64_t each = parts == 0 ? 0 : (channels + parts - 1) / parts;
    sizes.emplace(static_cast<std::size_t>(parts), each);
    if (parts > 0) sizes->back() = channels - each * (parts - 1);
  }
  if (std::ssize(*sizes) != parts || product_of(*sizes) < 1 ||
      std::accumulate(sizes->begin(), sizes->end(), std::int64_t{0}) != channels)
    node_->fail("parts of {} channels of {}", fmt::join(*sizes, ", "), channels);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const std::int64_t count = (*sizes)[i];
    const bool read = !node_->output(i).empty() && needed_.contains(node_->output(i));
    if (read) {
      Feature part{count == channels ? x.layer : add(layer::Slice{first, count}, {x.layer}), x.view};
      part.view.axes[axis] = whole_axis(MapDigit::Of::channel, count);
      give(std::move(part), i);
    }
    first += count;
  }
}

void OnnxImporter::slice() {
  Feature x = feature();
  const auto all = constants();
  const auto starts = numbers_of(*node_, "starts", 1, all);
  const auto ends = numbers_of(*node_, "ends", 2, all);
  if (!starts || !ends) node_->fail("its range is no constant");
  std::vector<std::int64_t> axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = numbers_of(*node_, "axes", 3, all).value_or(axes);
  const auto steps = numbers_of(*node_, "steps", 4, all).value_or(std::vector<std::int64_t>(starts->size(), 1));
  if (ends->size() != starts->size() || axes.size() != starts->size() || steps.size() != starts->size())
    node_->fail("{} starts, {} ends, {} axes and {} steps", starts->size(), ends->size(), axes.size(), steps.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto shape_now = array_shape(x);
    const std::size_t axis = axis_of(*node_, axes[i], shape_now.size());
    const SliceRange range = slice_range(*node_, shape_now[axis], (*starts)[i], (*ends)[i], steps[i]);
    if (range.first == 0 && range.count == shape_now[axis] && range.step == 1) continue;
    const std::size_t at = view_axis(x, static_cast<std::int64_t>(axis));
    const Shape3 map = shape(x);
    if (map.h > 1 && x.view.axes[at] == whole_axis(MapDigit::Of::height, map.h) && range.step == 1 && range.count > 0) {
      x.layer = add(layer::Rows{range.first, range.count}, {x.layer});
      x.view.axes[at] = whole_axis(MapDigit::Of::height, range.count);
      continue;
    }
    if (x.view.axes[at] != whole_axis(MapDigit::Of::channel, map.c)) x = {map_of(x), MapView::of(map)};
    if (at != channel_axis(x) || range.step != 1 || range.count < 1)
      node_->fail("it takes {} of {} along axis {} in steps of {}, needed channels that follow one another",
                  range.count, shape_now[axis], axis, range.step);
    x.layer = add(layer::Slice{range.first, range.count}, {x.layer});
    x.view.axes[at] = whole_axis(MapDigit::Of::channel, range.count);
  }
  give(std::move(x));
}

}  // namespace kasimir
