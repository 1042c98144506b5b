// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/from_nest.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

namespace kasimir {
namespace {

/// Operations of the functions among the nodes.
int operations_of(const std::vector<NestNode>& nodes) {
  int sum = 0;
  for (const NestNode& node : nodes)
    if (const auto* apply = std::get_if<Apply>(&node)) sum += fn_info(apply->fn).ops;
  return sum;
}

class NestReader {
 public:
  NestReader(const NestProgram& program, const Nest& nest, const OperandBits& bits)
      : program_(program), nest_(nest), bits_(bits) {}

  Outcome<Problem> read() {
    for (std::size_t i = 0; i < nest_.loops.size(); ++i) {
      const BoundIter& loop = nest_.loops[i];
      if (loop.extent == 1) continue;
      dims_[static_cast<int>(i)] = static_cast<int>(problem_.dims.size());
      problem_.dims.push_back({fmt::format("{}{}", axis_letter(loop.kind), i), loop.extent});
    }
    problem_.combine = nest_.reduce == Reduce::sum   ? Combine::sum
                       : nest_.reduce == Reduce::max ? Combine::max
                                                     : Combine::none;
    add(nest_.out, nest_.out_at, OperandRole::output);
    for_each_read(nest_, [&](const BoundRead& read) {
      const bool known = program_.known[static_cast<std::size_t>(read.tensor)];
      add(read.tensor, read.at, known ? OperandRole::weight : OperandRole::input);
    });
    double operations = per_point() * drop_unused();
    operations += operations_of(nest_.epilogue) * static_cast<double>(nest_.results()) / problem_.points();
    problem_.operations = static_cast<int>(std::max(1.0, std::round(operations)));
    if (!problem_.reduces()) problem_.operands[0].partial_bits = problem_.operands[0].bits;
    try {
      check_problem(problem_);
    } catch (const Error& error) {
      return Rejection{"a nest that the evaluator cannot hold", error.message()};
    }
    return std::move(problem_);
  }

 private:
  void add(int tensor, const std::vector<BoundCoord>& at, OperandRole role) {
    const BoundTensor& read = program_.tensors[static_cast<std::size_t>(tensor)];
    Operand operand;
    operand.role = role;
    operand.bits = role == OperandRole::output   ? bits_.output
                   : role == OperandRole::weight ? bits_.weight
                                                 : bits_.input;
    operand.partial_bits = role == OperandRole::output && nest_.reduce == Reduce::sum ? bits_.partial : operand.bits;
    for (std::size_t a = 0; a < at.size(); ++a) operand.ranks.push_back(rank(at[a], read.axes[a].extent));
    const std::string name = identifier(read.name);
    int copies = 0;
    for (const Operand& other : problem_.operands) {
      if (other.role == operand.role && other.ranks == operand.ranks && tensors_[other.name] == tensor) return;
      copies += static_cast<int>(other.name == name || other.name.starts_with(name + "."));
    }
    operand.name = copies == 0 ? name : fmt::format("{}.{}", name, copies + 1);
    tensors_[operand.name] = tensor;
    problem_.operands.push_back(std::move(operand));
  }

  OperandRank rank(const BoundCoord& coord, std::int64_t extent) const {
    std::map<int, std::int64_t> sums;
    for (const auto& [loop, factor] : coord.terms)
      if (const auto dim = dims_.find(loop); dim != dims_.end()) sums[dim->second] += factor;
    OperandRank made{.terms = {}, .offset = coord.wrap ? 0 : coord.offset, .extent = extent};
    for (const auto& [dim, factor] : sums)
      if (factor != 0) made.terms.push_back({dim, factor});
    return made;
  }

  /// Names in the text of a problem begin with a letter and hold letters, digits, `_` and `.`.
  static std::string identifier(const std::string& name) {
    std::string made = name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0 ? "t" + name : name;
    for (char& c : made)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.') c = '_';
    return made;
  }

  [[nodiscard]] double per_point() const {
    const int functions = operations_of(nest_.value);
    if (nest_.reduce == Reduce::none) return std::max(1, functions);
    const auto* last = nest_.value.empty() ? nullptr : std::get_if<Apply>(&nest_.value.back());
    const bool product = nest_.reduce == Reduce::sum && last != nullptr && last->fn == Fn::mul;
    return product ? functions : functions + 1;
  }

  /// Takes out dimensions that no operand depends on; returns how often they repeat the rest.
  double drop_unused() {
    double repeats = 1;
    for (auto d = static_cast<int>(problem_.dims.size()); d-- > 0;) {
      bool used = false;
      for (std::size_t t = 0; t < problem_.operands.size(); ++t)
        used = used || problem_.relevant(static_cast<int>(t), d);
      if (used) continue;
      repeats *= static_cast<double>(problem_.dims[static_cast<std::size_t>(d)].size);
      problem_.dims.erase(problem_.dims.begin() + d);
      for (Operand& operand : problem_.operands)
        for (OperandRank& rank : operand.ranks)
          for (IndexTerm& term : rank.terms) term.dim -= static_cast<int>(term.dim > d);
    }
    return repeats;
  }

  const NestProgram& program_;
  const Nest& nest_;
  const OperandBits& bits_;
  Problem problem_;
  std::map<int, int> dims_;             ///< dimension of a loop
  std::map<std::string, int> tensors_;  ///< tensor of an operand
};

}  // namespace

Outcome<Problem> problem_of(const NestProgram& program, const Nest& nest, const OperandBits& bits) {
  return NestReader(program, nest, bits).read();
}

Problem with_plain_names(Problem problem) {
  int inputs = 0;
  int weights = 0;
  for (Operand& operand : problem.operands) {
    const bool weight = operand.role == OperandRole::weight;
    int& count = weight ? weights : inputs;
    if (operand.role == OperandRole::output) {
      operand.name = "O";
      continue;
    }
    ++count;
    operand.name = (weight ? "W" : "I") + (count > 1 ? std::to_string(count) : "");
  }
  return problem;
}

Outcome<std::vector<Problem>> problems_of(const NestProgram& program, const OperandBits& bits) {
  std::vector<Problem> problems;
  for (const Nest& nest : program.run) {
    Outcome<Problem> problem = problem_of(program, nest, bits);
    if (!problem) return problem.rejection();
    problems.push_back(std::move(*problem));
  }
  return problems;
}

}  // namespace kasimir
