// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/problem.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <set>

namespace kasimir {

double Problem::points() const {
  double product = 1;
  for (const ProblemDim& dim : dims) product *= static_cast<double>(dim.size);
  return product;
}

double Problem::elements(int operand) const {
  double product = 1;
  for (const OperandRank& rank : operands[static_cast<std::size_t>(operand)].ranks)
    product *= static_cast<double>(rank.extent);
  return product;
}

bool Problem::relevant(int operand, int dim) const {
  const auto& ranks = operands[static_cast<std::size_t>(operand)].ranks;
  return std::any_of(ranks.begin(), ranks.end(), [dim](const OperandRank& rank) {
    return std::any_of(rank.terms.begin(), rank.terms.end(), [dim](const IndexTerm& term) { return term.dim == dim; });
  });
}

bool Problem::reduces() const {
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d].size > 1 && !relevant(0, static_cast<int>(d))) return true;
  return false;
}

int Problem::find_dim(std::string_view name) const {
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d].name == name) return static_cast<int>(d);
  return -1;
}

int Problem::find_operand(std::string_view name) const {
  for (std::size_t t = 0; t < operands.size(); ++t)
    if (operands[t].name == name) return static_cast<int>(t);
  return -1;
}

std::int64_t reach(const Problem& problem, const OperandRank& rank) {
  std::int64_t last = rank.offset;
  for (const IndexTerm& term : rank.terms)
    if (term.coefficient > 0) last += term.coefficient * (problem.dims[static_cast<std::size_t>(term.dim)].size - 1);
  return last + 1;
}

namespace {

void check_operand(const Problem& problem, const Operand& operand) {
  if (operand.ranks.size() > static_cast<std::size_t>(max_ranks))
    throw input_error("operand {} has {} axes, at most {} are possible", operand.name, operand.ranks.size(), max_ranks);
  for (const int bits : {operand.bits, operand.partial_bits})
    if (bits < 1 || bits > 64)
      throw input_error("operand {} has elements of {} bits, 1 to 64 are possible", operand.name, bits);
  if (operand.role != OperandRole::output && operand.partial_bits != operand.bits)
    throw input_error("operand {} is read only and has no partial sums of {} bits", operand.name, operand.partial_bits);
  std::size_t terms = 0;
  for (const OperandRank& rank : operand.ranks) {
    terms += rank.terms.size();
    if (rank.extent < 1) throw input_error("operand {} has an axis of {} elements", operand.name, rank.extent);
    std::set<int> seen;
    for (const IndexTerm& term : rank.terms) {
      if (term.dim < 0 || term.dim >= static_cast<int>(problem.dims.size()))
        throw input_error("operand {} names dimension {} of {}", operand.name, term.dim, problem.dims.size());
      const std::string& dim = problem.dims[static_cast<std::size_t>(term.dim)].name;
      if (term.coefficient == 0) throw input_error("operand {} multiplies {} by 0", operand.name, dim);
      if (!seen.insert(term.dim).second)
        throw input_error("operand {} names {} twice in one coordinate", operand.name, dim);
    }
  }
  if (terms > static_cast<std::size_t>(max_terms))
    throw input_error("operand {} has {} terms, at most {} are possible", operand.name, terms, max_terms);
}

void check_use(const Problem& problem, int dim) {
  for (std::size_t t = 0; t < problem.operands.size(); ++t)
    if (problem.relevant(static_cast<int>(t), dim)) return;
  throw input_error("no operand depends on dimension {}", problem.dims[static_cast<std::size_t>(dim)].name);
}

}  // namespace

