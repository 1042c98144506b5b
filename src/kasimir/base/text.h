// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// The parts of `text` between separators; empty parts are kept, and an empty text has one empty part.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
/// Without white space at both ends.
std::string_view trim(std::string_view text);
std::string lower_case(std::string_view text);  ///< of the letters a to z

/// The names nearest to `name` by edit distance, best first, at most 3 and only those that are plausibly meant:
/// up to one edit (insert, drop, change, swap of neighbours) for each 3 characters, where another case is half an edit;
/// or the same in another case; or `name` is their beginning.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& known);

/// "did you mean `a` or `b`?", or, with no near name, "known: a, b, c".
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

/// Finite whole numbers and decimals that fill the whole text ("-3", "0.5", "1e-4"); nothing on any other text.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t value);
/// Three significant digits, without closing zeros, with an SI prefix from a (1e-18) to E (1e18), `u` for micro:
/// 12.3M, 456k, 7, 1.5m.
std::string si(double value);
/// A span of time for people: "450 us", "850 ms", "12.3 s", "4 m 05 s", "2 h 10 m", "3 d 04 h"; "unknown" if it is not
/// finite.
std::string duration_text(double seconds);

/// True if `text` matches the shell-like pattern (`*` any run, `?` one character).
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace kasimir
