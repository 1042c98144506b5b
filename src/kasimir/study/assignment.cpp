// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/assignment.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <tuple>

namespace kasimir::study {
namespace {

constexpr std::string_view head = "assignment";
constexpr std::string_view original = "original";
constexpr std::string_view trial = "trial ";

/// A choice for the first sites: that for all but the last of them, and an option of the last.
struct Partial {
  double latency = 0;
  double drop = 0;
  std::size_t before = 0;
  int option = 0;
};

/// Those that no other beats, by rising latency.
std::vector<Partial> unbeaten(std::vector<Partial> all) {
  std::ranges::sort(all, {}, [](const Partial& p) { return std::tuple(p.latency, p.drop, p.before, p.option); });
  std::vector<Partial> kept;
  for (const Partial& partial : all)
    if (kept.empty() || partial.drop < kept.back().drop) kept.push_back(partial);
  return kept;
}

}  // namespace

std::string str(const Assignment& assignment) {
  std::string text = fmt::format("{}\n", head);
  for (const auto& [site, number] : assignment)
    text += number == 0 ? fmt::format("  {} = {}\n", site, original) : fmt::format("  {} = {}{}\n", site, trial, number);
  return text;
}

bool is_assignment(std::string_view kernel_text) { return kernel_text.starts_with(fmt::format("{}\n", head)); }

Assignment parse_assignment(const std::string& text) {
  KASIMIR_CHECK(is_assignment(text), "no assignment: {}", text);
  Assignment assignment;
  for (const std::string& line : split(text, '\n')) {
    if (trim(line).empty() || line == head) continue;
    const std::size_t equals = line.rfind(" = ");
    const std::string what = equals == std::string::npos ? "" : std::string(trim(line.substr(equals + 3)));
    const auto number = what == original             ? std::optional<std::int64_t>(0)
                        : what.starts_with(trial) ? parse_integer(what.substr(trial.size()))
                                                  : std::nullopt;
    if (!number)
      throw input_error("assignment: the line `{}` is none of `SITE = trial NUMBER` and `SITE = original`", line);
    assignment.emplace_back(std::string(trim(line.substr(0, equals))), static_cast<int>(*number));
  }
  return assignment;
}

std::vector<AssignmentPoint> assignment_front(const std::vector<std::vector<SiteOption>>& sites) {
  std::vector<std::vector<Partial>> steps = {{{}}};
  for (const std::vector<SiteOption>& options : sites) {
    KASIMIR_CHECK(!options.empty(), "site {} has no option", steps.size() - 1);
    std::vector<Partial> all;
    for (std::size_t before = 0; before < steps.back().size(); ++before)
      for (std::size_t option = 0; option < options.size(); ++option)
        all.push_back({steps.back()[before].latency + options[option].latency,
                       steps.back()[before].drop + options[option].drop, before, static_cast<int>(option)});
    steps.push_back(unbeaten(std::move(all)));
  }
  std::vector<AssignmentPoint> front;
  for (const Partial& last : steps.back()) {
    AssignmentPoint point{last.latency, last.drop, {}};
    const Partial* at = &last;
    for (std::size_t site = sites.size(); site > 0; --site) {
      point.options.push_back(at->option);
      at = &steps[site - 1][at->before];
    }
    std::ranges::reverse(point.options);
    front.push_back(std::move(point));
  }
  return front;
}

}  // namespace kasimir::study