void check_problem(const Problem& problem) {
  if (problem.dims.size() > static_cast<std::size_t>(max_dims))
    throw input_error("the problem has {} dimensions, at most {} are possible", problem.dims.size(), max_dims);
  if (problem.operands.empty() || problem.operands.size() > static_cast<std::size_t>(max_operands))
    throw input_error("the problem has {} operands, 1 to {} are possible", problem.operands.size(), max_operands);
  if (problem.operations < 1)
    throw input_error("the problem has {} operations per point, at least 1 is needed", problem.operations);
  std::set<std::string> names;
  for (const ProblemDim& dim : problem.dims) {
    if (dim.size < 1) throw input_error("dimension {} has size {}, at least 1 is needed", dim.name, dim.size);
    if (!names.insert(dim.name).second) throw input_error("dimension {} is named twice", dim.name);
  }
  names.clear();
  for (const Operand& operand : problem.operands) {
    if (!names.insert(operand.name).second) throw input_error("operand {} is named twice", operand.name);
    if ((operand.role == OperandRole::output) != (&operand == &problem.operands.front()))
      throw input_error("operand {}: the first operand is the output, and no other", operand.name);
    check_operand(problem, operand);
  }
  for (std::size_t d = 0; d < problem.dims.size(); ++d) check_use(problem, static_cast<int>(d));
  for (std::size_t d = 0; d < problem.dims.size(); ++d)
    if (problem.combine == Combine::none && problem.dims[d].size > 1 && !problem.relevant(0, static_cast<int>(d)))
      throw input_error("dimension {} is not in the output: write += to sum over it, or max=", problem.dims[d].name);
}

namespace {

Operand operand_of(const Problem& problem, std::string name, OperandRole role, int bits, int partial,
                   std::vector<std::vector<IndexTerm>> coordinates) {
  Operand operand{.name = std::move(name), .role = role, .bits = bits, .partial_bits = partial, .ranks = {}};
  for (auto& terms : coordinates) {
    OperandRank rank{.terms = std::move(terms), .offset = 0, .extent = 1};
    rank.extent = reach(problem, rank);
    operand.ranks.push_back(std::move(rank));
  }
  return operand;
}

}  // namespace

Problem convolution(const ConvolutionShape& shape, const OperandBits& bits) {
  if (shape.groups < 1 || shape.in_channels % shape.groups != 0 || shape.out_channels % shape.groups != 0)
    throw input_error("{} input and {} output channels do not divide into {} groups", shape.in_channels,
                      shape.out_channels, shape.groups);
  Problem problem;
  problem.dims = {{"R", shape.kernel_height},
                  {"S", shape.kernel_width},
                  {"P", shape.out_height},
                  {"Q", shape.out_width},
                  {"C", shape.in_channels / shape.groups},
                  {"K", shape.out_channels / shape.groups},
                  {"N", shape.batch}};
  enum : int { r, s, p, q, c, k, n, g };
  std::vector<std::vector<IndexTerm>> out{{{n, 1}}, {{k, 1}}, {{p, 1}}, {{q, 1}}};
  std::vector<std::vector<IndexTerm>> in{
      {{n, 1}}, {{c, 1}}, {{p, shape.stride_height}, {r, 1}}, {{q, shape.stride_width}, {s, 1}}};
  std::vector<std::vector<IndexTerm>> weight{{{k, 1}}, {{c, 1}}, {{r, 1}}, {{s, 1}}};
  if (shape.groups > 1) {
    problem.dims.push_back({"G", shape.groups});
    for (auto* coordinates : {&out, &in, &weight})
      coordinates->insert(coordinates->begin() + (coordinates == &weight ? 0 : 1), {IndexTerm{g, 1}});
  }
  problem.operands.push_back(operand_of(problem, "O", OperandRole::output, bits.output, bits.partial, std::move(out)));
  problem.operands.push_back(operand_of(problem, "I", OperandRole::input, bits.input, bits.input, std::move(in)));
  problem.operands.push_back(
      operand_of(problem, "W", OperandRole::weight, bits.weight, bits.weight, std::move(weight)));
  check_problem(problem);
  return problem;
}

Problem matrix_product(std::int64_t m, std::int64_t n, std::int64_t k, const OperandBits& bits) {
  Problem problem;
  problem.dims = {{"M", m}, {"N", n}, {"K", k}};
  problem.operands.push_back(
      operand_of(problem, "O", OperandRole::output, bits.output, bits.partial, {{{0, 1}}, {{1, 1}}}));
  problem.operands.push_back(
      operand_of(problem, "I", OperandRole::input, bits.input, bits.input, {{{0, 1}}, {{2, 1}}}));
  problem.operands.push_back(
      operand_of(problem, "W", OperandRole::weight, bits.weight, bits.weight, {{{2, 1}}, {{1, 1}}}));
  check_problem(problem);
  return problem;
}

}  // namespace kasimir
