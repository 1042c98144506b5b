// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/size/size.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace kasimir {

/// A place in a network where a kernel goes, as numbers: input [ci, s*h, s*w], output [co, h, w] for one image.
/// Where the network's own tensor has fewer than s*h rows or s*w columns, those that are missing read zero.
struct Site {
  std::int64_t ci = 1;  ///< channels in
  std::int64_t co = 1;  ///< channels out
  std::int64_t h = 1;   ///< height of the output
  std::int64_t w = 1;   ///< width of the output
  std::int64_t s = 1;   ///< stride: the input is s times as high and as wide as the output

  auto operator<=>(const Site&) const = default;

  [[nodiscard]] std::string str() const;  ///< "Ci=64 Co=64 H=32 W=32 s=1"
  /// Reads what str() prints, in any order and with `s` left out where it is 1, and the short form
  /// `64->128x16x16/2` (channels in -> channels out x height x width / stride).
  /// @throws Error (input) that names the part that was not understood or is missing.
  static Site parse(std::string_view text);
  /// Ci, Co, H, W and s bound; the batch N is left open.
  [[nodiscard]] Binding binding() const;
};

}  // namespace kasimir
