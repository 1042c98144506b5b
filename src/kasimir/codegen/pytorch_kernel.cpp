// SPDX-License-Identifier: Apache-2.0
// names primitives: functions of array libraries share their words
#include "kasimir/codegen/pytorch_kernel.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/codegen/array_program.h"
#include "kasimir/codegen/pytorch_expression.h"
#include "kasimir/nest/inline_copies.h"

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

std::string tuple(const std::vector<BasicAxis<Bound>>& axes) {
  std::vector<std::int64_t> extents;
  for (const auto& axis : axes) extents.push_back(axis.extent);
  return fmt::format("{}", fmt::join(extents, ", "));
}

/// A weight before training.
std::string start_text(const BoundTensor& tensor) {
  switch (tensor.weight_role) {
    case WeightRole::linear:
      return fmt::format("torch.randn({}) / {}**0.5", tuple(tensor.axes), tensor.fan_in);
    case WeightRole::scale:
      return fmt::format("torch.ones({})", tuple(tensor.axes));
    case WeightRole::offset:
      return fmt::format("torch.zeros({})", tuple(tensor.axes));
  }
  KASIMIR_CHECK(false, "weight {} has no role", tensor.name);
}

class KernelText {
 public:
  KernelText(const Kernel& kernel, const BoundGraph& graph)
      : kernel_(kernel), graph_(graph), program_(array_program(graph)), expressions_(program_) {
    for (std::size_t i = 0; i < program_.values.size(); ++i) {
      const auto* given = std::get_if<array::Given>(&program_.values[i].op);
      if (given == nullptr) continue;
      const bool input = graph.tensors[static_cast<std::size_t>(given->tensor)].role == Role::input;
      expressions_.name(static_cast<int>(i), input ? "x" : "self." + name_of(given->tensor));
    }
  }

  [[nodiscard]] std::string init() const {
    std::string text = "    def __init__(self):\n        super().__init__()\n";
    for (const BoundTensor& tensor : graph_.tensors)
      if (tensor.role == Role::weight)
        text += fmt::format("        self.{} = nn.Parameter({})\n", tensor.name, start_text(tensor));
    for (const BoundStage& stage : graph_.stages) {
      if (!stage.stat) continue;
      const std::string extents = tuple(graph_.tensors[static_cast<std::size_t>(stage.out)].axes);
      const double start = stage.stat->start;
      const std::string value = start == 0.0   ? fmt::format("torch.zeros({})", extents)
                                : start == 1.0 ? fmt::format("torch.ones({})", extents)
                                               : fmt::format("torch.full(({},), {})", extents, start);
      text += fmt::format("        self.register_buffer(\"{}\", {})\n", name_of(stage.out), value);
    }
    return text;
  }

  [[nodiscard]] std::string forward(std::int64_t rows, std::int64_t columns) {
    std::string text = "    def forward(self, x):\n";
    if (rows > 0 || columns > 0) text += fmt::format("        x = F.pad(x, (0, {}, 0, {}))\n", columns, rows);
    int step = -2;
    for (std::size_t i = 0; i < program_.stages.size();) {
      const int now = stage(i).step;
      if (now < 0 && !expressions_.name(program_.stages[i].value).empty()) break;  // the last one only names the result
      if (now != step) text += fmt::format("        # {}\n", step_text(now));
      step = now;
      text += stage(i).stat ? statistics(i) : line(i++, "        ");
    }
    return text + fmt::format("        return {}\n", expressions_.name(program_.result));
  }

  [[nodiscard]] bool has_statistics() const {
    return std::ranges::any_of(graph_.stages, [](const BoundStage& stage) { return stage.stat.has_value(); });
  }

 private:
  [[nodiscard]] const BoundStage& stage(std::size_t i) const { return graph_.stages[program_.stages[i].stage]; }
  [[nodiscard]] const std::string& name_of(int tensor) const {
    return graph_.tensors[static_cast<std::size_t>(tensor)].name;
  }
  [[nodiscard]] std::string step_text(int step) const {
    if (step < 0) return "axes in the order channel, row, column";
    return fmt::format("{} = {}", tensor_name(step + 1), str(kernel_.steps[static_cast<std::size_t>(step)]));
  }

  std::string line(std::size_t i, std::string_view indent) {
    const ArrayStage& made = program_.stages[i];
    std::string text;
    const std::string name = expressions_.fresh(name_of(made.tensor));
    const std::string value = expressions_.text(made.value, text, indent);
    text += fmt::format("{}{} = {}\n", indent, name, value);
    expressions_.name(made.value, name);
    return text;
  }

  /// Statistics that follow one another: the batch's in training, stored ones else.
  std::string statistics(std::size_t& i) {
    std::string batch = "        if self.training:\n";
    std::string follow;
    std::string stored = "        else:\n";
    for (; i < program_.stages.size() && stage(i).stat; ++i) {
      const std::string& buffer = name_of(stage(i).out);
      batch += line(i, "            ");
      const std::string& name = expressions_.name(program_.stages[i].value);
      follow += fmt::format("            follow(self.{}, {}, {})\n", buffer, name, stage(i).stat->momentum);
      stored += fmt::format("            {} = self.{}\n", name, buffer);
    }
    return batch + follow + stored;
  }

  const Kernel& kernel_;
  const BoundGraph& graph_;
  ArrayProgram program_;
  PytorchExpressions expressions_;
};

}  // namespace

std::string docstring_text(std::string text) {
  std::string safe;
  for (char c : text) {
    if (c == '\\' || c == '"') safe += '\\';
    safe += c;
  }
  return safe;
}

PytorchKernel pytorch_kernel(const Kernel& kernel, const Site& site, std::int64_t rows, std::int64_t columns,
                             const std::string& class_name) {
  const auto lowered = lower_at(kernel, site, program_batch);
  KASIMIR_CHECK(lowered.ok(), "kernel {} at {}: {}", kernel.name, site.str(), lowered.rejection().str());
  const BoundGraph graph = inline_copies(*lowered);
  Kernel described = kernel;
  described.fits.clear();
  std::string shown;
  for (const std::string& line : split(trim(str(described)), '\n')) shown += "    " + docstring_text(line) + "\n";
  const Binding fit = kernel.fit_at(site);
  if (!kernel.free_symbols().empty()) shown += fmt::format("    with {}\n", fit.str());
  KernelText text(kernel, graph);
  std::string source =
      fmt::format("class {}(nn.Module):\n    \"\"\"At {}:\n\n{}    \"\"\"\n\n", class_name, site.str(), shown);
  source += text.init() + "\n" + text.forward(rows, columns);
  return {source, text.has_statistics()};
}

}  // namespace kasimir
