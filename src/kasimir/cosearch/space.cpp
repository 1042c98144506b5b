// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/space.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

std::size_t place_of_largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

double entropy(const std::vector<double>& p) {
  double sum = 0;
  for (const double value : p)
    if (value > 0) sum -= value * std::log(value);
  return sum;
}

BlockChoice parse_choice(const std::string& word, std::size_t l, const ChoiceSpace& space) {
  const BlockSpace& block = space.blocks[l];
  const std::size_t colon = word.rfind(':');
  const std::string op = word.substr(0, colon);
  const auto bits = colon == std::string::npos ? std::nullopt : parse_integer(word.substr(colon + 1));
  if (!bits) throw input_error("`{}` for block {}, needed: OPERATOR:BITS", word, block.name);
  const auto at = std::find(block.ops.begin(), block.ops.end(), op);
  if (at == block.ops.end())
    throw input_error("no operator `{}` in block {}", op, block.name).note(suggestion(op, block.ops));
  const auto width = std::find(space.bits.begin(), space.bits.end(), *bits);
  if (width == space.bits.end())
    throw input_error("{} bits for block {}, needed: one of {}", *bits, block.name, fmt::join(space.bits, ", "));
  return {static_cast<std::size_t>(at - block.ops.begin()), static_cast<std::size_t>(width - space.bits.begin())};
}

}  // namespace

double ChoiceSpace::log10_size() const {
  double sum = 0;
  for (const BlockSpace& block : blocks) sum += std::log10(static_cast<double>(block.ops.size() * bits.size()));
  return sum;
}

void require_legal(const ChoiceSpace& space) {
  if (space.blocks.empty()) throw input_error("a space of choices without blocks, needed: at least one");
  if (space.bits.empty()) throw input_error("a space of choices without bit widths, needed: at least one");
  for (const BlockSpace& block : space.blocks) {
    if (block.ops.empty()) throw input_error("block {} has no operators, needed: at least one", block.name);
    for (std::size_t o = 0; o < block.ops.size(); ++o) {
      const std::string& op = block.ops[o];
      if (op.empty() || op.find_first_of(" \t\n") != std::string::npos)
        throw input_error("operator `{}` of block {}, needed: a name without white space", op, block.name);
      if (std::find(block.ops.begin(), block.ops.begin() + static_cast<std::ptrdiff_t>(o), op) !=
          block.ops.begin() + static_cast<std::ptrdiff_t>(o))
        throw input_error("block {} has operator `{}` twice", block.name, op);
    }
  }
}

void require_legal(const ChoiceDesign& design, const ChoiceSpace& space) {
  if (design.size() != space.blocks.size())
    throw input_error("a design of {} blocks, needed: {}", design.size(), space.blocks.size());
  for (std::size_t l = 0; l < design.size(); ++l)
    if (design[l].op >= space.blocks[l].ops.size() || design[l].bits >= space.bits.size())
      throw input_error("block {} of the design takes operator {} and bits {}, there are {} and {}",
                        space.blocks[l].name, design[l].op, design[l].bits, space.blocks[l].ops.size(),
                        space.bits.size());
}

std::string str(const ChoiceDesign& design, const ChoiceSpace& space) {
  std::string text;
  for (std::size_t l = 0; l < design.size(); ++l)
    text += fmt::format("{}{}:{}", l == 0 ? "" : " ", space.blocks[l].ops[design[l].op], space.bits[design[l].bits]);
  return text;
}

ChoiceDesign parse_design(std::string_view text, const ChoiceSpace& space) {
  std::vector<std::string> words = split(trim(text), ' ');
  std::erase(words, "");
  if (words.size() != space.blocks.size())
    throw input_error("a design of {} blocks, needed: {}", words.size(), space.blocks.size());
  ChoiceDesign design;
  for (std::size_t l = 0; l < words.size(); ++l) design.push_back(parse_choice(words[l], l, space));
  return design;
}

