// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kasimir::report {

/// What is wrong with a page: tags that do not close in order, attributes that are doubled or without quotes, a bare
/// `<` or `&`, an id that occurs twice, a link to an id that is not there. Contents of `script` and `style` are
/// skipped.
std::vector<std::string> faults_of(std::string_view page);

/// No-break spaces as spaces.
std::string with_plain_spaces(std::string text);

/// The page's text without tags, scripts and styles, with references resolved and plain spaces.
std::string text_of(std::string_view page);

/// How often `part` occurs in `text`.
std::size_t count_of(std::string_view text, std::string_view part);

}  // namespace kasimir::report
