// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/problem.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace kasimir {
namespace {

/// Reads a problem from left to right; sizes come last, so extents that are not written are filled in at the end.
class ProblemReader {
 public:
  explicit ProblemReader(std::string_view text) : text_(text) {}

  Problem read();

 private:
  [[noreturn]] void fail(std::string what) const {
    throw Error(Fault::input, fmt::format("{} at column {}", std::move(what), at_ + 1))
        .note(std::string(text_))
        .note(std::string(at_, ' ') + "^");
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token, std::string_view where) {
    if (take(token)) return;
    fail(fmt::format("expected `{}` {}, found {}", token, where, here()));
  }
  [[nodiscard]] std::string here() const {
    return at_ < text_.size() ? fmt::format("`{}`", text_[at_]) : std::string("the end");
  }
  bool take_word(std::string_view word);
  std::string name(std::string_view what);
  [[nodiscard]] bool at_name() {
    skip_space();
    return at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_');
  }
  [[nodiscard]] bool at_digit() {
    skip_space();
    return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
  }
  std::int64_t number(std::string_view what);

  int dim(const std::string& name);
  Operand operand();
  void reads();
  OperandRank coordinate();
  void term(OperandRank& rank, std::int64_t sign);
  void sizes();
  void settings();
  void setting();
  void bits(Operand& operand);
  void order_dims();
  void defaults();

