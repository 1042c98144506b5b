// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/nest.h"

#include <fmt/format.h>

namespace kasimir {
namespace {

std::string loop_name(const Nest& nest, int loop) {
  return fmt::format("{}{}", axis_letter(nest.loops[static_cast<std::size_t>(loop)].kind), loop);
}

std::string coord_text(const Nest& nest, const BoundCoord& coord) {
  std::string text;
  for (const auto& [loop, factor] : coord.terms) {
    if (!text.empty()) text += " + ";
    text += factor == 1 ? loop_name(nest, loop) : fmt::format("{}*{}", factor, loop_name(nest, loop));
  }
  if (coord.offset != 0 || text.empty())
    text += text.empty()       ? fmt::format("{}", coord.offset)
            : coord.offset < 0 ? fmt::format(" - {}", -coord.offset)
                               : fmt::format(" + {}", coord.offset);
  return coord.wrap ? fmt::format("wrap({}, {})", text, *coord.wrap) : text;
}

std::string read_text(const NestProgram& program, const Nest& nest, int tensor, const std::vector<BoundCoord>& at) {
  std::string text = program.tensors[static_cast<std::size_t>(tensor)].name + "[";
  for (std::size_t a = 0; a < at.size(); ++a) text += (a == 0 ? "" : ", ") + coord_text(nest, at[a]);
  return text + "]";
}

std::string node_text(const NestProgram& program, const Nest& nest, const std::vector<NestNode>& nodes, int at) {
  const NestNode& node = nodes[static_cast<std::size_t>(at)];
  if (std::holds_alternative<Reduced>(node)) return "_";
  if (const auto* constant = std::get_if<Constant>(&node))
    return constant->value.str() + (constant->half_pi ? "*pi/2" : "");
  if (const auto* read = std::get_if<BoundRead>(&node)) return read_text(program, nest, read->tensor, read->at);
  const auto& apply = std::get<Apply>(node);
  const std::string a = node_text(program, nest, nodes, apply.a);
  const std::string_view name = fn_info(apply.fn).name;
  if (apply.b < 0) return fmt::format("{}({})", name, a);
  const std::string b = node_text(program, nest, nodes, apply.b);
  return apply.fn == Fn::max || apply.fn == Fn::min ? fmt::format("{}({}, {})", name, a, b)
                                                    : fmt::format("({} {} {})", a, name, b);
}

}  // namespace

std::int64_t Nest::points() const {
  std::int64_t product = 1;
  for (const BoundIter& loop : loops) product *= loop.extent;
  return product;
}

std::int64_t Nest::results() const {
  std::int64_t product = 1;
  for (int i = 0; i < free; ++i) product *= loops[static_cast<std::size_t>(i)].extent;
  return product;
}

bool sums_products(const Nest& nest) {
  if (nest.reduce != Reduce::sum || nest.value.size() != 3) return false;
  const auto* product = std::get_if<Apply>(&nest.value[2]);
  return product != nullptr && product->fn == Fn::mul && std::holds_alternative<BoundRead>(nest.value[0]) &&
         std::holds_alternative<BoundRead>(nest.value[1]);
}

std::pair<std::int64_t, std::int64_t> range_of(const Nest& nest, const BoundCoord& coord) {
  std::pair<std::int64_t, std::int64_t> range{coord.offset, coord.offset};
  for (const auto& [loop, factor] : coord.terms) {
    const std::int64_t far = factor * (nest.loops[static_cast<std::size_t>(loop)].extent - 1);
    (far < 0 ? range.first : range.second) += far;
  }
  return range;
}

std::string str(const NestProgram& program, const Nest& nest) {
  std::string text = read_text(program, nest, nest.out, nest.out_at) + " = ";
  if (nest.factor != 1.0) text += fmt::format("{} * ", nest.factor);
  if (nest.reduce != Reduce::none) text += nest.reduce == Reduce::sum ? "sum " : "max ";
  text += node_text(program, nest, nest.value, static_cast<int>(nest.value.size()) - 1);
  text += " for";
  for (int i = 0; i < static_cast<int>(nest.loops.size()); ++i)
    text += fmt::format("{}{}<{}", i == nest.free ? " | " : " ", loop_name(nest, i),
                        nest.loops[static_cast<std::size_t>(i)].extent);
  if (!nest.epilogue.empty())
    text += " then " + node_text(program, nest, nest.epilogue, static_cast<int>(nest.epilogue.size()) - 1);
  for (const NestCopy& copy : nest.also)
    text += " also " + read_text(program, nest, copy.out, copy.out_at) + " = " +
            node_text(program, nest, copy.value, static_cast<int>(copy.value.size()) - 1);
  return text;
}

std::string str(const NestProgram& program) {
  std::string text;
  for (const Nest& nest : program.prepare) text += "once " + str(program, nest) + "\n";
  for (const Nest& nest : program.run) text += str(program, nest) + "\n";
  return text;
}

}  // namespace kasimir
