// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/kernel/axis.h"
#include "kasimir/kernel/legality.h"

#include <array>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace kasimir {

class StageBuilder;
class Proposer;
struct Primitive;

enum class Family : std::uint8_t { rearranging, arithmetic, blending };
std::string_view family_name(Family family);

/// One or two whole numbers, as `3` or `(3,1)`.
struct Numbers {
  std::array<std::int16_t, 2> value{};
  std::uint8_t count = 1;
  bool operator==(const Numbers&) const = default;
};
/// One of the words that the parameter allows, by index.
struct Word {
  std::uint8_t index = 0;
  bool operator==(const Word&) const = default;
};
/// Axes with their extents, as `(c=Co,u=3)`.
using Argument = std::variant<Numbers, Size, AxisSet, Word, Shape>;

/// Visits each size that an argument holds: itself, or the extents of a list of axes. For arguments that may be changed
/// and for constant ones.
template <typename AnyArgument, typename Visit>
void for_each_size(AnyArgument& argument, Visit visit) {
  if (auto* size = std::get_if<Size>(&argument)) {
    visit(*size);
  } else if (auto* shape = std::get_if<Shape>(&argument)) {
    for (auto& axis : *shape) visit(axis.extent);
  }
}

enum class ParamKind : std::uint8_t { numbers, size, axes, word, shape };

struct Param {
  std::string_view name;
  ParamKind kind;
  std::string_view brief;
  std::string_view fallback = "";  ///< text of the value that is meant when it is left out; empty: required
  std::span<const std::string_view> words = {};
  bool shapes = true;  ///< false: the result's shape, and whether there is one, does not depend on it
};

/// One application of a primitive, as its record's functions see it. Refers to what it is made of: a search makes
/// millions of them.
class Call {
 public:
  /// The second operand is nullptr where there is none. @pre everything lives as long as the call.
  Call(const Primitive& primitive, std::array<const Shape*, 2> operands, const std::vector<Argument>& arguments,
       const SiteSet& sites)
      : primitive_(&primitive), operands_(operands), arguments_(&arguments), sites_(&sites) {}
  /// Of one or two operands.
  Call(const Primitive& primitive, const std::vector<Shape>& operands, const std::vector<Argument>& arguments,
       const SiteSet& sites)
      : Call(primitive, std::array{&operands[0], operands.size() > 1 ? &operands[1] : nullptr}, arguments, sites) {}

  [[nodiscard]] const Shape& shape(int operand = 0) const { return *operands_[static_cast<std::size_t>(operand)]; }
  [[nodiscard]] const SiteSet& sites() const { return *sites_; }
  [[nodiscard]] const Primitive& primitive() const { return *primitive_; }
  [[nodiscard]] const std::vector<Argument>& arguments() const { return *arguments_; }

  [[nodiscard]] const Size& size(int param) const { return std::get<Size>(argument(param)); }
  [[nodiscard]] const Numbers& numbers(int param) const { return std::get<Numbers>(argument(param)); }
  [[nodiscard]] AxisSet axes(int param) const { return std::get<AxisSet>(argument(param)); }
  [[nodiscard]] int word(int param) const { return std::get<Word>(argument(param)).index; }
  [[nodiscard]] const Shape& axis_list(int param) const { return std::get<Shape>(argument(param)); }

 private:
  [[nodiscard]] const Argument& argument(int param) const {
    return (*arguments_)[static_cast<std::size_t>(param)];
  }
  const Primitive* primitive_;
  std::array<const Shape*, 2> operands_;
  const std::vector<Argument>* arguments_;
  const SiteSet* sites_;
};

/// `symbol` takes this value in the whole kernel: how shape matching makes two sizes equal.
struct Substitution {
  Symbol symbol;
  Size value;
  bool operator==(const Substitution&) const = default;
};

/// One value that an argument may take, and how often relative to the others.
struct Option {
  Argument value;
  double weight = 1.0;
};

/// Arguments that are likely to be legal for given operands: every argument is drawn from its options alone, so that
/// all of them can be counted and listed. A primitive whose parameters depend on each other makes several offers.
struct Offer {
  double weight = 1.0;
  std::vector<std::vector<Option>> options;  ///< per parameter
  std::vector<Substitution> substitutions;   ///< which make the operands fit together
};

/// One fine-grained step. A record in a catalog: nothing outside its own file knows a primitive.
struct Primitive {
  std::string_view name;
  Family family;
  std::string_view brief;   ///< one line, for help and reports
  std::string_view source;  ///< where the literature has it
  int operands = 1;
  std::span<const Param> params = {};
  double weight = 1.0;          ///< how often a sampler tries it, relative to the others
  double closing_weight = 0.0;  ///< the same when the result must come nearer to the output's shape
  bool weighted = false;        ///< has learned weights

  /// Shape of the result, or which rule failed.
  Outcome<Shape> (*shape)(const Call& call);
  /// The meaning: emits the stages; the last one defines the result, with the axes of shape().
  void (*stages)(const Call& call, StageBuilder& build);
  /// What a sampler may draw the arguments from, at least one offer, or why there is none.
  Outcome<std::vector<Offer>> (*offers)(const Proposer& proposer);
};

/// The catalog is handed down as data; names are unique.
using Catalog = std::span<const Primitive* const>;

/// The record of that name, or nullptr.
const Primitive* find_primitive(Catalog catalog, std::string_view name);
std::vector<std::string> primitive_names(Catalog catalog);

/// What a sampler tells a primitive that makes its offers.
class Proposer {
 public:
  Proposer(std::vector<const Shape*> operands, const SiteSet& at_sites)
      : sites(at_sites), operands_(std::move(operands)) {}

  [[nodiscard]] const Shape& shape(int operand = 0) const { return *operands_[static_cast<std::size_t>(operand)]; }

  const SiteSet& sites;
  std::vector<Symbol> open_symbols;    ///< free symbols in use, without a value yet
  std::optional<Symbol> fresh_symbol;  ///< the next unused one, if the kernel may have another
  bool weights_may_depend_on_resolution = false;
  bool closing = false;  ///< the result should come nearer to the output's shape

  /// Channel counts for a result: Co, Co/r, a free symbol; Co alone when closing.
  [[nodiscard]] std::vector<Option> widths() const;
  /// Symbolic factors of `extent` to group by: g, r, the whole extent; none if none fits.
  [[nodiscard]] std::vector<Option> factors(const Size& extent) const;
  /// The offers depend on which free symbols are in use.
  [[nodiscard]] bool asked_for_widths() const { return asked_for_widths_; }

 private:
  std::vector<const Shape*> operands_;
  mutable bool asked_for_widths_ = false;
};

/// What was drawn from offers.
struct Draw {
  std::vector<Argument> arguments;
  std::vector<Substitution> substitutions;
};

/// One of the offers by weight, and in it every argument by weight.
Draw draw(std::span<const Offer> offers, Rng& rng);

}  // namespace kasimir