  std::string_view text_;
  std::size_t at_ = 0;
  Problem problem_;
  std::vector<int> sized_;  ///< dimensions in the order of `for`
  std::set<std::string> given_;
};

bool ProblemReader::take_word(std::string_view word) {
  skip_space();
  const std::size_t end = at_ + word.size();
  if (!text_.substr(at_).starts_with(word)) return false;
  if (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
    return false;
  at_ = end;
  return true;
}

std::string ProblemReader::name(std::string_view what) {
  if (!at_name()) fail(fmt::format("expected {}, found {}", what, here()));
  const std::size_t begin = at_;
  while (at_ < text_.size() &&
         (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '.'))
    ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::int64_t ProblemReader::number(std::string_view what) {
  if (!at_digit()) fail(fmt::format("expected {}, found {}", what, here()));
  const std::size_t begin = at_;
  while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  const auto value = parse_integer(text_.substr(begin, at_ - begin));
  if (!value || *value > (std::int64_t{1} << 40)) fail(fmt::format("{} is too large", what));
  return *value;
}

int ProblemReader::dim(const std::string& name) {
  const int found = problem_.find_dim(name);
  if (found >= 0) return found;
  problem_.dims.push_back({name, 1});
  return static_cast<int>(problem_.dims.size()) - 1;
}

void ProblemReader::term(OperandRank& rank, std::int64_t sign) {
  if (!at_digit()) {
    const int d = dim(name("a dimension or a number"));
    rank.terms.push_back({d, take("*") ? sign * number("a coefficient") : sign});
    return;
  }
  const std::int64_t value = number("a number");
  if (take("*"))
    rank.terms.push_back({dim(name("a dimension")), sign * value});
  else
    rank.offset += sign * value;
}

OperandRank ProblemReader::coordinate() {
  OperandRank rank{.terms = {}, .offset = 0, .extent = 0};
  term(rank, take("-") ? -1 : 1);
  while (true) {
    if (take("+"))
      term(rank, 1);
    else if (take("-"))
      term(rank, -1);
    else
      break;
  }
  if (take("<")) {
    rank.extent = number("the extent of the axis");
    if (rank.extent < 1) fail("an axis has at least 1 element");
  }
  return rank;
}

Operand ProblemReader::operand() {
  Operand operand;
  operand.name = name("the name of a tensor");
  expect("[", "after the name of a tensor");
  if (take("]")) return operand;
  do operand.ranks.push_back(coordinate());
  while (take(","));
  expect("]", "after the coordinates");
  return operand;
}

void ProblemReader::reads() {
  if (at_digit()) {
    number("a constant");
    return;
  }
  do {
    problem_.operands.push_back(operand());
    if (problem_.operands.size() == 3) problem_.operands.back().role = OperandRole::weight;
  } while (take("*"));
}

void ProblemReader::sizes() {
  while (at_name()) {
    const std::size_t begin = at_;
    if (take_word("with")) {
      at_ = begin;
      return;
    }
    const std::string word = name("a dimension");
    const int d = problem_.find_dim(word);
    if (d < 0) {
      std::vector<std::string> known;
      for (const ProblemDim& dim : problem_.dims) known.push_back(dim.name);
      throw input_error("size of {}, which no tensor uses", word).note(suggestion(word, known));
    }
    expect("=", "after a dimension");
    const std::int64_t size = number("a size");
    if (size < 1) throw input_error("dimension {} has size 0, at least 1 is needed", word);
    problem_.dims[static_cast<std::size_t>(d)].size = size;
    if (std::find(sized_.begin(), sized_.end(), d) != sized_.end())
      throw input_error("dimension {} is given two sizes", word);
    sized_.push_back(d);
    take(",");
  }
}

void ProblemReader::bits(Operand& operand) {
  expect(":", "after the name of a tensor");
  operand.bits = static_cast<int>(std::min<std::int64_t>(number("bits"), 1 << 20));
  operand.partial_bits = operand.bits;
  if (take("/"))
    operand.partial_bits = static_cast<int>(std::min<std::int64_t>(number("bits of partial sums"), 1 << 20));
  if (!take("@")) return;
  if (take_word("input"))
    operand.role = OperandRole::input;
  else if (take_word("weight"))
    operand.role = OperandRole::weight;
  else
    fail(fmt::format("expected input or weight after `@`, found {}", here()));
}

void ProblemReader::setting() {
  const std::string word = name("a tensor or ops");
  if (!given_.insert(word).second) throw input_error("{} is given twice after `with`", word);
  const int t = problem_.find_operand(word);
  if (t >= 0) {
    bits(problem_.operands[static_cast<std::size_t>(t)]);
  } else if (word == "ops") {
    expect("=", "after ops");
    problem_.operations = static_cast<int>(std::min<std::int64_t>(number("operations per point"), 1 << 20));
  } else {
    std::vector<std::string> known{"ops"};
    for (const Operand& operand : problem_.operands) known.push_back(operand.name);
    throw input_error("bits of {}, which is not a tensor", word).note(suggestion(word, known));
  }
  take(",");
}

void ProblemReader::order_dims() {
  std::vector<int> place(problem_.dims.size(), -1);
  std::vector<ProblemDim> dims;
  for (const int d : sized_) {
    place[static_cast<std::size_t>(d)] = static_cast<int>(dims.size());
    dims.push_back(problem_.dims[static_cast<std::size_t>(d)]);
  }
  for (std::size_t d = 0; d < place.size(); ++d)
    if (place[d] < 0)
      throw input_error("dimension {} has no size", problem_.dims[d].name)
          .note(fmt::format("add {}=SIZE after `for`", problem_.dims[d].name));
  problem_.dims = std::move(dims);
  for (Operand& operand : problem_.operands)
    for (OperandRank& rank : operand.ranks)
      for (IndexTerm& term : rank.terms) term.dim = place[static_cast<std::size_t>(term.dim)];
}

void ProblemReader::defaults() {
  order_dims();
  Operand& out = problem_.operands.front();
  if (!given_.contains(out.name) && problem_.combine == Combine::sum && problem_.reduces()) out.partial_bits = 32;
  for (Operand& operand : problem_.operands)
    for (OperandRank& rank : operand.ranks) {
      const std::int64_t reached = reach(problem_, rank);
      if (rank.extent == 0 && reached < 1)
        throw input_error("operand {} is read before its first element only", operand.name);
      if (rank.extent == 0) rank.extent = reached;
    }
}

Problem ProblemReader::read() {
  problem_.operands.push_back(operand());
  problem_.operands.front().role = OperandRole::output;
  if (take("+="))
    problem_.combine = Combine::sum;
  else if (take_word("max") && take("="))
    problem_.combine = Combine::max;
  else if (take("="))
    problem_.combine = Combine::none;
  else
    fail(fmt::format("expected `+=`, `max=` or `=` after the output, found {}", here()));
  reads();
  if (take_word("for")) sizes();
  if (take_word("with"))
    while (at_name()) setting();
  skip_space();
  if (at_ != text_.size()) fail(fmt::format("expected `for`, `with` or the end, found {}", here()));
  defaults();
  check_problem(problem_);
  return std::move(problem_);
}

std::string text_of(const Problem& problem, const OperandRank& rank) {
  std::string text;
  for (const IndexTerm& term : rank.terms) {
    const std::string& dim = problem.dims[static_cast<std::size_t>(term.dim)].name;
    text += term.coefficient < 0 ? "-" : text.empty() ? "" : "+";
    const std::int64_t size = std::abs(term.coefficient);
    text += size == 1 ? dim : fmt::format("{}*{}", size, dim);
  }
  if (rank.offset != 0 || text.empty())
    text += fmt::format("{}{}", rank.offset < 0 || text.empty() ? "" : "+", rank.offset);
  if (rank.extent != reach(problem, rank)) text += fmt::format("<{}", rank.extent);
  return text;
}

std::string text_of(const Problem& problem, const Operand& operand) {
  std::vector<std::string> coordinates;
  for (const OperandRank& rank : operand.ranks) coordinates.push_back(text_of(problem, rank));
  return fmt::format("{}[{}]", operand.name, join(coordinates, ","));
}

}  // namespace

Problem parse_problem(std::string_view text) { return ProblemReader(trim(text)).read(); }

std::string str(const Problem& problem) {
  constexpr std::string_view signs[] = {"=", "+=", "max="};
  std::string text = fmt::format("{} {} ", text_of(problem, problem.operands.front()),
                                 signs[static_cast<std::size_t>(problem.combine)]);
  if (problem.operands.size() == 1) text += "0";
  for (std::size_t t = 1; t < problem.operands.size(); ++t)
    text += (t > 1 ? " * " : "") + text_of(problem, problem.operands[t]);
  text += " for";
  for (const ProblemDim& dim : problem.dims) text += fmt::format(" {}={}", dim.name, dim.size);
  text += " with";
  for (std::size_t t = 0; t < problem.operands.size(); ++t) {
    const Operand& operand = problem.operands[t];
    text += fmt::format(" {}:{}", operand.name, operand.bits);
    if (operand.partial_bits != operand.bits) text += fmt::format("/{}", operand.partial_bits);
    const OperandRole usual = t == 2 ? OperandRole::weight : OperandRole::input;
    if (t > 0 && operand.role != usual) text += operand.role == OperandRole::weight ? "@weight" : "@input";
  }
  if (problem.operations != 1) text += fmt::format(" ops={}", problem.operations);
  return text;
}

}  // namespace kasimir
