// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/primitive.h"
#include "kasimir/kernel/stage.h"

#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// One use of a primitive. Operands are tensor numbers: 0 is the input, i the result of step i - 1.
struct Step {
  const Primitive* primitive;
  std::vector<int> operands;
  std::vector<Argument> arguments;
  bool operator==(const Step&) const = default;
};

/// An operator as a graph of primitives over symbolic sizes: input `[c=Ci, h=s*H, w=s*W]`, output
/// `[c=Co, h=H, w=W]` in any axis order. One kernel fits every site.
struct Kernel {
  std::string name;
  Binding choices;  ///< g, r, k: one value per kernel
  std::vector<Step> steps;
  int output = 0;                              ///< tensor number of the result
  std::vector<std::pair<Site, Binding>> fits;  ///< values of the free symbols at sites, from the budget solver

  /// The free symbols' values at that site; a site without any gives an empty binding.
  [[nodiscard]] Binding fit_at(const Site& site) const;
  /// The free symbols that some argument uses.
  [[nodiscard]] std::vector<Symbol> free_symbols() const;
};

Shape input_shape();   ///< [c=Ci, h=s*H, w=s*W]
Shape output_shape();  ///< [c=Co, h=H, w=W]

/// The shapes of all tensors, the input first, or the rule that failed with the step's text.
Outcome<std::vector<Shape>> infer_shapes(const Kernel& kernel, const SiteSet& sites);

/// The kernel's stages: every step's meaning in order, then, where the axes are in another order, a copy.
/// Rejects what the shape rules, the output's shape or unused steps forbid.
Outcome<Graph> lower(const Kernel& kernel, const SiteSet& sites);

/// The stages as numbers at one site and batch size, with the kernel's own fit for the free symbols.
Outcome<BoundGraph> lower_at(const Kernel& kernel, const Site& site, std::int64_t batch);

/// Puts a value in place of a free symbol in every argument.
void substitute(Kernel& kernel, const Substitution& substitution);
void substitute(std::vector<Argument>& arguments, const Substitution& substitution);

/// Of the choice symbols that occur in the steps, those that have a value.
Binding used_choices(std::span<const Step> steps, const Binding& values);

/// The rule that an operand or a result breaks: one axis of a kind, whole extents at every site.
std::optional<Rejection> check_shape(const Shape& shape, const SiteSet& sites);

// --- text form ------------------------------------------------------------------------------------------------

/// The kernel as text: `kernel NAME`, `given g=4`, one line `a = primitive(x, param=value)` per step, `return a`,
/// and one line `at SITE: x0=24` per fit. Arguments equal to their default are left out.
std::string str(const Kernel& kernel);
/// One step as text, operands named by `tensor_name`.
std::string str(const Step& step);
std::string tensor_name(int tensor);  ///< 0 "x", 1 "a", 2 "b", ..

/// Reads what str() prints; `#` starts a comment. @throws Error (input) with line and column, what was found, what
/// was needed, and near names. `where` names the text in messages (a file's path).
Kernel parse_kernel(std::string_view text, Catalog catalog, std::string_view where = "kernel");

/// As parse_kernel, then checks shapes at the sites. @throws Error (input) that names the step and the rule.
Kernel parse_and_check(std::string_view text, Catalog catalog, const SiteSet& sites, std::string_view where = "kernel");

}  // namespace kasimir
