// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/growth.h"

#include <functional>

/// Kernels that were written, as the steps that growth would have taken: what their functions, costs and neighbours are
/// in a world, and whether growth can draw them at all.
namespace kasimir {

/// The steps of a kernel in a world. `choice` receives the first of World::Options::choices that gives the choice
/// symbols which the kernel uses the kernel's own values. Free symbols become x0, x1, .. in the order of their first
/// use. Rejected by the rule that is broken, with the step's text; and if the kernel is longer, or has more free
/// symbols or other values of g and r, than growth draws.
Outcome<std::vector<GrownStep>> replay(World& world, const Kernel& kernel, int* choice);

/// A kernel that computes the same where no site of the world has a stride: growth knows no steps there that take it,
/// so they are left out, and words by which another step takes it (of a convolution) have their default. The kernel
/// itself where some site has a stride, or if that changes what it computes.
Kernel without_idle_strides(const World& world, const Kernel& kernel);

/// New numbers of x0 .. x5; -1: none.
using Numbering = std::array<int, free_symbol_count>;
/// All at once, so that two symbols may change places. @pre symbols in use have a number
Size renumbered(const Size& size, const Numbering& numbers);

/// The shapes of the tensors with these numbers.
Operands shapes_of(const World& world, std::span<const GrownStep> steps, std::array<std::int16_t, 2> operands);

/// Free symbols x0 .. x(n-1) that the steps use.
int open_symbols(const World& world, std::span<const GrownStep> steps);

/// The offers that World::table() prepares, with x0 .. x(open-1) in use; none where the primitive offers nothing.
std::vector<Offer> offers_of(const World& world, int primitive, Operands operands, int open, bool closing);

/// Every combination of an offer's options, the last parameter fastest, until `visit` returns true; whether it did.
bool any_combination(const Offer& offer, const std::function<bool(const std::vector<Argument>&)>& visit);

/// Whether growth can draw step k of a kernel with its choice: the primitive may be drawn, its operands differ, and
/// - some combination of its offers, of those in free growth or of those that close, is this step; or
/// - some combination with a fresh symbol becomes this step when a later step of two operands, as it stands, offers the
///   substitution that gives the symbol its value. Only one symbol of one step is tried at a time, so that the answer
///   may be no for a step that needs two.
bool offered(World& world, std::span<const GrownStep> steps, std::size_t k, int choice);

}  // namespace kasimir
