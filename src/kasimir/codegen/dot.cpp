// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/dot.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/size/size.h"

#include <array>

namespace kasimir {
namespace {

struct Look {
  std::string_view fill;
  std::string_view shape;
  std::string_view style;
};

/// Outlines differ as well as colours: the picture is read without colours too.
const Look& look_of(Family family) {
  static constexpr std::array<Look, 3> looks{
      {{"#56B4E9", "box", "filled"}, {"#E69F00", "box", "filled,rounded"}, {"#009E73", "octagon", "filled"}}};
  return looks.at(static_cast<std::size_t>(family));
}

/// A string of the dot language; its line breaks become dot's.
std::string quoted(std::string_view text) {
  std::string line = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') line += '\\';
    line += c == '\n' ? "\\n" : std::string(1, c);
  }
  return line + "\"";
}

/// `name` and one line per parameter that is not at its default.
std::string label_of(const Step& step) {
  Step alone = step;
  alone.operands.clear();
  std::string text = str(alone);
  text = text.substr(step.primitive->name.size() + 1);
  text.pop_back();
  std::string label(step.primitive->name);
  for (const std::string& part : split(text, ' ')) {
    std::string_view value = part;
    if (value.ends_with(',')) value.remove_suffix(1);
    if (!value.empty()) label += "\n" + std::string(value);
  }
  return label;
}

std::string node_text(const Kernel& kernel, std::size_t i) {
  const Step& step = kernel.steps[i];
  const Look& look = look_of(step.primitive->family);
  return fmt::format("  {} [label={}, shape={}, style={}, fillcolor={}, penwidth={}];\n",
                     tensor_name(static_cast<int>(i) + 1), quoted(label_of(step)), look.shape, quoted(look.style),
                     quoted(look.fill), step.primitive->weighted ? 3 : 1);
}

std::string edge_text(int from, std::string_view to, const std::string& label) {
  return fmt::format("  {} -> {} [label={}];\n", tensor_name(from), to, quoted(" " + label + " "));
}

}  // namespace

std::string_view family_colour(Family family) { return look_of(family).fill; }

std::string to_dot(const Kernel& kernel, const SiteSet& sites) {
  const auto shapes = infer_shapes(kernel, sites);
  if (!shapes) throw input_error("kernel {} cannot be drawn: {}", kernel.name, shapes.rejection().str());
  const auto shape_text = [&](int tensor) { return str((*shapes)[static_cast<std::size_t>(tensor)]); };
  std::string dot = fmt::format("digraph {} {{\n", quoted(kernel.name));
  dot += "  graph [rankdir=TB, bgcolor=transparent, nodesep=0.3, ranksep=0.35];\n";
  dot += "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, margin=\"0.15,0.08\"];\n";
  dot += "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, arrowsize=0.8];\n";
  dot += "  x [label=\"input x\", shape=oval, style=filled, fillcolor=\"#FFFFFF\"];\n";
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) dot += node_text(kernel, i);
  dot += "  y [label=\"output\", shape=oval, style=filled, fillcolor=\"#FFFFFF\"];\n";
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
    const std::vector<int>& operands = kernel.steps[i].operands;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const std::string order = operands.size() > 1 ? fmt::format("{}: ", k + 1) : "";
      dot += edge_text(operands[k], tensor_name(static_cast<int>(i) + 1), order + shape_text(operands[k]));
    }
  }
  dot += edge_text(kernel.output, "y", shape_text(kernel.output));
  return dot + "}\n";
}

}  // namespace kasimir
