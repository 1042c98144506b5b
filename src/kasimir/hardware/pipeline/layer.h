// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/problem.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// Bits of the numbers that a layer multiplies.
struct LayerBits {
  int weight = 16;
  int activation = 16;
  /// The wider of the two: what a multiplier for both must hold.
  [[nodiscard]] int widest() const { return weight > activation ? weight : activation; }
  bool operator==(const LayerBits&) const = default;
};

/// A product of matrices: M x K times K x N.
struct Gemm {
  std::int64_t m = 1, n = 1, k = 1;
  bool operator==(const Gemm&) const = default;
};

/// One convolution for one image, without bias. A fully connected layer is a 1 x 1 convolution of a
/// 1 x 1 image, a product of matrices M x K x N one of an M x 1 image with K channels.
struct ConvLayer {
  std::string name;
  int cin = 1, cout = 1;           ///< channels, of all groups together
  int height = 1, width = 1;       ///< of the input, without padding
  int kernel_h = 1, kernel_w = 1;  ///< the window
  int stride = 1;                  ///< in both directions
  int groups = 1;                  ///< cin: depthwise
  int padding_h = 0;               ///< rows of zeros above and below together
  int padding_w = 0;               ///< columns of zeros left and right together
  LayerBits bits;

  [[nodiscard]] int out_h() const { return (height + padding_h - kernel_h) / stride + 1; }
  [[nodiscard]] int out_w() const { return (width + padding_w - kernel_w) / stride + 1; }
  [[nodiscard]] bool depthwise() const { return groups > 1 && groups == cin && groups == cout; }
  [[nodiscard]] std::int64_t macs() const;
  [[nodiscard]] std::int64_t weights() const;
  [[nodiscard]] std::int64_t inputs() const;   ///< words, without padding
  [[nodiscard]] std::int64_t outputs() const;  ///< words
  /// The product that one group is: M output pixels, N output channels, K window times input channels.
  [[nodiscard]] Gemm gemm() const;
  bool operator==(const ConvLayer&) const = default;
};

/// The layer's loops for `batch` images. Padding is part of the input.
Problem problem_of(const ConvLayer& layer, const OperandBits& bits, std::int64_t batch = 1);
/// The same at the layer's bits, with partial sums of so many.
Problem problem_of(const ConvLayer& layer, int partial_bits);

/// A square "same" convolution: padding so that stride 1 keeps the size.
ConvLayer same_convolution(std::string name, int cin, int cout, int size, int kernel, int stride = 1, int groups = 1);
/// A fully connected layer.
ConvLayer fully_connected(std::string name, int cin, int cout);

/// Fails a layer that cannot be computed: sizes below 1, groups that do not divide the channels, a window
/// larger than the padded input, bits outside 1 .. 64. @throws Error (input), which names layer and field.
void require_legal(const ConvLayer& layer, std::string_view where);

/// Reads a list of layers as CSV: a header of field names in any order, one layer a line; `name`, `cin`,
/// `cout`, `height`, `width` and `kernel_h` are needed, `kernel_w` is `kernel_h` where it is missing, the
/// others have the defaults of ConvLayer (`weight_bits`, `activation_bits` set LayerBits). Empty lines and
/// lines that begin with # are skipped. @throws Error (input) with file and line.
std::vector<ConvLayer> parse_layers(std::string_view text, const std::string& file);

/// The list as CSV with all fields; parse_layers reads it back equal.
std::string layers_text(const std::vector<ConvLayer>& layers);

}  // namespace kasimir
