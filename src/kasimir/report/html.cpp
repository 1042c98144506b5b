// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/html.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace kasimir::report {
namespace {

constexpr std::string_view unknown_character = "\xEF\xBF\xBD";

/// Bytes of the UTF-8 character that `text` begins with, or 0 if there is none. Overlong forms, surrogates and numbers
/// above U+10FFFF are none.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t size = byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : byte(0) < 0xF5 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool outside = (byte(0) == 0xED && byte(1) >= 0xA0) || (byte(0) == 0xF4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : size;
}

std::string_view reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || static_cast<unsigned char>(c) == 0x7F;
}

/// Elements that may be written `<tag/>`: those of HTML without content, and shapes of pictures.
bool closes_itself(std::string_view tag) {
  static constexpr std::array<std::string_view, 6> tags{"br", "meta", "path", "line", "circle", "polyline"};
  return std::ranges::find(tags, tag) != tags.end();
}

}  // namespace

std::string escape(std::string_view text) {
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (size == 0 || is_control(text[0])) {
      safe += unknown_character;
    } else if (const std::string_view known = reference(text[0]); !known.empty()) {
      safe += known;
    } else {
      safe += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return safe;
}

Html::Html(std::string_view text) : markup_(escape(text)) {}

Html Html::markup(std::string text) {
  Html html;
  html.markup_ = std::move(text);
  return html;
}

Html& Html::operator+=(const Html& more) {
  markup_ += more.markup_;
  return *this;
}

Html element(std::string_view tag, const Attributes& attributes, const Html& content) {
  std::string text = fmt::format("<{}", tag);
  for (const auto& [name, value] : attributes) text += fmt::format(" {}=\"{}\"", name, escape(value));
  if (content.empty() && closes_itself(tag)) return Html::markup(text + "/>");
  return Html::markup(fmt::format("{}>{}</{}>", text, content.str(), tag));
}

Html element(std::string_view tag, const Html& content) { return element(tag, {}, content); }

std::string fill_in(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string filled;
  std::vector<bool> used(parts.size(), false);
  for (std::size_t begin = page.find("{{"); begin != std::string_view::npos; begin = page.find("{{")) {
    const std::size_t end = page.find("}}", begin);
    KASIMIR_CHECK(end != std::string_view::npos, "a name is not closed: {}", page.substr(begin, 40));
    const std::string_view name = page.substr(begin + 2, end - begin - 2);
    const auto found = std::ranges::find(parts, name, &std::pair<std::string_view, std::string>::first);
    KASIMIR_CHECK(found != parts.end(), "the page asks for {}", name);
    used[static_cast<std::size_t>(found - parts.begin())] = true;
    filled += page.substr(0, begin);
    filled += found->second;
    page.remove_prefix(end + 2);
  }
  const auto unused = std::ranges::find(used, false);
  KASIMIR_CHECK(unused == used.end(), "the page has no place for {}",
                parts[static_cast<std::size_t>(unused - used.begin())].first);
  return filled.append(page);
}

}  // namespace kasimir::report
