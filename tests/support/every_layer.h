// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/network.h"

#include <fmt/format.h>

#include <utility>

namespace kasimir::testing {

/// A small network with every kind of layer that the zoo's networks lack.
inline Network every_layer() {
  NetworkBuilder net("every", {3, 9, 8});
  int x = net.add("a", layer::Conv{.out = 8, .kernel_h = 3, .kernel_w = 1, .pad_h = 1, .bias = true}, {0});
  x = net.add("norm", layer::ChannelNorm{.epsilon = 1e-5}, {x});
  using enum layer::ActivationKind;
  for (const auto kind : {silu, gelu, tanh, hardswish})
    x = net.add(fmt::format("b{}", static_cast<int>(kind)), layer::Activation{kind}, {x});
  x = net.add("c", layer::Shuffle{4}, {x});
  const int first = net.add("d", layer::Slice{0, 3}, {x});
  const int rest = net.add("e", layer::Slice{3, 5}, {x});
  x = net.add("f", layer::Concat{}, {rest, first});
  int gate = net.add("g", layer::GlobalAvgPool{}, {x});
  gate = net.add("h", layer::Activation{hardsigmoid}, {gate});
  x = net.add("i", layer::Mul{}, {x, gate});
  x = net.add("j", layer::Mul{}, {net.add("k", layer::Activation{tanh}, {x}), x});
  x = net.add("l", layer::Pad{1, 0, 2, 1}, {x});
  x = net.add("m", layer::Activation{sigmoid}, {x});
  x = net.add("n", layer::MaxPool{.kernel = 3, .stride = 2, .padding = 1, .ceil = true}, {x});
  x = net.add("o", layer::AvgPool{.kernel = 2, .stride = 1}, {x});
  x = net.add("tokens", layer::Sequence{}, {x});
  x = net.add("embedded", layer::LearnedMap{}, {x});
  const int queries = net.add("queries", layer::Conv{.out = 6}, {x});
  const int keys = net.add("keys", layer::Conv{.out = 6, .bias = true}, {x});
  x = net.add("attention", layer::Attention{.heads = 2, .scale = 0.5}, {queries, keys, x});
  x = net.add("rows", layer::Rows{1, 3}, {x});
  // Scores from parts of a fully connected result, which has no height and width.
  x = net.add("p", layer::Linear{.out = 8}, {x});
  x = net.add("q", layer::Mul{}, {net.add("r", layer::Slice{0, 4}, {x}), net.add("s", layer::Slice{4, 4}, {x})});
  net.add("t", layer::Activation{silu}, {x});
  return std::move(net).finish();
}

}  // namespace kasimir::testing
