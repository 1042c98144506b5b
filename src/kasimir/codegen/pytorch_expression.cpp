// SPDX-License-Identifier: Apache-2.0
// names primitives: functions of array libraries share their words
#include "kasimir/codegen/pytorch_expression.h"

#include "kasimir/base/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

constexpr std::size_t longest_operand = 64;

/// One number as it is, several as a tuple.
std::string numbers_text(const ArrayShape& numbers) {
  if (numbers.size() == 1) return std::to_string(numbers[0]);
  return fmt::format("({})", fmt::join(numbers, ", "));
}

std::string pair_text(const std::array<std::int64_t, 2>& pair) {
  return pair[0] == pair[1] ? std::to_string(pair[0]) : fmt::format("({}, {})", pair[0], pair[1]);
}

/// Function of one tensor as `name(x)`.
std::string_view call_of(Fn fn) {
  switch (fn) {
    case Fn::abs:
      return "torch.abs";
    case Fn::relu:
      return "F.relu";
    case Fn::exp:
      return "torch.exp";
    case Fn::sqrt:
      return "torch.sqrt";
    case Fn::rsqrt:
      return "torch.rsqrt";
    case Fn::sin:
      return "torch.sin";
    case Fn::tanh:
      return "torch.tanh";
    case Fn::sigmoid:
      return "torch.sigmoid";
    case Fn::gelu:
      return "F.gelu";
    case Fn::hardswish:
      return "F.hardswish";
    case Fn::max:
      return "torch.maximum";
    case Fn::min:
      return "torch.minimum";
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::div:
    case Fn::join:
    case Fn::neg:
      break;
  }
  KASIMIR_CHECK(false, "{} is an operator", fn_info(fn).name);
}

std::string_view operator_of(Fn fn) { return fn == Fn::join ? fn_info(Fn::add).name : fn_info(fn).name; }

std::string range_text(const array::Slice& op, const ArrayShape& from) {
  std::string range = op.start > 0 ? std::to_string(op.start) : "";
  range += ":";
  if (op.stop < from[static_cast<std::size_t>(op.dim)]) range += std::to_string(op.stop);
  return op.step > 1 ? fmt::format("{}:{}", range, op.step) : range;
}

bool is_operator(Fn fn) { return fn == Fn::add || fn == Fn::sub || fn == Fn::mul || fn == Fn::div || fn == Fn::join; }

}  // namespace

std::string number_text(double value) { return fmt::format("{}", value); }

/// One operation; operands are text already.
struct PytorchExpressions::Printer {
  const ArrayProgram& program;
  const ArrayValue& value;
  std::vector<Expression> operands;
  std::string index;  ///< of an indexed operand: "[:, None]"

  [[nodiscard]] const ArrayShape& shape(std::size_t i = 0) const {
    return program.values[static_cast<std::size_t>(value.operands[i])].shape;
  }
  [[nodiscard]] bool is_number(std::size_t i) const {
    return std::holds_alternative<array::Number>(program.values[static_cast<std::size_t>(value.operands[i])].op);
  }
  /// The operand so that an operator or a method may follow.
  [[nodiscard]] std::string closed(std::size_t i = 0) const {
    return operands[i].is_sum ? "(" + operands[i].text + ")" : operands[i].text;
  }
  [[nodiscard]] Expression method(const std::string& call) const { return {closed() + "." + call}; }

