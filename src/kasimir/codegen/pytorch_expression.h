// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/array_program.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// The values of a program as PyTorch expressions.
class PytorchExpressions {
 public:
  explicit PytorchExpressions(const ArrayProgram& program);

  /// From here on the value is this variable.
  void name(int value, std::string variable) { names_[static_cast<std::size_t>(value)] = std::move(variable); }
  [[nodiscard]] const std::string& name(int value) const { return names_[static_cast<std::size_t>(value)]; }
  /// A variable that nobody has yet, this one if possible.
  std::string fresh(std::string_view wish);

  /// The value's expression. What is used twice or too long for a line becomes a variable of its own, in lines that are
  /// appended to `before`.
  std::string text(int value, std::string& before, std::string_view indent);

 private:
  struct Expression {
    std::string text;
    bool is_sum = false;  ///< needs parentheses before something is applied to it
  };
  struct Printer;

  std::string index(int& value) const;
  Expression make(int value, std::string& before, std::string_view indent);
  Expression inner(int value, std::string& before, std::string_view indent);

  const ArrayProgram& program_;
  std::vector<int> uses_;
  std::vector<std::string> names_;
  std::set<std::string, std::less<>> taken_{"x", "self"};
};

/// "3", "0.25", "1e-05".
std::string number_text(double value);

}  // namespace kasimir
