// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/stage.h"

#include <algorithm>

namespace kasimir {
namespace {

std::string text(const Size& size) { return size.str(); }
std::string text(std::int64_t value) { return std::to_string(value); }
std::string text(const Rational& value) { return value.str(); }
std::string offset_text(const SizeSum& offset) { return offset.is_zero() ? "" : offset.str(); }
std::string offset_text(std::int64_t offset) { return offset == 0 ? "" : std::to_string(offset); }
bool is_one(const Size& size) { return size.is_one(); }
bool is_one(std::int64_t value) { return value == 1; }
bool is_one(const Rational& value) { return value == Rational(1); }

template <typename V>
class Printer {
 public:
  Printer(const BasicGraph<V>& graph, const BasicStage<V>& stage) : graph_(graph), stage_(stage) {
    std::array<int, axis_kind_count> seen{};
    for (const auto& iter : stage.iters)
      names_.push_back(fmt::format("{}{}", axis_letter(iter.kind), seen[static_cast<std::size_t>(iter.kind)]++));
  }

  std::string print() {
    const auto& out = graph_.tensors[static_cast<std::size_t>(stage_.out)];
    std::string line = out.name + "[";
    for (std::size_t a = 0; a < stage_.left.size(); ++a) {
      const LeftAxis& axis = stage_.left[a];
      if (a > 0) line += ", ";
      if (axis.digits.size() == 1 && stage_.iters[static_cast<std::size_t>(axis.digits[0])].kind == axis.kind) {
        line += declared(axis.digits[0]);
      } else {
        line += fmt::format("{}({})", axis_letter(axis.kind), declared_all(axis.digits));
      }
    }
    line += "] = ";
    if (stage_.stabiliser) line += "stabiliser ";
    if (stage_.stat) line += "stat ";
    if (!is_one(stage_.factor))
      line += fmt::format("{}{}{} * ", stage_.root ? "sqrt(" : "", text(stage_.factor), stage_.root ? ")" : "");
    const std::string value = node(static_cast<int>(stage_.nodes.size()) - 1);
    if (stage_.reduce == Reduce::none) return line + value;
    return line +
           fmt::format("{}[{}] {}", stage_.reduce == Reduce::sum ? "sum" : "max", declared_all(stage_.reduced), value);
  }

 private:
  std::string declared(int iter) {
    return fmt::format("{}<{}", names_[static_cast<std::size_t>(iter)],
                       text(stage_.iters[static_cast<std::size_t>(iter)].extent));
  }

  std::string declared_all(const std::vector<int>& iters) {
    std::string line;
    for (int iter : iters) line += (line.empty() ? "" : " ") + declared(iter);
    return line;
  }

  std::string coord(const BasicCoord<V>& c) {
    std::string line;
    for (const auto& [iter, factor] : c.terms) {
      if (!line.empty()) line += " + ";
      if (!is_one(factor))
        line += (text(factor).find('/') == std::string::npos ? text(factor) : "(" + text(factor) + ")") + "*";
      line += names_[static_cast<std::size_t>(iter)];
    }
    const std::string offset = offset_text(c.offset);
    if (!offset.empty() && !line.empty()) line += offset[0] == '-' ? " - " + offset.substr(1) : " + " + offset;
    if (line.empty()) line = offset.empty() ? "0" : offset;
    return c.wrap ? fmt::format("wrap({}, {})", line, text(*c.wrap)) : line;
  }

  std::string node(int index) {
    const auto& n = stage_.nodes[static_cast<std::size_t>(index)];
    if (const auto* constant = std::get_if<Constant>(&n)) {
      if (!constant->half_pi) return constant->value.str();
      return constant->value == Rational(1) ? "pi/2" : constant->value.str() + "*pi/2";
    }
    if (const auto* read = std::get_if<BasicRead<V>>(&n)) {
      std::string line = graph_.tensors[static_cast<std::size_t>(read->tensor)].name + "[";
      for (std::size_t i = 0; i < read->at.size(); ++i) line += (i > 0 ? ", " : "") + coord(read->at[i]);
      return line + "]";
    }
    const auto& apply = std::get<Apply>(n);
    const FnInfo& info = fn_info(apply.fn);
    if (info.arity == 1) return fmt::format("{}({})", info.name, node(apply.a));
    if (std::string_view("+-*/|").find(info.name) == std::string_view::npos)
      return fmt::format("{}({}, {})", info.name, node(apply.a), node(apply.b));
    return fmt::format("{} {} {}", operand(apply.a), info.name, operand(apply.b));
  }

  std::string operand(int index) {
    const auto* apply = std::get_if<Apply>(&stage_.nodes[static_cast<std::size_t>(index)]);
    const bool infix = apply != nullptr && apply->b >= 0 &&
                       std::string_view("+-*/|").find(fn_info(apply->fn).name) != std::string_view::npos;
    return infix ? "(" + node(index) + ")" : node(index);
  }

  const BasicGraph<V>& graph_;
  const BasicStage<V>& stage_;
  std::vector<std::string> names_;
};

template <typename V>
std::string print_graph(const BasicGraph<V>& graph) {
  std::string all;
  for (const auto& stage : graph.stages) all += Printer<V>(graph, stage).print() + "\n";
  for (const auto& tensor : graph.tensors) {
    if (tensor.role != Role::weight) continue;
    std::string axes;
    for (const auto& axis : tensor.axes)
      axes += fmt::format("{}{}<{}", axes.empty() ? "" : ", ", axis_letter(axis.kind), text(axis.extent));
    constexpr std::array<std::string_view, 3> roles{"linear", "scale", "offset"};  // names a primitive: what a weight does
    all += fmt::format("weight {}[{}] {}", tensor.name, axes, roles[static_cast<std::size_t>(tensor.weight_role)]);
    if (tensor.weight_role == WeightRole::linear) all += fmt::format(" fan_in {}", text(tensor.fan_in));
    all += "\n";
  }
  return all;
}

}  // namespace

std::string str(const Graph& graph) { return print_graph(graph); }
std::string str(const BoundGraph& graph) { return print_graph(graph); }
std::string str(const Graph& graph, const Stage& stage) { return Printer<Symbolic>(graph, stage).print(); }
std::string str(const BoundGraph& graph, const BoundStage& stage) { return Printer<Bound>(graph, stage).print(); }

}  // namespace kasimir
