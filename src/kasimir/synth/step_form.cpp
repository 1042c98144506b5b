// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/step_form.h"

#include "kasimir/base/rng.h"

#include <algorithm>
#include <bit>

namespace kasimir {
namespace {

/// The positions of a tensor's or a left side's axes by kind.
template <typename Axes>
std::vector<std::size_t> by_kind(const Axes& axes) {
  std::vector<std::size_t> order(axes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return axes[i].kind; });
  return order;
}

bool bound_at(const SiteSet& sites, Symbol symbol) {
  return symbol != Symbol::N && !sites.bindings().empty() && sites.bindings().front().has(symbol);
}

std::uint64_t signed_word(std::int64_t value) { return static_cast<std::uint64_t>(value); }

}  // namespace

std::vector<IterPlace> iter_places(const Stage& stage) {
  std::vector<IterPlace> places(stage.iters.size());
  for (std::size_t a = 0; a < stage.left.size(); ++a)
    for (int digit : stage.left[a].digits)
      places[static_cast<std::size_t>(digit)] = {static_cast<int>(a), stage.left[a].digits.size() == 1};
  return places;
}

int plain_iter(const Coord& coord, const SiteSet& sites) {
  if (coord.terms.size() != 1 || !coord.offset.is_zero() || coord.wrap) return -1;
  return sites.equal(coord.terms[0].second, Size(1)) ? coord.terms[0].first : -1;
}

void FormBuilder::word(std::uint64_t value) { form_.hash = mix_bits(form_.hash ^ value); }

std::uint64_t FormBuilder::slot(int free_symbol) {
  const auto end = form_.symbols.begin() + form_.symbol_count;
  const auto found = std::find(form_.symbols.begin(), end, static_cast<std::uint8_t>(free_symbol));
  if (found == end) form_.symbols[form_.symbol_count++] = static_cast<std::uint8_t>(free_symbol);
  return static_cast<std::uint64_t>(found - form_.symbols.begin());
}

void FormBuilder::size(const Size& value) {
  Size known = value;
  std::vector<std::pair<int, int>> free;  // power, symbol
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    const int power = value.power(symbol);
    if (power == 0 || bound_at(*sites_, symbol)) continue;
    known /= Size(symbol, power);
    if (is_free(symbol)) {
      free.emplace_back(power, i - static_cast<int>(Symbol::x0));
    } else {
      word(0x5E00U + static_cast<std::uint64_t>(i));
      word(signed_word(power));
    }
  }
  if (sites_->bindings().empty()) {
    word(signed_word(known.coefficient().num()));
    word(signed_word(known.coefficient().den()));
  }
  for (const Binding& binding : sites_->bindings()) {
    const Rational at = known.at(binding);
    word(signed_word(at.num()));
    word(signed_word(at.den()));
  }
  // Symbols that were met before come first, so that the order does not follow from their names.
  std::ranges::sort(free, {}, [&](const auto& one) {
    const auto end = form_.symbols.begin() + form_.symbol_count;
    const auto place = std::find(form_.symbols.begin(), end, static_cast<std::uint8_t>(one.second));
    return std::pair(place - form_.symbols.begin(), one.first);
  });
  for (const auto& [power, symbol] : free) {
    word(0xF4EEU + slot(symbol));
    word(signed_word(power));
  }
}

void FormBuilder::offset(const SizeSum& sum) {
  word(sum.terms().size());
  for (const Size& term : sum.terms()) size(term);
}

std::uint64_t FormBuilder::number(const Stage& stage, int iter) {
  int& number = numbers_[static_cast<std::size_t>(iter)];
  if (number < 0) {
    number = next_number_++;
    word(static_cast<std::uint64_t>(stage.iters[static_cast<std::size_t>(iter)].kind == AxisKind::batch));
    size(stage.iters[static_cast<std::size_t>(iter)].extent);
  }
  return static_cast<std::uint64_t>(number);
}

