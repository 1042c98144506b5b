// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/legality.h"
#include "kasimir/kernel/stage.h"

#include <array>

namespace kasimir {

/// A set of axis kinds as bits, for sums and differences of sets.
using AxisMask = std::uint8_t;
constexpr AxisMask axis_bit(AxisKind kind) { return static_cast<AxisMask>(1U << static_cast<unsigned>(kind)); }

/// A hash that does not depend on the names of free symbols, and the symbols in the order in which it met them.
struct Form {
  std::uint64_t hash = 0;
  std::array<std::uint8_t, free_symbol_count> symbols{};  ///< numbers of free symbols: x2 is 2
  std::uint8_t symbol_count = 0;
  bool operator==(const Form&) const = default;
};

/// Where the iterator stands on the left side.
struct IterPlace {
  int axis = -1;      ///< in Stage::left; -1: it is reduced
  bool sole = false;  ///< it is the axis's only digit
};
std::vector<IterPlace> iter_places(const Stage& stage);

/// The iterator that the coordinate is at every site, or -1: no factor, no offset, no wrap, no second term.
int plain_iter(const Coord& coord, const SiteSet& sites);

/// Collects what a step does into a form. Sizes count by their values at the sites, so that Ci and Co are the same
/// where they are equal everywhere; without sites they count by their symbols.
class FormBuilder {
 public:
  explicit FormBuilder(const SiteSet& sites) : sites_(&sites) {}

  void word(std::uint64_t value);
  void size(const Size& value);
  /// The equation of one stage. Axes of equal kind stand for each other whatever their order in a tensor. Iterators in
  /// `hidden` are left out with the axes that they pass on. `tensor_word` names what is read.
  void stage(const Graph& graph, const Stage& stage, const std::vector<bool>& hidden,
             const std::vector<std::uint64_t>& tensor_word, bool with_factor);
  [[nodiscard]] const Form& form() const { return form_; }

 private:
  void left(const Stage& stage);
  void read(const Graph& graph, const Stage& stage, const BasicRead<Symbolic>& read);
  void coordinate(const Stage& stage, const Coord& coord);
  void offset(const SizeSum& sum);
  std::uint64_t number(const Stage& stage, int iter);
  std::uint64_t slot(int free_symbol);

  const SiteSet* sites_;
  Form form_;
  std::vector<bool> hidden_;
  std::vector<int> numbers_;  ///< of iterators, in the order of their first appearance; -1: none yet
  int next_number_ = 0;
};

}  // namespace kasimir
