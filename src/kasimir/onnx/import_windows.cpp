// SPDX-License-Identifier: Apache-2.0
// names primitives: attributes of ONNX share their words
#include "kasimir/onnx/fold_shapes.h"
#include "kasimir/onnx/importer.h"

#include <algorithm>

namespace kasimir {
namespace {

// Extents and paddings beyond this are no network's; NetworkBuilder has the same limit.
constexpr std::int64_t largest = 1 << 16;

}  // namespace

OnnxImporter::Window OnnxImporter::window(Shape3 in, const std::vector<std::int64_t>& kernel) const {
  const auto strides = node_->integers("strides", {1, 1});
  const auto dilations = node_->integers("dilations", {1, 1});
  const auto pads = node_->integers("pads", {0, 0, 0, 0});
  if (kernel.size() != 2 || strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
    node_->fail("a window of {} axes, needed height and width", kernel.size());
  for (const auto* numbers : {&kernel, &strides, &dilations, &pads})
    for (const std::int64_t number : *numbers)
      if (number < (numbers == &pads ? 0 : 1) || number > largest)
        node_->fail("{} among the sizes, strides, dilations and pads of its window", number);
  if (strides[0] != strides[1])
    node_->fail("strides {} and {} differ along height and width, which no layer here has", strides[0], strides[1]);
  if (dilations[0] != dilations[1])
    node_->fail("dilations {} and {} differ along height and width, which no layer here has", dilations[0],
                dilations[1]);
  Window made{.kernel_h = kernel[0], .kernel_w = kernel[1], .stride = strides[0], .dilation = dilations[0]};
  made.top = pads[0];
  made.left = pads[1];
  made.bottom = pads[2];
  made.right = pads[3];
  const std::string how = node_->text("auto_pad", "NOTSET");
  if (how != "NOTSET") auto_pads(made, in, how);
  return made;
}

void OnnxImporter::auto_pads(Window& window, Shape3 in, const std::string& how) const {
  if (how != "VALID" && how != "SAME_UPPER" && how != "SAME_LOWER") node_->fail("auto_pad `{}`", shown(how));
  const auto needed = [&](std::int64_t extent, std::int64_t kernel) {
    const std::int64_t places = (extent + window.stride - 1) / window.stride;
    return std::max<std::int64_t>(0, (places - 1) * window.stride + window.dilation * (kernel - 1) + 1 - extent);
  };
  const std::int64_t high = how == "VALID" ? 0 : needed(in.h, window.kernel_h);
  const std::int64_t wide = how == "VALID" ? 0 : needed(in.w, window.kernel_w);
  const std::int64_t more = how == "SAME_LOWER" ? 1 : 0;
  window.top = (high + more) / 2;
  window.bottom = high - window.top;
  window.left = (wide + more) / 2;
  window.right = wide - window.left;
}

int OnnxImporter::with_zeros_before(int x, Window& of) const {
  const Layer& before = net_->layer(x);
  const auto* zeros = std::get_if<layer::Pad>(&before.op);
  if (zeros == nullptr) return x;
  Window both = of;
  both.top += zeros->top;
  both.left += zeros->left;
  both.bottom += zeros->bottom;
  both.right += zeros->right;
  if (!both.even()) return x;
  of = both;
  return before.inputs[0];
}

void OnnxImporter::conv() {
  int x = map_of(feature());
  const OnnxConstant& weights = weight(1);
  if (weights.shape.size() != 4)
    node_->fail("its weights {} have {} axes, needed 4: images are maps", fmt::join(weights.shape, "x"),
                weights.shape.size());
  const auto kernel = node_->integers("kernel_shape", {weights.shape[2], weights.shape[3]});
  if (kernel != std::vector{weights.shape[2], weights.shape[3]})
    node_->fail("its window is {}, its weights are {}", fmt::join(kernel, "x"), fmt::join(weights.shape, "x"));
  Window of = window(net_->shape(x), kernel);
  x = with_zeros_before(x, of);
  if (!of.even()) x = add(layer::Pad{of.top, of.left, of.bottom, of.right}, {x});
  layer::Conv op;
  op.out = weights.shape[0];
  op.kernel_h = of.kernel_h;
  op.kernel_w = of.kernel_w;
  op.stride = of.stride;
  op.dilation = of.dilation;
  op.pad_h = of.even() ? of.top : 0;
  op.pad_w = of.even() ? of.left : 0;
  op.groups = node_->integer("group", 1);
  op.bias = node_->has_input(2);
  if (op.groups < 1 || net_->shape(x).c % op.groups != 0 || net_->shape(x).c / op.groups != weights.shape[1])
    node_->fail("weights {} in {} groups do not fit its input {}", fmt::join(weights.shape, "x"), op.groups,
                net_->shape(x).str());
  LayerValues values{{"weight", weights.floats()}};
  if (op.bias) values.emplace_back("bias", weight(2).floats());
  if (op.bias && std::ssize(values.back().second) != op.out)
    node_->fail("{} biases for {} channels", values.back().second.size(), op.out);
  give_map(add(op, {x}, std::move(values), node_->input(1)));
}

void OnnxImporter::max_pool() {
  const int x = map_of(feature());
  const Shape3 in = net_->shape(x);
  const Window of = window(in, node_->integers("kernel_shape", {}));
  if (of.kernel_h != of.kernel_w || of.dilation != 1)
    node_->fail("a window of {}x{} with dilation {}, needed a square one without", of.kernel_h, of.kernel_w,
                of.dilation);
  if (of.top != of.left || of.bottom < of.top || of.right < of.left)
    node_->fail("pads {}, {}, {}, {} of top, left, bottom, right: needed the same at top and left, and no less behind",
                of.top, of.left, of.bottom, of.right);
  const bool ceil = node_->integer("ceil_mode", 0) != 0;
  const auto places = [&](std::int64_t extent, std::int64_t behind) {
    const std::int64_t room = extent + of.top + behind - of.kernel_h;
    const std::int64_t count = (room + (ceil ? of.stride - 1 : 0)) / of.stride + 1;
    return ceil && (count - 1) * of.stride >= extent + of.top ? count - 1 : count;
  };
  layer::MaxPool op{.kernel = of.kernel_h, .stride = of.stride, .padding = of.top, .ceil = ceil};
  // Pads behind the map that let a last window count are PyTorch's rounding up.
  op.ceil = op.ceil || of.bottom > of.top || of.right > of.left;
  const int pool = add(op, {x});
  const Shape3 out = net_->shape(pool);
  if (out.h != places(in.h, of.bottom) || out.w != places(in.w, of.right))
    node_->fail("pads {}, {}, {}, {} of top, left, bottom, right give {}x{} places, which no layer here has", of.top,
                of.left, of.bottom, of.right, places(in.h, of.bottom), places(in.w, of.right));
  give_map(pool);
}

void OnnxImporter::average_pool() {
  int x = map_of(feature());
  const Shape3 in = net_->shape(x);
  const Window of = window(in, node_->integers("kernel_shape", {}));
  if (of.padded() && node_->integer("count_include_pad", 0) == 0)
    node_->fail("a mean over the part of its window that is inside, which no layer here has");
  if (of.padded()) x = add(layer::Pad{of.top, of.left, of.bottom, of.right}, {x});
  const Shape3 map = net_->shape(x);
  if (of.kernel_h == map.h && of.kernel_w == map.w) return give_map(add(layer::GlobalAvgPool{}, {x}));
  if (of.kernel_h != of.kernel_w || of.dilation != 1)
    node_->fail("a window of {}x{} with dilation {}, needed a square one without, or the whole map", of.kernel_h,
                of.kernel_w, of.dilation);
  const bool even = (map.h - of.kernel_h) % of.stride == 0 && (map.w - of.kernel_w) % of.stride == 0;
  if (node_->integer("ceil_mode", 0) != 0 && !even)
    node_->fail("its last windows reach outside the map {}, which no layer here has", map.str());
  if (of.kernel_h == 1 && of.stride == 1) return give_map(x);
  give_map(add(layer::AvgPool{of.kernel_h, of.stride}, {x}));
}

void OnnxImporter::global_average() { give_map(add(layer::GlobalAvgPool{}, {map_of(feature())})); }

void OnnxImporter::global_maximum() {
  const int x = map_of(feature());
  const Shape3 in = net_->shape(x);
  if (in.h != in.w) node_->fail("a maximum over {}, needed a square map", in.str());
  give_map(add(layer::MaxPool{.kernel = in.h, .stride = in.h}, {x}));
}

void OnnxImporter::reduce_mean() {
  const Feature x = feature();
  const auto axes = numbers_of(*node_, "axes", 1, constants());
  if (!axes) node_->fail("a mean over everything, needed one over height and width");
  std::vector<bool> gone(x.view.axes.size(), false);
  for (const std::int64_t axis : *axes) gone[view_axis(x, axis)] = true;
  std::vector<MapDigit> reduced;
  Feature result{0, {}};
  const bool keep = node_->integer("keepdims", 1) != 0;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) reduced.insert(reduced.end(), x.view.axes[i].begin(), x.view.axes[i].end());
    if (!gone[i]) result.view.axes.push_back(x.view.axes[i]);
    if (gone[i] && keep) result.view.axes.emplace_back();
  }
  const Shape3 map = shape(x);
  if (reduced != places_of(map))
    node_->fail("a mean over axes {} of {}, needed one over height and width", fmt::join(*axes, ", "),
                fmt::join(array_shape(x), "x"));
  result.layer = reduced.empty() ? x.layer : add(layer::GlobalAvgPool{}, {x.layer});
  give(result);
}

void OnnxImporter::pad() {
  const Feature x = feature();
  const auto pads = numbers_of(*node_, "pads", 1, constants());
  if (!pads) node_->fail("its pads are no constant");
  const std::string mode = node_->text("mode", "constant");
  if (mode != "constant") node_->fail("mode `{}`, needed constant zeros", shown(mode));
  if (const auto* filling = constant(2)) {
    const bool zero =
        filling->elements() == 1 && (filling->whole() ? filling->integers()[0] == 0 : filling->floats()[0] == 0.0F);
    if (!zero) node_->fail("it pads with another number than 0");
  }
  if (std::ranges::all_of(*pads, [](std::int64_t pad) { return pad == 0; })) return alias();
  const int map = map_of(x);
  const auto& p = *pads;
  if (node_->has_input(3)) node_->fail("pads of some axes, needed all");
  if (p.size() != 8 || p[0] != 0 || p[1] != 0 || p[4] != 0 || p[5] != 0 || std::ranges::min(p) < 0)
    node_->fail("pads {}, needed zeros around height and width", fmt::join(p, ", "));
  give_map(add(layer::Pad{p[2], p[3], p[6], p[7]}, {map}));
}

}  // namespace kasimir
