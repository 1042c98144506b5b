// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_expression.h"

#include <numbers>

namespace kasimir {
namespace {

std::string affine(const BoundCoord& coord, const std::vector<std::string>& loops) {
  std::string text = fmt::format("{}", coord.offset);
  for (const auto& [loop, factor] : coord.terms) {
    const std::string& name = loops[static_cast<std::size_t>(loop)];
    if (!name.empty()) text += factor == 1 ? fmt::format(" + {}", name) : fmt::format(" + {}*({})", factor, name);
  }
  return text;
}

std::string coordinate(const BoundCoord& coord, const std::vector<std::string>& loops) {
  const std::string text = affine(coord, loops);
  return coord.wrap ? fmt::format("ksm_wrap({}, {})", text, *coord.wrap) : fmt::format("({})", text);
}

std::string call(Fn fn, const std::string& a, const std::string& b) {
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return a + " + " + b;
    case Fn::sub:
      return a + " - " + b;
    case Fn::mul:
      return a + " * " + b;
    case Fn::div:
      return a + " / " + b;
    case Fn::max:
      return "vmax(" + a + ", " + b + ")";
    case Fn::min:
      return "vmin(" + a + ", " + b + ")";
    case Fn::neg:
      return "-" + a;
    case Fn::abs:
      return "vabs(" + a + ")";
    case Fn::relu:
      return "vmax(" + a + ", SET1(0.0f))";
    case Fn::exp:
      return "vexp(" + a + ")";
    case Fn::sqrt:
      return "vsqrt(" + a + ")";
    case Fn::rsqrt:
      return "SET1(1.0f) / vsqrt(" + a + ")";
    case Fn::sin:
      return "vsin(" + a + ")";
    case Fn::tanh:
      return "vtanh(" + a + ")";
    case Fn::sigmoid:
      return "vsigmoid(" + a + ")";
    case Fn::gelu:
      return "vgelu(" + a + ")";
    case Fn::hardswish:
      return "vhardswish(" + a + ")";
  }
  return {};
}

}  // namespace

std::string address(const Access& access, const std::vector<std::string>& loops, const PlaceOf& place,
                    std::int64_t more) {
  std::string text = place(access.tensor);
  if (access.base + more != 0) text += fmt::format(" + {}", access.base + more);
  for (std::size_t i = 0; i < access.strides.size(); ++i)
    if (access.strides[i] != 0 && !loops[i].empty()) text += fmt::format(" + ({})*{}", loops[i], access.strides[i]);
  for (const GuardedCoord& guard : access.guarded)
    text += fmt::format(" + {}*{}", coordinate(guard.coord, loops), guard.stride);
  return text;
}

std::string inside(const Access& access, const std::vector<std::string>& loops) {
  std::string text;
  for (const GuardedCoord& guard : access.guarded) {
    if (!guard.tested) continue;
    if (!text.empty()) text += " && ";
    text += fmt::format("(unsigned){} < {}u", coordinate(guard.coord, loops), guard.extent);
  }
  return text;
}

std::string write_expression(CText& text, const std::vector<NestNode>& nodes, const std::string& prefix,
                             const std::function<std::string(std::size_t node)>& read, const std::string& reduced) {
  std::vector<std::string> names(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string value;
    if (const auto* constant = std::get_if<Constant>(&nodes[i])) {
      names[i] = "SET1(" + c_float(constant->value.value() * (constant->half_pi ? std::numbers::pi / 2 : 1.0)) + ")";
      continue;
    }
    if (std::holds_alternative<Reduced>(nodes[i])) {
      names[i] = reduced;
      continue;
    }
    if (const auto* apply = std::get_if<Apply>(&nodes[i])) {
      value = call(apply->fn, names[static_cast<std::size_t>(apply->a)],
                   apply->b < 0 ? "" : names[static_cast<std::size_t>(apply->b)]);
    } else {
      value = read(i);
    }
    names[i] = fmt::format("{}{}", prefix, i);
    text.line("const vf {} = {};", names[i], value);
  }
  return names.back();
}

std::string c_float(double value) {
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text + "f";
}

}  // namespace kasimir
