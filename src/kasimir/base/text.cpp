// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kasimir {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_letter(char a, char b) { return lower(a) == lower(b); }

// Costs are in half edits, so that a change of case is cheaper than any other change.
constexpr std::size_t edit = 2;

std::size_t change_cost(char a, char b) {
  if (a == b) return 0;
  return same_letter(a, b) ? 1 : edit;
}

std::size_t edit_cost(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j * edit;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i * edit;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + edit, row[j - 1] + edit, last[j - 1] + change_cost(a[i - 1], b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + edit);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

bool plausible(std::string_view name, std::string_view known, std::size_t cost) {
  if (name.size() >= 3 && known.starts_with(name)) return true;
  if (std::equal(name.begin(), name.end(), known.begin(), known.end(), same_letter)) return true;
  const std::size_t limit = edit * std::max<std::size_t>(1, name.size() / 3);
  // At the full length every character was changed: nothing of the name is left.
  return cost <= limit && cost < edit * std::max(name.size(), known.size());
}

std::string two_units(std::int64_t big, std::string_view big_unit, std::int64_t small, std::string_view small_unit) {
  return fmt::format("{} {} {:02} {}", big, big_unit, small, small_unit);
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n\v\f";
  const auto begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& other : known) {
    const std::size_t cost = edit_cost(name, other);
    if (plausible(name, other, cost)) found.emplace_back(cost, other);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (found.size() > 3) found.resize(3);
  std::vector<std::string> names;
  for (auto& entry : found) names.push_back(std::move(entry.second));
  return names;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest(name, known);
  if (near.empty()) return "known: " + (known.empty() ? std::string("none") : join(known, ", "));
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) text += i + 1 == near.size() ? " or " : ", ";
    text += "`" + near[i] + "`";
  }
  return text + "?";
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string grouped(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string si(double value) {
  constexpr std::string_view prefixes = "afpnum kMGTPE";
  constexpr int unity = 6;
  if (value == 0 || !std::isfinite(value)) return fmt::format("{:g}", std::abs(value) == 0 ? 0.0 : value);
  // Rounded to three digits before the prefix is chosen, so that 999.6 becomes 1k and not 1000.
  const std::string rounded = fmt::format("{:.2e}", value);
  const auto e = rounded.find('e');
  const int exponent = std::stoi(rounded.substr(e + 1));
  const int step = exponent >= 0 ? exponent / 3 : -((2 - exponent) / 3);
  if (step < -unity || step + unity >= static_cast<int>(prefixes.size())) return fmt::format("{:.3g}", value);
  const double mantissa = *parse_number(rounded.substr(0, e)) * std::pow(10.0, exponent - 3 * step);
  std::string text = fmt::format("{:.{}f}", mantissa, 2 - (exponent - 3 * step));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  const int prefix = step + unity;
  if (step != 0) text += prefixes[static_cast<std::size_t>(prefix)];
  return text;
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return "-" + duration_text(-seconds);
  // Each limit is where rounding would reach the next unit.
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  constexpr double longest = 9e15;  // of seconds that a double counts one by one
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, longest)));
  if (whole < 3600) return two_units(whole / 60, "m", whole % 60, "s");
  constexpr std::int64_t minutes_of_day = 1440;
  const std::int64_t minutes = (whole + 30) / 60;
  if (minutes < minutes_of_day) return two_units(minutes / 60, "h", minutes % 60, "m");
  const std::int64_t hours = (whole + 1800) / 3600;
  return two_units(hours / 24, "d", hours % 24, "h");
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      // Only the last star needs another try: what an earlier one took can always be taken by this one.
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

}  // namespace kasimir
