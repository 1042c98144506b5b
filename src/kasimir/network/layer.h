// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace kasimir {

/// The extents of a feature map of one image: channels, height, width.
struct Shape3 {
  std::int64_t c = 0;
  std::int64_t h = 0;
  std::int64_t w = 0;

  auto operator<=>(const Shape3&) const = default;
  [[nodiscard]] std::string str() const;  ///< "16x32x32"
  /// The inverse. @throws Error (input) for anything else, and sizes below 1.
  static Shape3 parse(const std::string& text);
};

/// What layers do. Closed: readers visit all of them. Tensors are [c, h, w] for one image; windows read zero outside
/// their input (a maximum ignores what is outside).
namespace layer {

/// The image. Always layer 0, and only that one.
struct Input {
  bool operator==(const Input&) const = default;
};

/// Convolution. Output extent: floor((in + 2*pad - dilation*(kernel - 1) - 1) / stride) + 1.
struct Conv {
  std::int64_t in = 0;  ///< channels in; 0 when given to NetworkBuilder: taken from the input
  std::int64_t out = 0;
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t stride = 1;  ///< along both height and width
  std::int64_t pad_h = 0;   ///< zeros above, and as many below
  std::int64_t pad_w = 0;   ///< zeros left, and as many right
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = false;
  bool operator==(const Conv&) const = default;
};

/// Batch normalisation with a learned factor and offset per channel.
struct BatchNorm {
  static constexpr double epsilon = 1e-5;  ///< beside the variance: PyTorch's default for BatchNorm2d
  std::int64_t channels = 0;               ///< 0 when given to NetworkBuilder: taken from the input
  bool operator==(const BatchNorm&) const = default;
};

/// As PyTorch defines them; `silu` is x * sigmoid(x), `gelu` the exact one, `hardsigmoid` min(max(x + 3, 0), 6) / 6.
enum class ActivationKind : std::uint8_t { relu, relu6, hardswish, sigmoid, tanh, silu, gelu, hardsigmoid };
struct Activation {
  ActivationKind kind = ActivationKind::relu;
  bool operator==(const Activation&) const = default;
};

/// The sum of inputs of equal shape.
struct Add {
  bool operator==(const Add&) const = default;
};

/// The product of two inputs: of equal shape, or the second one [c, 1, 1], a factor for each channel.
struct Mul {
  bool operator==(const Mul&) const = default;
};

/// The inputs one after another along the channels.
struct Concat {
  bool operator==(const Concat&) const = default;
};

/// Some channels that follow one another.
struct Slice {
  std::int64_t first = 0;
  std::int64_t count = 1;
  bool operator==(const Slice&) const = default;
};

/// Channels dealt out: those of `groups` groups, one from each group in turn. Channel k * groups + g of the output is
/// channel g * (c / groups) + k of the input, as in ShuffleNet (arXiv 1707.01083).
struct Shuffle {
  std::int64_t groups = 2;
  bool operator==(const Shuffle&) const = default;
};

/// Zeros around the map.
struct Pad {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t bottom = 0;
  std::int64_t right = 0;
  bool operator==(const Pad&) const = default;
};

/// Normalisation over the channels of each place, with a learned factor and offset per channel: the layer norm of
/// ConvNeXt (arXiv 2201.03545).
struct ChannelNorm {
  std::int64_t channels = 0;  ///< 0 when given to NetworkBuilder: taken from the input
  double epsilon = 1e-6;      ///< beside the variance
  bool operator==(const ChannelNorm&) const = default;
};

/// Some rows that follow one another.
struct Rows {
  std::int64_t first = 0;
  std::int64_t count = 1;
  bool operator==(const Rows&) const = default;
};

/// The places of a map one after another, row by row: [c, h, w] -> [c, h * w, 1], a sequence of tokens.
struct Sequence {
  bool operator==(const Sequence&) const = default;
};

/// A learned map is added to that of every image: a position embedding (ViT, arXiv 2010.11929).
struct LearnedMap {
  bool operator==(const LearnedMap&) const = default;
};

/// Attention of heads (Vaswani et al., arXiv 1706.03762). Inputs: queries [heads * d, h, w], keys [heads * d, hk, wk],
/// values [heads * e, hk, wk]; the channels of a head follow one another. Gives [heads * e, h, w]: at each place the
/// mean of the values of all places, weighted by the softmax over them of scale * (query . key).
struct Attention {
  std::int64_t heads = 1;
  double scale = 1;
  std::int64_t channels = 0;  ///< of the queries; 0 when given to NetworkBuilder: taken from the inputs
  std::int64_t places = 0;    ///< of the keys; likewise
  bool operator==(const Attention&) const = default;
};

/// Maximum over a square window. Output extent as for Conv; with `ceil` rounded up, so that a last window that is only
/// partly inside counts too.
struct MaxPool {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
  std::int64_t padding = 0;
  bool ceil = false;
  bool operator==(const MaxPool&) const = default;
};

/// Mean over a square window without padding; rows and columns that fill no whole window are dropped.
struct AvgPool {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
  bool operator==(const AvgPool&) const = default;
};

/// Mean over height and width: [c, h, w] -> [c, 1, 1].
struct GlobalAvgPool {
  bool operator==(const GlobalAvgPool&) const = default;
};

/// In training, zeroes each element with this probability and divides the others by 1 - probability.
struct Dropout {
  double probability = 0.5;
  bool operator==(const Dropout&) const = default;
};

/// Fully connected, on the input flattened in the order c, h, w: [c, h, w] -> [out, 1, 1].
struct Linear {
  std::int64_t in = 0;  ///< c*h*w; 0 when given to NetworkBuilder: taken from the input
  std::int64_t out = 0;
  bool bias = true;
  bool operator==(const Linear&) const = default;
};

}  // namespace layer

using Op = std::variant<layer::Input, layer::Conv, layer::BatchNorm, layer::Activation, layer::Add, layer::Mul,
                        layer::Concat, layer::Slice, layer::Shuffle, layer::Pad, layer::ChannelNorm, layer::Rows,
                        layer::Sequence, layer::LearnedMap, layer::Attention, layer::MaxPool, layer::AvgPool,
                        layer::GlobalAvgPool, layer::Dropout, layer::Linear>;

/// Whether what a layer gives is never negative, whatever its weights. `inputs`: whether that holds of all its inputs.
bool never_negative(const Op& op, bool inputs);

/// "conv 3x3 /2 16->32 pad 1", "maxpool 2x2 /2", "relu".
std::string op_text(const Op& op);

/// What a layer costs for one image. MACs are the multiply-accumulates of convolutions, fully connected layers and
/// attention, as the literature counts them: normalisation, activations, sums and pools count none, a bias neither.
/// Parameters are what training changes: weights, biases, factor and offset of batch normalisation (not its running
/// statistics).
struct LayerCost {
  std::int64_t macs = 0;
  std::int64_t params = 0;

  LayerCost& operator+=(const LayerCost& other);  ///< @throws Error (input) beyond 64 bits
  bool operator==(const LayerCost&) const = default;
};

/// One node of a network.
struct Layer {
  std::string name;  ///< a dotted path such as "stage2.block1.conv1", unique in its network
  Op op;
  std::vector<int> inputs;  ///< indices of earlier layers
  Shape3 out;               ///< what it gives for one image

  [[nodiscard]] LayerCost cost() const;  ///< @throws Error (input) beyond 64 bits
  bool operator==(const Layer&) const = default;
};

}  // namespace kasimir
