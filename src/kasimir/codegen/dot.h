// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"

#include <string>

namespace kasimir {

/// The kernel as a Graphviz graph: a node per step, named as in the kernel's text, with its parameters; edges labelled
/// with the symbolic shape of what flows, and with the operand's number where a step has several. Families differ in
/// colour (Okabe and Ito's palette) and outline; learned weights have a thick border.
/// @throws Error (input) if the kernel has no shapes at these sites, with the rule and the step.
std::string to_dot(const Kernel& kernel, const SiteSet& sites);

/// The fill colour that to_dot gives to a family, as #RRGGBB.
std::string_view family_colour(Family family);

/// The graph drawn by Graphviz's program as one `<svg>` element, to be put into a page or a file as it is: without
/// prolog, comments and ids, so that several of them fit on one page.
/// @throws Error (system) if the program cannot be run; Error (input) if it refuses the text, with what it said.
std::string to_svg(const std::string& dot_text, const std::string& program = "dot");

}  // namespace kasimir
