// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/size/size.h"

#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// What an axis means. Blending and matmul combine axes of compatible kinds only, so that a 7-wide window never
/// matches an image height by accident. `token` is a flattened second side of a matrix (positions, channels).
enum class AxisKind : std::uint8_t { batch, group, channel, window_h, window_w, height, width, token };
inline constexpr int axis_kind_count = 8;

/// The kind's letter, in texts and as the stem of iterator names: n g c u v h w t.
char axis_letter(AxisKind kind);
std::optional<AxisKind> axis_from_letter(char letter);
std::string axis_word(AxisKind kind);  ///< "channel", "window height", ...

constexpr bool is_spatial(AxisKind kind) { return kind == AxisKind::height || kind == AxisKind::width; }
constexpr bool is_window(AxisKind kind) { return kind == AxisKind::window_h || kind == AxisKind::window_w; }

struct Axis {
  AxisKind kind;
  Size extent;
  bool operator==(const Axis&) const = default;
};

/// The axes of one tensor of a kernel without the batch, which every activation has first. At most one axis per kind.
using Shape = std::vector<Axis>;

/// Position of the axis of that kind, or -1.
int find_axis(const Shape& shape, AxisKind kind);
/// The extent of the axis of that kind, or 1.
Size extent_of(const Shape& shape, AxisKind kind);
Size volume(const Shape& shape);
std::string str(const Shape& shape);  ///< "[g=4, c=Ci/4, h=H, w=W]"

/// A set of axis kinds.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<AxisKind> kinds) {
    for (AxisKind kind : kinds) add(kind);
  }
  constexpr void add(AxisKind kind) { mask_ = static_cast<std::uint8_t>(mask_ | (1U << static_cast<unsigned>(kind))); }
  [[nodiscard]] constexpr bool has(AxisKind kind) const { return ((mask_ >> static_cast<unsigned>(kind)) & 1U) != 0; }
  [[nodiscard]] constexpr bool empty() const { return mask_ == 0; }
  [[nodiscard]] std::vector<AxisKind> kinds() const;
  bool operator==(const AxisSet&) const = default;

 private:
  std::uint8_t mask_ = 0;
};

}  // namespace kasimir
