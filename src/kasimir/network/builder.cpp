// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/network/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace kasimir {

namespace {

// Keeps the products of a few extents that shape inference forms inside 64 bits.
constexpr std::int64_t largest_extent = 1 << 16;

/// Infers the output of one layer and fills in the channels that it was not told.
class Shaper {
 public:
  Shaper(std::string where, std::vector<Shape3> inputs) : where_(std::move(where)), inputs_(std::move(inputs)) {}

  Shape3 operator()(layer::Input&) const { fail("a network has one input, its first layer"); }

  Shape3 operator()(layer::Conv& conv) const {
    const Shape3 in = single();
    take("input channels", conv.in, in.c);
    limit("output channels", conv.out);
    limit("kernel height", conv.kernel_h);
    limit("kernel width", conv.kernel_w);
    limit("stride", conv.stride);
    limit("dilation", conv.dilation);
    limit("groups", conv.groups);
    limit("padding", conv.pad_h, 0);
    limit("padding", conv.pad_w, 0);
    if (conv.in % conv.groups != 0 || conv.out % conv.groups != 0)
      fail("{} groups do not divide {} channels in and {} channels out", conv.groups, conv.in, conv.out);
    return {conv.out, places(in.h, conv.kernel_h, conv.stride, conv.pad_h, conv.dilation),
            places(in.w, conv.kernel_w, conv.stride, conv.pad_w, conv.dilation)};
  }

  Shape3 operator()(layer::BatchNorm& norm) const {
    const Shape3 in = single();
    take("channels", norm.channels, in.c);
    return in;
  }

  Shape3 operator()(layer::Activation&) const { return single(); }

  Shape3 operator()(layer::Add&) const {
    const Shape3 first = several();
    for (const Shape3& other : inputs_)
      if (other != first) fail("cannot add {} and {}, needed equal shapes", first.str(), other.str());
    return first;
  }

  Shape3 operator()(layer::Mul&) const {
    if (inputs_.size() != 2) fail("found {} inputs, needed 2", inputs_.size());
    const Shape3& first = inputs_[0];
    if (inputs_[1] != first && inputs_[1] != Shape3{first.c, 1, 1})
      fail("cannot multiply {} by {}, needed an equal shape or {}x1x1", first.str(), inputs_[1].str(), first.c);
    return first;
  }

  Shape3 operator()(layer::Slice& slice) const {
    const Shape3 in = single();
    limit("first channel", slice.first, 0);
    limit("channels", slice.count);
    if (slice.first + slice.count > in.c)
      fail("channels {} to {} of {}", slice.first, slice.first + slice.count - 1, in.str());
    return {slice.count, in.h, in.w};
  }

  Shape3 operator()(layer::Shuffle& shuffle) const {
    const Shape3 in = single();
    limit("groups", shuffle.groups);
    if (in.c % shuffle.groups != 0) fail("{} groups do not divide {} channels", shuffle.groups, in.c);
    return in;
  }

  Shape3 operator()(layer::Pad& pad) const {
    const Shape3 in = single();
    for (const std::int64_t side : {pad.top, pad.left, pad.bottom, pad.right}) limit("padding", side, 0);
    const Shape3 out{in.c, in.h + pad.top + pad.bottom, in.w + pad.left + pad.right};
    limit("height", out.h);
    limit("width", out.w);
    return out;
  }

  Shape3 operator()(layer::ChannelNorm& norm) const {
    const Shape3 in = single();
    take("channels", norm.channels, in.c);
    if (!(norm.epsilon >= 1e-12 && norm.epsilon <= 1)) fail("epsilon is {}, needed 1e-12 to 1", norm.epsilon);
    return in;
  }

  Shape3 operator()(layer::Rows& rows) const {
    const Shape3 in = single();
    limit("first row", rows.first, 0);
    limit("rows", rows.count);
    if (rows.first + rows.count > in.h) fail("rows {} to {} of {}", rows.first, rows.first + rows.count - 1, in.str());
    return {in.c, rows.count, in.w};
  }

  Shape3 operator()(layer::Sequence&) const {
    const Shape3 in = single();
    limit("places", in.h * in.w);
    return {in.c, in.h * in.w, 1};
  }

  Shape3 operator()(layer::LearnedMap&) const { return single(); }

  Shape3 operator()(layer::Attention& attention) const {
    if (inputs_.size() != 3) fail("found {} inputs, needed 3: queries, keys and values", inputs_.size());
    const auto [queries, keys, values] = std::array{inputs_[0], inputs_[1], inputs_[2]};
    limit("heads", attention.heads);
    if (!(std::abs(attention.scale) >= 1e-6 && std::abs(attention.scale) <= 1e6))
      fail("its scores are multiplied by {}, needed 1e-6 to 1e6", attention.scale);
    if (keys.c != queries.c || values.h != keys.h || values.w != keys.w)
      fail(
          "queries {}, keys {} and values {}: needed queries and keys of as many channels, keys and values of as many "
          "places",
          queries.str(), keys.str(), values.str());
    if (queries.c % attention.heads != 0 || values.c % attention.heads != 0)
      fail("{} heads do not divide {} and {} channels", attention.heads, queries.c, values.c);
    limit("places of queries", queries.h * queries.w);
    limit("places of keys", keys.h * keys.w);
    take("channels", attention.channels, queries.c);
    take("places of keys", attention.places, keys.h * keys.w);
    return {values.c, queries.h, queries.w};
  }

