// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/text.h"
#include "kasimir/interp/real.h"
#include "kasimir/kernel/builder.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"
#include "support/array.h"

#include <string>
#include <utility>
#include <vector>

namespace kasimir::testing {

/// Values of the choice symbols in these tests.
inline Binding test_choices() {
  Binding choices;
  choices.set(Symbol::g, 2).set(Symbol::r, 2);
  return choices;
}

/// One use of a primitive on operands of given shapes, without a kernel around it.
struct Application {
  const Primitive* primitive;
  std::vector<Shape> operands;
  std::vector<Argument> arguments;

  [[nodiscard]] Call call(const SiteSet& sites) const { return {*primitive, operands, arguments, sites}; }

  /// The text `name(x, param=value)`; a second operand is `a`.
  [[nodiscard]] std::string text() const {
    Step step{primitive, {0}, arguments};
    if (primitive->operands == 2) step.operands.push_back(1);
    return str(step);
  }

  /// Reads what text() gives.
  static Application parse(const std::string& text, std::vector<Shape> operands) {
    const Kernel kernel =
        parse_kernel("kernel k\ngiven g=2 r=2\n  a = relu(x)\n  b = " + text + "\nreturn b\n", catalog());
    return {kernel.steps[1].primitive, std::move(operands), kernel.steps[1].arguments};
  }

  /// The result's shape under the rules that every tensor of a kernel keeps.
  [[nodiscard]] Outcome<Shape> shape(const SiteSet& sites) const {
    auto y = primitive->shape(call(sites));
    if (!y.ok()) return y;
    AxisSet seen;
    for (const Axis& axis : *y) {
      if (seen.has(axis.kind)) return Rejection{"a tensor has one axis of a kind", str(*y)};
      seen.add(axis.kind);
      if (!sites.whole(axis.extent)) return Rejection{"every extent is a whole number at every site", str(*y)};
    }
    return y;
  }

  /// The stages, with the operands as inputs. @pre shape() is ok.
  [[nodiscard]] Graph meaning(const SiteSet& sites) const {
    Graph graph;
    std::vector<int> tensors;
    for (const Shape& operand : operands) {
      Tensor tensor;
      tensor.name = tensor_name(static_cast<int>(graph.tensors.size()));
      tensor.role = Role::input;
      tensor.axes.push_back({AxisKind::batch, Size(Symbol::N)});
      for (const Axis& axis : operand) tensor.axes.push_back({axis.kind, axis.extent});
      tensors.push_back(static_cast<int>(graph.tensors.size()));
      graph.tensors.push_back(std::move(tensor));
    }
    StageBuilder build(graph, tensors, 0);
    primitive->stages(call(sites), build);
    graph.output = build.last();
    return graph;
  }
};

inline Binding binding_at(const Site& site, std::int64_t batch) {
  Binding binding = site.binding();
  const Binding choices = test_choices();
  for (Symbol symbol : {Symbol::g, Symbol::r}) binding.set(symbol, choices[symbol]);
  return binding.set(Symbol::N, batch);
}

/// An application at one site with random operands and weights, executed by the interpreter.
class Applied {
 public:
  Applied(const std::string& text, std::vector<Shape> operands, const Site& site, std::int64_t batch,
          std::uint64_t seed = 1)
      : operands_(operands.size()) {
    const Application application = Application::parse(text, std::move(operands));
    const SiteSet sites({site}, test_choices());
    shape_ = application.shape(sites).value();
    graph_ = bind(application.meaning(sites), binding_at(site, batch)).value();
    Rng rng(seed);
    values_ = random_values(graph_, rng);
    RealDomain domain;
    evaluate(graph_, domain, values_);
  }

  [[nodiscard]] const BoundGraph& graph() const { return graph_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] Array operand(std::size_t i = 0) const { return array(i); }
  [[nodiscard]] Array result() const { return array(static_cast<std::size_t>(graph_.output)); }
  /// The i-th weight.
  [[nodiscard]] Array weight(std::size_t i = 0) const {
    for (std::size_t t = operands_; t < graph_.tensors.size(); ++t)
      if (graph_.tensors[t].role == Role::weight && i-- == 0) return array(t);
    KASIMIR_CHECK(false, "no such weight");
  }

 private:
  [[nodiscard]] Array array(std::size_t tensor) const {
    Index dims;
    for (const auto& axis : graph_.tensors[tensor].axes) dims.push_back(axis.extent);
    return {dims, values_[tensor]};
  }

  std::size_t operands_;
  Shape shape_;
  BoundGraph graph_;
  TensorValues<double> values_;
};

/// A shape from its text without brackets: "c=Ci, h=s*H, w=s*W".
inline Shape shape_from(std::string_view text) {
  Shape shape;
  for (const std::string& part : split(text, ',')) {
    const std::string_view axis = trim(part);
    shape.push_back({*axis_from_letter(axis[0]), Size::parse(axis.substr(2))});
  }
  return shape;
}

}  // namespace kasimir::testing
