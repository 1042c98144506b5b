// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/label_rules.h"

#include "kasimir/base/text.h"
#include "kasimir/synth/footprint.h"

#include <algorithm>
#include <array>
#include <limits>

namespace kasimir {
namespace {

struct LabelWords {
  std::string_view name;
  std::string_view holds;   ///< rule if it is wanted; of a number: what it counts
  std::string_view absent;  ///< rule if it is not wanted; empty: a number
};

constexpr std::array<LabelWords, label_name_count> words{{
    {"mixing", "every output sees every input channel", "some output does not see every input channel"},
    {"rows", "some output sees other rows", "no output sees other rows"},
    {"columns", "some output sees other columns", "no output sees other columns"},
    {"neighbourhood", "some output sees another position", "no output sees another position"},
    {"global", "some output sees the whole image", "no output sees the whole image"},
    {"blind", "some output does not depend on the input", "every output depends on the input"},
    {"zero", "the output is always zero", "the output is not always zero"},
    {"linear", "the kernel is linear in its input",  // names a primitive: a label
     "the kernel is not linear in its input"},
    {"data_weights", "some weights are computed from the input", "no weights are computed from the input"},
    {"equivariant", "a shifted input gives the shifted output", "a shifted input does not give the shifted output"},
    {"any_resolution", "no weight depends on height or width", "some weight depends on height or width"},
    {"idle", "some step may be left out", "no step may be left out"},
    {"levels", "non-linear levels", ""},
    {"reach", "rows or columns that an output sees from its own", ""},
    {"peak", "most elements of activations at one time", ""},
    {"intensity", "multiply-accumulates per element", ""},
}};

const LabelWords& words_of(LabelName label) { return words[static_cast<std::size_t>(label)]; }
bool is_number(LabelName label) { return words_of(label).absent.empty(); }

LabelName label_named(std::string_view name, std::string_view part) {
  const auto found = std::ranges::find(words, name, &LabelWords::name);
  if (found != words.end()) return static_cast<LabelName>(found - words.begin());
  std::vector<std::string> names;
  for (const LabelWords& label : words) names.emplace_back(label.name);
  throw input_error("unknown label `{}` in `{}`, {}", name, part, suggestion(name, names));
}

LabelRule parse_range_rule(LabelName label, std::string_view value, std::string_view part) {
  const auto wrong = [&] {
    return input_error("`{}` is no range; write {}=2..6, {}=2.. or {}=..6", part, words_of(label).name,
                       words_of(label).name, words_of(label).name);
  };
  const auto dots = value.find("..");
  const std::string_view low = value.substr(0, dots);
  const std::string_view high = dots == std::string_view::npos ? low : value.substr(dots + 2);
  LabelRule rule{label, 0.0, std::numeric_limits<double>::infinity()};
  const auto read = [&](std::string_view number, double& to) {
    if (number.empty()) return;
    const auto parsed = parse_number(number);
    if (!parsed || *parsed < 0.0) throw wrong();
    to = *parsed;
  };
  read(low, rule.low);
  read(high, rule.high);
  if ((low.empty() && high.empty()) || rule.low > rule.high) throw wrong();
  return rule;
}

/// At the site where it is worst.
double value_at(LabelName label, const Kernel& kernel, std::span<const Site> sites) {
  double worst = label == LabelName::peak ? 0.0 : std::numeric_limits<double>::infinity();
  for (const Site& site : sites) {
    const Footprint found = footprint(kernel, site).value();
    worst =
        label == LabelName::peak ? std::max(worst, static_cast<double>(found.peak)) : std::min(worst, found.intensity);
  }
  return worst;
}

}  // namespace

std::string_view name_of(LabelName label) { return words_of(label).name; }

double value_of(LabelName label, const Labels& labels) {
  const View& view = labels.view;
  switch (label) {
    case LabelName::mixing:
      return view.mixes_channels ? 1.0 : 0.0;
    case LabelName::rows:
      return view.sees_height ? 1.0 : 0.0;
    case LabelName::columns:
      return view.sees_width ? 1.0 : 0.0;
    case LabelName::neighbourhood:
      return view.sees_neighbourhood ? 1.0 : 0.0;
    case LabelName::global:
      return view.is_global ? 1.0 : 0.0;
    case LabelName::blind:
      return view.is_blind ? 1.0 : 0.0;
    case LabelName::zero:
      return labels.is_zero ? 1.0 : 0.0;
    case LabelName::linear:
      return labels.is_linear ? 1.0 : 0.0;
    case LabelName::data_weights:
      return labels.has_data_weights ? 1.0 : 0.0;
    case LabelName::equivariant:
      return labels.is_equivariant ? 1.0 : 0.0;
    case LabelName::any_resolution:
      return labels.is_independent_of_resolution ? 1.0 : 0.0;
    case LabelName::idle:
      return labels.idle_step.has_value() ? 1.0 : 0.0;
    case LabelName::levels:
      return labels.nonlinear_levels;
    case LabelName::reach:
      return std::max(labels.reach_rows, labels.reach_columns);
    case LabelName::peak:
    case LabelName::intensity:
      break;
  }
  KASIMIR_CHECK(false, "label {} is not of a kernel alone", words_of(label).name);
  return 0.0;
}

std::vector<LabelRule> parse_label_rules(std::string_view text) {
  std::vector<LabelRule> rules;
  if (trim(text).empty()) return rules;
  for (const std::string& piece : split(text, ',')) {
    const std::string_view part = trim(piece);
    const auto equals = part.find('=');
    const LabelName label = label_named(trim(part.substr(0, equals)), part);
    const std::string_view value = equals == std::string_view::npos ? "" : trim(part.substr(equals + 1));
    if (std::ranges::find(rules, label, &LabelRule::label) != rules.end())
      throw input_error("label `{}` is asked for twice in `{}`", words_of(label).name, text);
    if (is_number(label)) {
      rules.push_back(parse_range_rule(label, value, part));
    } else if (value == "yes" || value == "no") {
      rules.push_back({label, value == "yes" ? 1.0 : 0.0, value == "yes" ? 1.0 : 0.0});
    } else {
      throw input_error("`{}` is neither yes nor no; write {}=yes or {}=no", part, words_of(label).name,
                        words_of(label).name);
    }
  }
  return rules;
}

std::string label_rules_help() {
  std::vector<std::string> flags;
  std::vector<std::string> numbers;
  for (const LabelWords& label : words) (label.absent.empty() ? numbers : flags).emplace_back(label.name);
  return fmt::format("what kernels must be, as NAME=yes or NAME=no of {}; and NAME=LOW..HIGH of {}", join(flags, ", "),
                     join(numbers, ", "));
}

bool forbids(std::span<const LabelRule> rules, LabelName label) {
  return std::ranges::any_of(rules, [&](const LabelRule& rule) { return rule.label == label && rule.high == 0.0; });
}

LabelCosts costs_of(std::span<const LabelRule> rules) {
  LabelCosts costs{false, false};
  for (const LabelRule& rule : rules) {
    costs.reach = costs.reach || rule.label == LabelName::reach || rule.label == LabelName::global;
    costs.translation = costs.translation || rule.label == LabelName::equivariant;
  }
  return costs;
}

std::optional<Rejection> broken_rule(std::span<const LabelRule> rules, const Kernel& kernel, const Labels& labels,
                                     std::span<const Site> sites) {
  for (const LabelRule& rule : rules) {
    const LabelWords& text = words_of(rule.label);
    const bool at_sites = rule.label == LabelName::peak || rule.label == LabelName::intensity;
    const double value = at_sites ? value_at(rule.label, kernel, sites) : value_of(rule.label, labels);
    if (value >= rule.low && value <= rule.high) continue;
    if (is_number(rule.label))
      return Rejection{fmt::format("screen: {} are as many as wanted", text.holds),
                       fmt::format("{}={:.4g}", text.name, value)};
    std::string with;
    if (rule.label == LabelName::idle && labels.idle_step) {
      const int step = *labels.idle_step;
      with = fmt::format("`{} = {}`", tensor_name(step + 1), str(kernel.steps[static_cast<std::size_t>(step)]));
    }
    return Rejection{fmt::format("screen: {}", rule.high == 0.0 ? text.absent : text.holds), with};
  }
  return std::nullopt;
}

}  // namespace kasimir