void FormBuilder::coordinate(const Stage& stage, const Coord& coord) {
  std::vector<std::pair<std::uint64_t, const Size*>> terms;
  for (const auto& [iter, factor] : coord.terms) terms.emplace_back(number(stage, iter), &factor);
  std::ranges::sort(terms, {}, &std::pair<std::uint64_t, const Size*>::first);
  word(terms.size());
  for (const auto& [iter, factor] : terms) {
    word(iter);
    size(*factor);
  }
  offset(coord.offset);
  word(coord.wrap ? 1 : 0);
  if (coord.wrap) size(*coord.wrap);
}

void FormBuilder::read(const Graph& graph, const Stage& stage, const BasicRead<Symbolic>& read) {
  const Tensor& tensor = graph.tensors[static_cast<std::size_t>(read.tensor)];
  const auto hides = [&](const Coord& coord) {
    return coord.terms.size() == 1 && hidden_[static_cast<std::size_t>(coord.terms[0].first)];
  };
  if (tensor.role == Role::weight) {
    // The order of a weight's axes is only its layout.
    word(static_cast<std::uint64_t>(tensor.weight_role));
    std::vector<std::uint64_t> numbers;
    for (const Coord& coord : read.at)
      if (!hides(coord)) numbers.push_back(number(stage, coord.terms.at(0).first));
    std::ranges::sort(numbers);
    for (std::uint64_t n : numbers) word(n);
    return;
  }
  for (std::size_t i : by_kind(tensor.axes)) {
    if (hides(read.at[i])) continue;
    word(0xA00U + static_cast<std::uint64_t>(tensor.axes[i].kind));
    coordinate(stage, read.at[i]);
  }
}

void FormBuilder::left(const Stage& stage) {
  for (std::size_t i : by_kind(stage.left)) {
    const LeftAxis& axis = stage.left[i];
    if (axis.digits.size() == 1 && hidden_[static_cast<std::size_t>(axis.digits[0])]) continue;
    word(0x1E00U + static_cast<std::uint64_t>(axis.kind));
    word(axis.digits.size());
    for (int digit : axis.digits) word(number(stage, digit));
  }
}

void FormBuilder::stage(const Graph& graph, const Stage& stage, const std::vector<bool>& hidden,
                        const std::vector<std::uint64_t>& tensor_word, bool with_factor) {
  hidden_ = hidden;
  numbers_.assign(stage.iters.size(), -1);
  next_number_ = 0;
  word(static_cast<std::uint64_t>(stage.reduce) * 8 + (stage.root ? 4 : 0) + (stage.stabiliser ? 2 : 0) +
       (stage.stat ? 1 : 0));
  if (stage.stat) {
    word(std::bit_cast<std::uint64_t>(stage.stat->momentum));
    word(std::bit_cast<std::uint64_t>(stage.stat->start));
  }
  left(stage);
  for (const auto& node : stage.nodes) {
    word(0x90DEU + node.index());
    if (const auto* constant = std::get_if<Constant>(&node)) {
      word(signed_word(constant->value.num()));
      word(signed_word(constant->value.den()));
      word(constant->half_pi ? 1 : 0);
    } else if (const auto* apply = std::get_if<Apply>(&node)) {
      word(static_cast<std::uint64_t>(apply->fn));
      word(signed_word(apply->a));
      word(signed_word(apply->b));
    } else {
      const auto& from = std::get<BasicRead<Symbolic>>(node);
      word(tensor_word[static_cast<std::size_t>(from.tensor)]);
      read(graph, stage, from);
    }
  }
  // What is reduced without being read still counts.
  for (int iter : stage.reduced)
    if (!hidden_[static_cast<std::size_t>(iter)]) number(stage, iter);
  if (!with_factor || sites_->equal(stage.factor, Size(1))) return;
  word(0xFAC7U);
  size(stage.factor);
}

}  // namespace kasimir