  Expression operator()(const array::Given& op) const { KASIMIR_CHECK(false, "tensor {} has no name", op.tensor); }
  Expression operator()(const array::Number& op) const { return {number_text(op.value), op.value < 0}; }
  Expression operator()(const array::Roll& op) const { return method(fmt::format("roll({}, {})", op.by, op.dim)); }
  Expression operator()(const array::Flip& op) const { return method(fmt::format("flip({})", op.dim)); }
  Expression operator()(const array::Slice&) const { return {closed() + index}; }
  Expression operator()(const array::Pad& op) const {
    std::size_t first = 0;
    while (op.before[first] == 0 && op.after[first] == 0) ++first;
    std::vector<std::int64_t> amounts;  // F.pad counts from the last dimension
    for (std::size_t d = op.before.size(); d-- > first;) amounts.insert(amounts.end(), {op.before[d], op.after[d]});
    return {fmt::format("F.pad({}, ({}))", operands[0].text, fmt::join(amounts, ", "))};
  }
  Expression operator()(const array::Windows& op) const {
    const bool last = op.dim + 1 == static_cast<std::int64_t>(shape().size());
    const std::string call = fmt::format("unfold({}, {}, {})", op.dim, op.size, op.step);
    return method(last ? call : fmt::format("{}.movedim(-1, {})", call, op.dim + 1));
  }
  Expression operator()(const array::Unflatten& op) const {
    return method(fmt::format("unflatten({}, ({}))", op.dim, fmt::join(op.extents, ", ")));
  }
  Expression operator()(const array::Flatten& op) const {
    return method(fmt::format("flatten({}, {})", op.first, op.last));
  }
  Expression operator()(const array::Reshape& op) const {
    return method(fmt::format("reshape({})", fmt::join(op.shape, ", ")));
  }
  Expression operator()(const array::Squeeze& op) const { return method(fmt::format("squeeze({})", op.dim)); }
  Expression operator()(const array::Unsqueeze&) const { return {closed() + index}; }
  Expression operator()(const array::Permute& op) const {
    return method(fmt::format("permute({})", fmt::join(op.order, ", ")));
  }
  Expression operator()(const array::Expand& op) const {
    // -1 keeps an extent, the batch's among them.
    return method(fmt::format("expand({})", fmt::join(op.shape, ", ")));
  }
  Expression operator()(const array::Concat& op) const {
    std::vector<std::string> parts;
    for (const Expression& operand : operands) parts.push_back(operand.text);
    return {fmt::format("torch.cat(({}), {})", fmt::join(parts, ", "), op.dim)};
  }
  Expression operator()(const array::Function& op) const {
    if (op.fn == Fn::neg) return {"-" + closed(), true};
    if (operands.size() == 1) return {fmt::format("{}({})", call_of(op.fn), operands[0].text)};
    if (is_operator(op.fn)) return {fmt::format("{} {} {}", closed(0), operator_of(op.fn), closed(1)), true};
    // The two-operand functions take tensors only.
    const std::string_view bound = op.fn == Fn::max ? "min" : "max";
    for (std::size_t i : {0, 1})
      if (is_number(i)) return {fmt::format("{}.clamp({}={})", closed(1 - i), bound, operands[i].text)};
    return {fmt::format("{}({}, {})", call_of(op.fn), operands[0].text, operands[1].text)};
  }
  Expression operator()(const array::Reduction& op) const {
    const std::string dims = numbers_text(op.dims);
    switch (op.fold) {
      case array::Fold::sum:
        return method("sum(" + dims + ")");
      case array::Fold::mean:
        return method("mean(" + dims + ")");
      case array::Fold::max:
        return method("amax(" + dims + ")");
    }
    KASIMIR_CHECK(false, "reduction {}", static_cast<int>(op.fold));
  }
  Expression operator()(const array::Softmax& op) const { return method(fmt::format("softmax({})", op.dim)); }
  Expression operator()(const array::Einsum& op) const {
    std::string text = fmt::format("torch.einsum(\"{}\"", op.equation);
    for (const Expression& operand : operands) text += ", " + operand.text;
    return {text + ")"};
  }
  Expression operator()(const array::Convolution& op) const {
    std::string x = operands[0].text;
    std::array<std::int64_t, 2> padding = op.before;
    bool alike = true;  // the library pads both ends alike, and drops what fills no whole window
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t span = op.dilation[i] * (shape(1)[2 + i] - 1) + 1;
      const std::int64_t places = (shape(0)[2 + i] + 2 * op.before[i] - span) / op.stride[i] + 1;
      alike = alike && places == value.shape[2 + i];
    }
    if (!alike) {
      x = fmt::format("F.pad({}, ({}, {}, {}, {}))", x, op.before[1], op.after[1], op.before[0], op.after[0]);
      padding = {0, 0};
    }
    std::string text = fmt::format("F.conv2d({}, {}", x, operands[1].text);
    if (op.stride != std::array<std::int64_t, 2>{1, 1}) text += ", stride=" + pair_text(op.stride);
    if (padding != std::array<std::int64_t, 2>{0, 0}) text += ", padding=" + pair_text(padding);
    if (op.dilation != std::array<std::int64_t, 2>{1, 1}) text += ", dilation=" + pair_text(op.dilation);
    if (op.groups > 1) text += fmt::format(", groups={}", op.groups);
    return {text + ")"};
  }
  Expression operator()(const array::BatchNorm& op) const {
    return {fmt::format("F.batch_norm({}, {}, {}, {}, {}, eps={})", operands[0].text, operands[3].text,
                        operands[4].text, operands[1].text, operands[2].text, number_text(op.epsilon))};
  }
};

