// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/flat_kernel.h"

#include <algorithm>

namespace kasimir {
namespace {

constexpr std::size_t most = FlatKernel::most_nodes;
using Colours = std::array<std::uint64_t, most>;
using Order = std::array<std::int16_t, most>;

std::uint64_t join(std::uint64_t a, std::uint64_t b) { return mix_bits(a ^ (b * 0x9E3779B97F4A7C15ULL)); }

const Form& form_of(const StepTable& steps, const FlatNode& node) {
  const StepFacts& facts = steps[node.step];
  return node.factorless ? facts.factorless : facts.form;
}

/// What the node does, without its operands and without the names of symbols.
std::uint64_t content(const StepTable& steps, const FlatNode& node) {
  if (node.step == FlatNode::input) return 0x1A9F7ULL;
  const std::uint64_t result = node.out_from < 0 ? 0 : steps[node.out_from].result.hash;
  return join(form_of(steps, node).hash, result + (static_cast<std::uint64_t>(node.free_in) << 8U) + node.free_out);
}

bool commutative(const StepTable& steps, const FlatNode& node) {
  return node.step != FlatNode::input && steps[node.step].is(Trait::commutative);
}

/// The free symbols of a node: of its form, then of its result.
template <typename Use>
void each_symbol(const StepTable& steps, const FlatNode& node, Use use) {
  if (node.step == FlatNode::input) return;
  const Form& form = form_of(steps, node);
  for (std::uint8_t i = 0; i < form.symbol_count; ++i) use(form.symbols[i], i);
  if (node.out_from < 0) return;
  const Form& result = steps[node.out_from].result;
  for (std::uint8_t i = 0; i < result.symbol_count; ++i)
    use(result.symbols[i], static_cast<std::uint8_t>(free_symbol_count + i));
}

/// Colours nodes so that what computes the same has the same colour, and as far as possible nothing else.
class Colouring {
 public:
  Colouring(const StepTable& steps, const FlatKernel& kernel) : steps_(steps), kernel_(kernel) {
    for (int i = 0; i < kernel.count; ++i) own_[static_cast<std::size_t>(i)] = content(steps, kernel[i]);
    upwards();
    if (!distinct()) refine();
  }

  [[nodiscard]] std::uint64_t operator[](int node) const { return colour_[static_cast<std::size_t>(node)]; }

 private:
  void upwards() {
    for (int i = 0; i < kernel_.count; ++i) {
      const FlatNode& node = kernel_[i];
      std::uint64_t colour = own_[static_cast<std::size_t>(i)];
      if (node.operands[1] >= 0) {
        std::uint64_t a = (*this)[node.operands[0]];
        std::uint64_t b = (*this)[node.operands[1]];
        if (commutative(steps_, node) && b < a) std::swap(a, b);
        colour = join(join(colour, a), b);
      } else if (node.operands[0] >= 0) {
        colour = join(colour, (*this)[node.operands[0]]);
      }
      colour_[static_cast<std::size_t>(i)] = colour;
    }
  }

