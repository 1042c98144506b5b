// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/labels.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What is asked of the labels of kernels: "global=no,idle=no,levels=2..6".
namespace kasimir {

enum class LabelName : std::uint8_t {
  mixing,          ///< every output sees every input channel
  rows,            ///< some output sees other rows
  columns,         ///< some output sees other columns
  neighbourhood,   ///< some output sees another position
  global,          ///< some output sees the whole image, however large
  blind,           ///< some output does not depend on the input
  zero,            ///< the output is zero whatever the input is
  linear,          ///< linear in the input
  data_weights,    ///< some weights are computed from the input
  equivariant,     ///< a shifted input gives the shifted output, apart from borders
  any_resolution,  ///< no weight depends on height or width
  idle,            ///< some step may be left out
  levels,          ///< number: non-linear levels
  reach,           ///< number: rows or columns that an output sees from its own, Labels::far at most
  peak,            ///< number: most elements of activations at one time, at the site that needs most
  intensity        ///< number: multiply-accumulates per element, at the site that has least
};
inline constexpr int label_name_count = static_cast<int>(LabelName::intensity) + 1;

std::string_view name_of(LabelName label);
/// 1 or 0 of what is true or false. @pre not peak or intensity, which depend on sites
double value_of(LabelName label, const Labels& labels);

/// A label within low..high; of what is true or false, 1..1 asks for it and 0..0 forbids it.
struct LabelRule {
  LabelName label;
  double low;
  double high;
  bool operator==(const LabelRule&) const = default;
};

/// Reads "name=yes,name=no,name=LOW..HIGH"; of a range one end may be left out. An empty text has no rules.
/// @throws Error (input) that names the part, with near names.
std::vector<LabelRule> parse_label_rules(std::string_view text);

/// Names with what they mean, for help.
std::string label_rules_help();

/// Whether a rule forbids the label.
bool forbids(std::span<const LabelRule> rules, LabelName label);

/// The labels that the rules need.
LabelCosts costs_of(std::span<const LabelRule> rules);

/// The first rule that the kernel breaks at the sites. @pre the kernel has a fit for each site; `labels` has what
/// costs_of(rules) asks for.
std::optional<Rejection> broken_rule(std::span<const LabelRule> rules, const Kernel& kernel, const Labels& labels,
                                     std::span<const Site> sites);

}  // namespace kasimir