  Shape3 operator()(layer::Concat&) const {
    const Shape3 first = several();
    Shape3 out{0, first.h, first.w};
    for (const Shape3& other : inputs_) {
      if (other.h != out.h || other.w != out.w)
        fail("cannot join {} and {}, needed equal heights and widths", first.str(), other.str());
      out.c += other.c;
    }
    limit("output channels", out.c);
    return out;
  }

  Shape3 operator()(layer::MaxPool& pool) const {
    const Shape3 in = single();
    limit("window", pool.kernel);
    limit("stride", pool.stride);
    limit("padding", pool.padding, 0);
    if (2 * pool.padding > pool.kernel)
      fail("padding {} is more than half of the window {}", pool.padding, pool.kernel);
    return {in.c, pooled(in.h, pool), pooled(in.w, pool)};
  }

  Shape3 operator()(layer::AvgPool& pool) const {
    const Shape3 in = single();
    limit("window", pool.kernel);
    limit("stride", pool.stride);
    return {in.c, places(in.h, pool.kernel, pool.stride), places(in.w, pool.kernel, pool.stride)};
  }

  Shape3 operator()(layer::GlobalAvgPool&) const { return {single().c, 1, 1}; }

  Shape3 operator()(layer::Dropout& dropout) const {
    if (!(dropout.probability >= 0 && dropout.probability < 1))
      fail("dropout probability is {}, needed at least 0 and less than 1", dropout.probability);
    return single();
  }

  Shape3 operator()(layer::Linear& linear) const {
    const Shape3 in = single();
    take("inputs", linear.in, in.c * in.h * in.w);
    limit("outputs", linear.out);
    return {linear.out, 1, 1};
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw input_error("{}: {}", where_, fmt::format(text, std::forward<Args>(args)...));
  }

  [[nodiscard]] Shape3 single() const {
    if (inputs_.size() != 1) fail("found {} inputs, needed 1", inputs_.size());
    return inputs_.front();
  }

  [[nodiscard]] Shape3 several() const {
    if (inputs_.size() < 2) fail("found {} inputs, needed at least 2", inputs_.size());
    return inputs_.front();
  }

  void take(std::string_view what, std::int64_t& told, std::int64_t found) const {
    if (told == 0) told = found;
    if (told != found) fail("{} are {}, but its input {} has {}", what, told, inputs_.front().str(), found);
  }

  void limit(std::string_view what, std::int64_t value, std::int64_t least = 1) const {
    if (value < least || value > largest_extent)
      fail("{}: found {}, needed {} to {}", what, value, least, largest_extent);
  }

  /// How many places a window has along an axis.
  [[nodiscard]] std::int64_t places(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                                    std::int64_t padding = 0, std::int64_t dilation = 1) const {
    const std::int64_t span = dilation * (kernel - 1) + 1;
    if (span > extent + 2 * padding)
      fail("a window that spans {} does not fit into {} with padding {}", span, inputs_.front().str(), padding);
    return (extent + 2 * padding - span) / stride + 1;
  }

  [[nodiscard]] std::int64_t pooled(std::int64_t extent, const layer::MaxPool& pool) const {
    const std::int64_t more = pool.ceil ? pool.stride - 1 : 0;
    const std::int64_t room = extent + 2 * pool.padding - pool.kernel + more;
    if (room < 0) return places(extent, pool.kernel, pool.stride, pool.padding);
    const std::int64_t count = room / pool.stride + 1;
    // A last window that begins behind the image sees nothing and does not count.
    return pool.ceil && (count - 1) * pool.stride >= extent + pool.padding ? count - 1 : count;
  }

  std::string where_;
  std::vector<Shape3> inputs_;
};

}  // namespace

NetworkBuilder::NetworkBuilder(std::string name, Shape3 input) : name_(std::move(name)) {
  for (const std::int64_t extent : {input.c, input.h, input.w})
    if (extent < 1 || extent > largest_extent)
      throw input_error("the image of network `{}` is {}, needed extents of 1 to {}", name_, input.str(),
                        largest_extent);
  layers_.push_back({"input", layer::Input{}, {}, input});
}

int NetworkBuilder::add(std::string name, Op op, std::vector<int> inputs) {
  const auto same_name = [&](const Layer& other) { return other.name == name; };
  if (name.empty() || std::any_of(layers_.begin(), layers_.end(), same_name))
    throw input_error("network `{}`: layer name `{}` is {}", name_, name, name.empty() ? "empty" : "used twice");
  std::vector<Shape3> shapes;
  for (const int input : inputs) {
    KASIMIR_CHECK(input >= 0 && static_cast<std::size_t>(input) < layers_.size(), "layer {} reads layer {} of {}", name,
                  input, layers_.size());
    shapes.push_back(shape(input));
  }
  const Shape3 out = std::visit(Shaper(fmt::format("network `{}`, layer `{}`", name_, name), std::move(shapes)), op);
  layers_.push_back({std::move(name), op, std::move(inputs), out});
  return static_cast<int>(layers_.size()) - 1;
}

Network NetworkBuilder::finish() && {
  const Layer& last = layers_.back();
  if (last.out.h != 1 || last.out.w != 1)
    throw input_error("network `{}` ends with `{}` of shape {}, needed one number per class", name_, last.name,
                      last.out.str());
  std::vector<bool> used(layers_.size(), false);
  for (const Layer& layer : layers_)
    for (const int input : layer.inputs) used[static_cast<std::size_t>(input)] = true;
  used.back() = true;
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused != used.end())
    throw input_error("network `{}`: the result of layer `{}` is not used", name_,
                      layers_[static_cast<std::size_t>(unused - used.begin())].name);
  return {std::move(name_), std::move(layers_)};
}

}  // namespace kasimir