ChoiceDesign random_design(const ChoiceSpace& space, Rng& rng) {
  ChoiceDesign design;
  for (const BlockSpace& block : space.blocks)
    design.push_back({rng.below(block.ops.size()), rng.below(space.bits.size())});
  return design;
}

std::size_t widest_bits(const ChoiceSpace& space) {
  return static_cast<std::size_t>(std::max_element(space.bits.begin(), space.bits.end()) - space.bits.begin());
}

ChoiceTable choice_table(const ChoiceSpace& space, double value) {
  ChoiceTable table;
  for (const BlockSpace& block : space.blocks)
    table.emplace_back(block.ops.size(), std::vector<double>(space.bits.size(), value));
  return table;
}

double sum_of(const ChoiceTable& table, const ChoiceDesign& design) {
  double sum = 0;
  for (std::size_t l = 0; l < design.size(); ++l) sum += table[l][design[l].op][design[l].bits];
  return sum;
}

ChoiceNumbers choice_numbers(const ChoiceSpace& space, double value) {
  ChoiceNumbers numbers;
  for (const BlockSpace& block : space.blocks) numbers.op.emplace_back(block.ops.size(), value);
  numbers.bits = choice_table(space, value);
  return numbers;
}

ChoiceNumbers zeros_like(const ChoiceNumbers& numbers) {
  ChoiceNumbers zeros = numbers;
  for (auto& row : zeros.op) row.assign(row.size(), 0);
  for (auto& block : zeros.bits)
    for (auto& row : block) row.assign(row.size(), 0);
  return zeros;
}

void add(ChoiceNumbers& sum, const ChoiceNumbers& more, double factor) {
  for (std::size_t l = 0; l < sum.op.size(); ++l)
    for (std::size_t o = 0; o < sum.op[l].size(); ++o) {
      sum.op[l][o] += factor * more.op[l][o];
      for (std::size_t j = 0; j < sum.bits[l][o].size(); ++j) sum.bits[l][o][j] += factor * more.bits[l][o][j];
    }
}

std::vector<double> one_hot(std::size_t size, std::size_t place) {
  std::vector<double> row(size, 0);
  row[place] = 1;
  return row;
}

std::vector<double> softmax(const std::vector<double>& values, double temperature) {
  const double largest = *std::max_element(values.begin(), values.end());
  std::vector<double> p(values.size());
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] = std::exp((values[i] - largest) / temperature);
  for (double& value : p) value /= sum;
  return p;
}

std::vector<double> through_softmax(const std::vector<double>& p, const std::vector<double>& g, double factor) {
  const double mean = std::inner_product(p.begin(), p.end(), g.begin(), 0.0);
  std::vector<double> slopes(p.size());
  for (std::size_t j = 0; j < p.size(); ++j) slopes[j] = factor * p[j] * (g[j] - mean);
  return slopes;
}

ChoiceNumbers probabilities(const ChoiceNumbers& logits) {
  ChoiceNumbers p = logits;
  for (auto& row : p.op) row = softmax(row);
  for (auto& block : p.bits)
    for (auto& row : block) row = softmax(row);
  return p;
}

ChoiceTable log_probabilities(const ChoiceNumbers& p) {
  ChoiceTable table = p.bits;
  for (std::size_t l = 0; l < table.size(); ++l)
    for (std::size_t o = 0; o < table[l].size(); ++o)
      for (double& value : table[l][o]) value = std::log(value) + std::log(p.op[l][o]);
  return table;
}

ChoiceDesign most_likely(const ChoiceNumbers& logits) {
  ChoiceDesign design;
  for (std::size_t l = 0; l < logits.op.size(); ++l) {
    const std::size_t op = place_of_largest(logits.op[l]);
    design.push_back({op, place_of_largest(logits.bits[l][op])});
  }
  return design;
}

double mean_entropy(const ChoiceNumbers& p) {
  double sum = 0;
  for (std::size_t l = 0; l < p.op.size(); ++l) sum += entropy(p.op[l]) + entropy(p.bits[l][place_of_largest(p.op[l])]);
  return sum / static_cast<double>(2 * p.op.size());
}

}  // namespace kasimir
