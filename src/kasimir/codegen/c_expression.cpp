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

std::string constant_text(double value, CNumbers numbers) {
  return numbers == CNumbers::vectors ? "SET1(" + c_float(value) + ")" : fmt::format("({:.17g})", value);
}

/// Functions have their own names in the prelude, with `v` before them for vectors and `s` for doubles.
std::string call(Fn fn, const std::string& a, const std::string& b, CNumbers numbers) {
  const auto named = [&](Fn function, const std::string& arguments) {
    return fmt::format("{}{}({})", numbers == CNumbers::vectors ? 'v' : 's', fn_info(function).name, arguments);
  };
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
    case Fn::neg:
      return "-" + a;
    case Fn::relu:
      return named(Fn::max, a + ", " + constant_text(0, numbers));
    case Fn::rsqrt:
      return constant_text(1, numbers) + " / " + named(Fn::sqrt, a);
    case Fn::max:
    case Fn::min:
      return named(fn, a + ", " + b);
    case Fn::abs:
    case Fn::exp:
    case Fn::sqrt:
    case Fn::sin:
    case Fn::tanh:
    case Fn::sigmoid:
    case Fn::gelu:
    case Fn::hardswish:
      return named(fn, a);
  }
  return {};
}

/// Stores a vector, or its first `part` lanes where that is not 0, rounded and clamped where the element is.
void write_store(CText& text, const Element& element, const std::string& at, const std::string& value,
                 std::int64_t part) {
  if (element.rounded) {
    const std::string codes = fmt::format("to_codes({}, {}.0f, {}.0f)", value, element.lowest, element.highest);
    if (!element.bytes) return write_store(text, {}, at, fmt::format("__builtin_convertvector({}, vf)", codes), part);
    const std::string moved = element.zero == 0 ? codes : fmt::format("{} + {}", codes, element.zero);
    if (part > 0) {
      text.line("st_codes_part({}, {}, {});", at, moved, part);
    } else {
      text.line("st_codes({}, {});", at, moved);
    }
  } else if (part > 0) {
    text.line("st_part({}, {}, {});", at, value, part);
  } else {
    text.line("ST({}, {});", at, value);
  }
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
                             const std::function<std::string(std::size_t node)>& read, const std::string& reduced,
                             CNumbers numbers) {
  std::vector<std::string> names(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string value;
    if (const auto* constant = std::get_if<Constant>(&nodes[i])) {
      names[i] = constant_text(constant->value.value() * (constant->half_pi ? std::numbers::pi / 2 : 1.0), numbers);
      continue;
    }
    if (std::holds_alternative<Reduced>(nodes[i])) {
      names[i] = reduced;
      continue;
    }
    if (const auto* apply = std::get_if<Apply>(&nodes[i])) {
      value = call(apply->fn, names[static_cast<std::size_t>(apply->a)],
                   apply->b < 0 ? "" : names[static_cast<std::size_t>(apply->b)], numbers);
    } else {
      value = read(i);
    }
    names[i] = fmt::format("{}{}", prefix, i);
    text.line("const {} {} = {};", numbers == CNumbers::vectors ? "vf" : "double", names[i], value);
  }
  return names.back();
}

std::string load_text(const Element& element, const std::string& at, std::int64_t stride, std::int64_t part) {
  if (stride == 0) return "SET1(" + scalar_text(element, at) + ")";
  const auto here = [&]() -> std::string {
    const char* kind = element.bytes ? "codes_" : "";
    if (stride == 1) return fmt::format("{}({})", element.bytes ? "ld_codes" : "LD", at);
    return part > 0 ? fmt::format("{}gather_part({}, {}, {})", kind, at, stride, part)
                    : fmt::format("{}gather({}, {})", kind, at, stride);
  };
  return element.zero == 0 ? here() : fmt::format("({} - SET1({}.0f))", here(), element.zero);
}

std::string scalar_text(const Element& element, const std::string& at) {
  if (!element.bytes) return "*(" + at + ")";
  return element.zero == 0 ? fmt::format("(float)*({})", at) : fmt::format("((float)*({}) - {}.0f)", at, element.zero);
}

void write_stores(CText& text, const Nest& nest, const Access& out, const std::vector<FlatCopy>& also,
                  const std::string& result, const std::string& unique, std::int64_t part,
                  const std::function<std::string(const Access& access)>& load,
                  const std::function<std::string(const Access& out)>& at) {
  if (also.empty()) return write_store(text, out.element, at(out), result, part);
  const std::string name = "y" + unique;
  text.line("const vf {} = {};", name, result);
  write_store(text, out.element, at(out), name, part);
  for (std::size_t i = 0; i < also.size(); ++i) {
    const FlatCopy& copy = also[i];
    const std::string value = write_expression(
        text, nest.also[i].value, fmt::format("q{}_{}_", unique, i),
        [&](std::size_t node) { return load(*copy.value[node]); }, name);
    write_store(text, copy.out.element, at(copy.out), value, part);
  }
}

std::string c_float(double value) {
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text + "f";
}

}  // namespace kasimir
