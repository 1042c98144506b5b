// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/axis.h"

#include <array>
#include <string_view>

namespace kasimir {
namespace {

struct KindNames {
  char letter;
  std::string_view word;
};
constexpr std::array<KindNames, axis_kind_count> kind_names{{{'n', "batch"},
                                                             {'g', "group"},  // names a primitive: the axis
                                                             {'c', "channel"},
                                                             {'u', "window height"},
                                                             {'v', "window width"},
                                                             {'h', "height"},
                                                             {'w', "width"},
                                                             {'t', "token"}}};

}  // namespace

char axis_letter(AxisKind kind) { return kind_names[static_cast<std::size_t>(kind)].letter; }

std::string axis_word(AxisKind kind) { return std::string(kind_names[static_cast<std::size_t>(kind)].word); }

std::optional<AxisKind> axis_from_letter(char letter) {
  for (std::size_t i = 0; i < kind_names.size(); ++i)
    if (kind_names[i].letter == letter) return static_cast<AxisKind>(i);
  return std::nullopt;
}

int find_axis(const Shape& shape, AxisKind kind) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i].kind == kind) return static_cast<int>(i);
  return -1;
}

Size extent_of(const Shape& shape, AxisKind kind) {
  const int i = find_axis(shape, kind);
  return i < 0 ? Size(1) : shape[static_cast<std::size_t>(i)].extent;
}

Size volume(const Shape& shape) {
  Size product(1);
  for (const Axis& axis : shape) product *= axis.extent;
  return product;
}

std::string str(const Shape& shape) {
  std::string text = "[";
  for (const Axis& axis : shape) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("{}={}", axis_letter(axis.kind), axis.extent.str());
  }
  return text + "]";
}

std::vector<AxisKind> AxisSet::kinds() const {
  std::vector<AxisKind> all;
  for (int i = 0; i < axis_kind_count; ++i)
    if (has(static_cast<AxisKind>(i))) all.push_back(static_cast<AxisKind>(i));
  return all;
}

}  // namespace kasimir
