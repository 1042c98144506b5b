// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/kernel.h"

namespace kasimir {
namespace {

std::string text(const Numbers& numbers, const Param& /*param*/) {
  if (numbers.count == 1) return std::to_string(numbers.value[0]);
  return fmt::format("({},{})", numbers.value[0], numbers.value[1]);
}

std::string text(const Size& size, const Param& /*param*/) { return size.str(); }

std::string text(const AxisSet& axes, const Param& /*param*/) {
  std::string letters;
  for (AxisKind kind : axes.kinds()) letters += (letters.empty() ? "" : ",") + std::string(1, axis_letter(kind));
  return letters.size() == 1 ? letters : "(" + letters + ")";
}

std::string text(const Word& word, const Param& param) { return std::string(param.words[word.index]); }

std::string text(const Shape& shape, const Param& /*param*/) {
  std::string axes;
  for (const Axis& axis : shape)
    axes += fmt::format("{}{}={}", axes.empty() ? "" : ",", axis_letter(axis.kind), axis.extent.str());
  return "(" + axes + ")";
}

}  // namespace

std::string tensor_name(int tensor) {
  if (tensor == 0) return "x";
  // a .. w, then a1 .. w1: `x` and `y` are the input's and the output's names.
  constexpr int letters = 23;
  const int i = tensor - 1;
  std::string name(1, static_cast<char>('a' + i % letters));
  if (i >= letters) name += std::to_string(i / letters);
  return name;
}

std::string str(const Step& step) {
  std::string line = std::string(step.primitive->name) + "(";
  for (std::size_t i = 0; i < step.operands.size(); ++i) line += (i > 0 ? ", " : "") + tensor_name(step.operands[i]);
  for (std::size_t i = 0; i < step.arguments.size(); ++i) {
    const Param& param = step.primitive->params[i];
    const std::string value =
        std::visit([&](const auto& argument) { return text(argument, param); }, step.arguments[i]);
    if (value != param.fallback) line += fmt::format(", {}={}", param.name, value);
  }
  return line + ")";
}

std::string str(const Kernel& kernel) {
  std::string all = "kernel " + kernel.name + "\n";
  const std::string choices = kernel.choices.str();
  if (!choices.empty()) all += "given " + choices + "\n";
  for (std::size_t i = 0; i < kernel.steps.size(); ++i)
    all += fmt::format("  {} = {}\n", tensor_name(static_cast<int>(i) + 1), str(kernel.steps[i]));
  all += "return " + tensor_name(kernel.output) + "\n";
  for (const auto& [site, fit] : kernel.fits) all += fmt::format("at {}: {}\n", site.str(), fit.str());
  return all;
}

}  // namespace kasimir