  [[nodiscard]] bool distinct() const {
    for (std::size_t i = 1; i < static_cast<std::size_t>(kernel_.count); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (colour_[i] == colour_[j]) return false;
    return true;
  }

  /// Twins with weights of their own, or steps that differ in the name of a symbol only: told apart by who reads them
  /// and by where else their symbols are used.
  void refine() {
    constexpr int rounds = 3;
    for (int round = 0; round < rounds; ++round) {
      std::array<std::uint64_t, free_symbol_count> symbols{};
      for (int i = 0; i < kernel_.count; ++i)
        each_symbol(steps_, kernel_[i],
                    [&](std::uint8_t symbol, std::uint8_t slot) { symbols[symbol] += join((*this)[i], slot); });
      Colours readers{};
      readers[static_cast<std::size_t>(kernel_.output)] = 1;
      for (int i = kernel_.count; i-- > 0;) {
        const std::uint64_t down = join((*this)[i], readers[static_cast<std::size_t>(i)]);
        for (std::size_t slot = 0; slot < 2; ++slot) {
          const std::int16_t operand = kernel_[i].operands[slot];
          if (operand < 0) continue;
          readers[static_cast<std::size_t>(operand)] += join(down, commutative(steps_, kernel_[i]) ? 2 : slot);
        }
      }
      for (int i = 0; i < kernel_.count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        own_[at] = join(join(own_[at], colour_[at]), readers[at]);
        each_symbol(steps_, kernel_[i],
                    [&](std::uint8_t symbol, std::uint8_t slot) { own_[at] = join(own_[at], symbols[symbol] + slot); });
      }
      upwards();
    }
  }

  const StepTable& steps_;
  const FlatKernel& kernel_;
  Colours own_;     // not cleared: the first `count` are written before they are read
  Colours colour_;  // the same
};

/// Operands before their readers, depth first from the output; the operands of a commutative step by colour.
int visit(const StepTable& steps, const FlatKernel& kernel, const Colouring& colour, Order& order) {
  std::uint64_t seen = 0;
  int count = 0;
  std::array<std::int16_t, 2 * most> stack;
  std::size_t depth = 0;
  stack[depth++] = static_cast<std::int16_t>(kernel.output);
  const auto bit = [](int node) { return std::uint64_t{1} << static_cast<unsigned>(node); };
  while (depth > 0) {
    const std::int16_t top = stack[depth - 1];
    const FlatNode& node = kernel[top];
    auto [first, second] = node.operands;
    if (second >= 0 && commutative(steps, node) && colour[second] < colour[first]) std::swap(first, second);
    if ((seen & bit(top)) != 0) {
      --depth;
    } else if (first >= 0 && (seen & bit(first)) == 0) {
      stack[depth++] = first;
    } else if (second >= 0 && (seen & bit(second)) == 0) {
      stack[depth++] = second;
    } else {
      seen |= bit(top);
      order[static_cast<std::size_t>(count++)] = top;
      --depth;
    }
  }
  return count;
}

/// Drops nodes that the output does not need; the others keep their order.
void drop_unneeded(FlatKernel& kernel) {
  std::uint64_t needed = std::uint64_t{1} << static_cast<unsigned>(kernel.output);
  for (int i = kernel.output; i >= 0; --i) {
    if (((needed >> static_cast<unsigned>(i)) & 1U) == 0) continue;
    for (const std::int16_t operand : kernel[i].operands)
      if (operand >= 0) needed |= std::uint64_t{1} << static_cast<unsigned>(operand);
  }
  std::array<std::int16_t, most> number;
  int kept = 0;
  for (int i = 0; i <= kernel.output; ++i) {
    if (((needed >> static_cast<unsigned>(i)) & 1U) == 0) continue;
    FlatNode node = kernel[i];
    for (std::int16_t& operand : node.operands)
      if (operand >= 0) operand = number[static_cast<std::size_t>(operand)];
    number[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(kept);
    kernel[kept++] = node;
  }
  kernel.count = kept;
  kernel.output = kept - 1;
}

}  // namespace

std::string Identity::str() const { return fmt::format("{:016x}{:016x}", high, low); }

int FlatKernel::add_input() {
  KASIMIR_CHECK(count < most_nodes, "{} nodes", count);
  nodes[static_cast<std::size_t>(count)] = {FlatNode::input, {-1, -1}, -1, 0, 0, false, -1, -1};
  return count++;
}

int FlatKernel::add(const StepTable& steps, StepId step, std::array<std::int16_t, 2> operands, std::int16_t source) {
  KASIMIR_CHECK(count < most_nodes, "{} nodes", count);
  const StepFacts& facts = steps[step];
  const StepId dense = facts.is(Trait::dense) ? step : -1;
  nodes[static_cast<std::size_t>(count)] = {step, operands, source, facts.free_in, facts.free_out, false, dense, dense};
  return count++;
}

void sort_nodes(const StepTable& steps, FlatKernel& kernel) {
  drop_unneeded(kernel);
  const Colouring colour(steps, kernel);
  Order order;
  const int count = visit(steps, kernel, colour, order);
  std::array<std::int16_t, most> number;
  std::array<FlatNode, most> sorted;
  for (int i = 0; i < count; ++i) {
    const std::int16_t from = order[static_cast<std::size_t>(i)];
    number[static_cast<std::size_t>(from)] = static_cast<std::int16_t>(i);
    FlatNode node = kernel[from];
    for (std::int16_t& operand : node.operands)
      if (operand >= 0) operand = number[static_cast<std::size_t>(operand)];
    if (commutative(steps, node) && node.operands[1] < node.operands[0]) std::swap(node.operands[0], node.operands[1]);
    sorted[static_cast<std::size_t>(i)] = node;
  }
  std::copy_n(sorted.begin(), count, kernel.nodes.begin());
  kernel.count = count;
  kernel.output = count - 1;
}

Identity hash_nodes(const StepTable& steps, const FlatKernel& kernel) {
  Identity id{0x243F6A8885A308D3ULL, 0x13198A2E03707344ULL};  // digits of pi: two hashes that start apart stay apart
  const auto add = [&](std::uint64_t value) {
    id.high = mix_bits(id.high ^ value);
    id.low = mix_bits(id.low + value);
  };
  std::array<int, free_symbol_count> number;
  number.fill(-1);
  int symbols = 0;
  for (int i = 0; i < kernel.count; ++i) {
    const FlatNode& node = kernel[i];
    add(content(steps, node));
    // Both operands and the symbols fit into one word: six bits each.
    auto links =
        static_cast<std::uint64_t>(node.operands[0] + 1) + (static_cast<std::uint64_t>(node.operands[1] + 1) << 6U);
    unsigned shift = 12;
    each_symbol(steps, node, [&](std::uint8_t symbol, std::uint8_t) {
      if (number[symbol] < 0) number[symbol] = ++symbols;
      links += static_cast<std::uint64_t>(number[symbol]) << shift;
      shift += 3;
    });
    add(links);
  }
  return id;
}

}  // namespace kasimir