PytorchExpressions::PytorchExpressions(const ArrayProgram& program)
    : program_(program), uses_(program.values.size(), 0), names_(program.values.size()) {
  const std::vector<bool> needed = program.needed();
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i])
      for (int operand : program.values[i].operands) ++uses_[static_cast<std::size_t>(operand)];
}

std::string PytorchExpressions::fresh(std::string_view wish) {
  std::string name(wish);
  for (int i = 2; taken_.contains(name); ++i) name = fmt::format("{}_{}", wish, i);
  taken_.insert(name);
  return name;
}

/// Slices of several dimensions, or several new dimensions, as one index. `value` becomes what is indexed.
std::string PytorchExpressions::index(int& value) const {
  std::vector<std::string> parts;
  std::set<std::int64_t> sliced;
  const auto at = [&](int v) -> const ArrayValue& { return program_.values[static_cast<std::size_t>(v)]; };
  parts.resize(at(value).shape.size(), ":");
  const bool adds = std::holds_alternative<array::Unsqueeze>(at(value).op);
  std::vector<std::int64_t> places(parts.size());  // of the dimensions that are left
  std::iota(places.begin(), places.end(), 0);
  for (bool first = true;; first = false) {
    const ArrayValue& made = at(value);
    const bool inside = first || (uses_[static_cast<std::size_t>(value)] < 2 && name(value).empty());
    if (const auto* added = std::get_if<array::Unsqueeze>(&made.op); added != nullptr && adds && inside) {
      parts[static_cast<std::size_t>(places[static_cast<std::size_t>(added->dim)])] = "None";
      places.erase(places.begin() + added->dim);
    } else if (const auto* cut = std::get_if<array::Slice>(&made.op);
               cut != nullptr && !adds && inside && sliced.insert(cut->dim).second) {
      parts[static_cast<std::size_t>(cut->dim)] = range_text(*cut, at(made.operands[0]).shape);
    } else {
      break;
    }
    value = made.operands[0];
  }
  while (!parts.empty() && parts.back() == ":") parts.pop_back();
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

PytorchExpressions::Expression PytorchExpressions::make(int value, std::string& before, std::string_view indent) {
  const ArrayValue& made = program_.values[static_cast<std::size_t>(value)];
  Printer printer{program_, made, {}, {}};
  if (std::holds_alternative<array::Slice>(made.op) || std::holds_alternative<array::Unsqueeze>(made.op)) {
    int indexed = value;
    printer.index = index(indexed);
    printer.operands.push_back(inner(indexed, before, indent));
  } else {
    for (int operand : made.operands) printer.operands.push_back(inner(operand, before, indent));
  }
  return std::visit(printer, made.op);
}

PytorchExpressions::Expression PytorchExpressions::inner(int value, std::string& before, std::string_view indent) {
  const auto at = static_cast<std::size_t>(value);
  if (!names_[at].empty()) return {names_[at]};
  Expression made = make(value, before, indent);
  const bool number = std::holds_alternative<array::Number>(program_.values[at].op);
  if (number || (uses_[at] < 2 && made.text.size() <= longest_operand)) return made;
  names_[at] = fresh("part");
  before += fmt::format("{}{} = {}\n", indent, names_[at], made.text);
  return {names_[at]};
}

std::string PytorchExpressions::text(int value, std::string& before, std::string_view indent) {
  const std::string& known = names_[static_cast<std::size_t>(value)];
  return known.empty() ? make(value, before, indent).text : known;
}

}  // namespace kasimir
