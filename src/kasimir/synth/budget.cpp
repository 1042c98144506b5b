// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/budget.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace kasimir {

SiteLoad conv_load(const Site& site, std::int64_t count) {
  const auto params = static_cast<double>(9 * site.ci * site.co);
  return {site, count, params * static_cast<double>(site.h * site.w), params};
}
namespace {

constexpr std::array<std::string_view, cost_kinds> names{"macs", "params", "bytes"};

/// Limits on the whole network, which no sampler can hold to.
constexpr std::array<std::pair<std::string_view, Limit Budget::*>, 2> whole{
    {{"latency", &Budget::latency}, {"accelerator", &Budget::accelerator}}};

constexpr std::string_view form =
    "a budget reads macs=LOW..HIGH,params=LOW..HIGH,bytes=LOW..HIGH: fractions of what is replaced such as "
    "macs=0.1..0.5, or absolute numbers such as params=..200k; and latency=LOW..HIGH or "
    "accelerator=LOW..HIGH, fractions of the network's";

struct Bound {
  double value;
  bool relative;
};

Bound bound_of(std::string_view text, std::string_view part) {
  double unit = 1.0;
  bool relative = true;
  if (!text.empty()) {
    const char last = text.back();
    unit = last == 'k' ? 1e3 : last == 'M' ? 1e6 : last == 'G' ? 1e9 : 1.0;
    if (unit > 1.0) {
      relative = false;
      text.remove_suffix(1);
    }
  }
  const auto number = parse_number(text);
  if (!number || *number < 0 || !std::isfinite(*number))
    throw input_error("the budget `{}` has no number where `{}` stands", part, text).note(std::string(form));
  return {*number * unit, relative};
}

Limit limit_of(std::string_view text, std::string_view part) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) throw input_error("the budget `{}` has no range", part).note(std::string(form));
  Limit limit;
  std::optional<bool> relative;
  const auto side = [&](std::string_view bound, double& to) {
    bound = trim(bound);
    if (bound.empty()) return;
    const auto [value, is_relative] = bound_of(bound, part);
    if (relative && *relative != is_relative)
      throw input_error("the budget `{}` mixes a fraction with an absolute number", part).note(std::string(form));
    relative = is_relative;
    to = value;
  };
  side(text.substr(0, dots), limit.low);
  side(text.substr(dots + 2), limit.high);
  limit.relative = relative.value_or(true);
  if (limit.low > limit.high)
    throw input_error("the budget `{}` is empty: its lower bound is above its upper bound", part);
  return limit;
}

std::string text(double value, bool relative) {
  if (value == std::numeric_limits<double>::infinity() || value == 0.0) return "";
  if (relative) return fmt::format("{:.10g}", value);
  for (const auto& [unit, letter] : {std::pair{1e9, "G"}, {1e6, "M"}})
    if (value >= unit) return fmt::format("{:.10g}{}", value / unit, letter);
  return fmt::format("{:.10g}k", value / 1e3);
}

}  // namespace

std::string_view cost_name(CostKind kind) { return names[static_cast<std::size_t>(kind)]; }

Budget Budget::parse(std::string_view text) {
  if (trim(text) == "none") return {{}, {}, {}, {}, {}};
  Budget budget;
  std::set<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const auto sides = split(part, '=');
    const std::string name(trim(sides[0]));
    if (sides.size() != 2) throw input_error("the budget `{}` has no `=`", part).note(std::string(form));
    const auto known = std::ranges::find(names, name);
    const auto of_whole = std::ranges::find(whole, name, [](const auto& limit) { return limit.first; });
    if (known == names.end() && of_whole == whole.end()) {
      std::vector<std::string> all(names.begin(), names.end());
      for (const auto& limit : whole) all.emplace_back(limit.first);
      throw input_error("the budget knows no `{}`, {}", name, suggestion(name, all)).note(std::string(form));
    }
    if (!seen.insert(name).second) throw input_error("the budget `{}` gives {} twice", text, name);
    const Limit limit = limit_of(sides[1], part);
    if (known != names.end()) {
      budget[static_cast<CostKind>(known - names.begin())] = limit;
      continue;
    }
    if (!limit.relative)
      throw input_error("the budget `{}` is an absolute number; {} is a fraction of the original network's", part, name)
          .note(std::string(form));
    budget.*(of_whole->second) = limit;
  }
  return budget;
}

std::string Budget::str() const {
  const auto one = [](const Limit& limit) {
    return text(limit.low, limit.relative) + ".." + text(limit.high, limit.relative);
  };
  std::string all = "macs=" + one(macs) + ",params=" + one(params) + (bytes.given() ? ",bytes=" + one(bytes) : "");
  for (const auto& [name, limit] : whole)
    if ((this->*limit).given()) all += fmt::format(",{}={}", name, one(this->*limit));
  return all;
}

}  // namespace kasimir
