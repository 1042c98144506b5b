// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kasimir::report {

/// A piece of a page. Text that becomes one is escaped, so that what a study holds can never act as markup; tags come
/// from `element` only and therefore balance.
class Html {
 public:
  Html() = default;
  Html(std::string_view text);                                     // NOLINT(google-explicit-constructor)
  Html(const std::string& text) : Html(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Html(const char* text) : Html(std::string_view(text)) {}         // NOLINT(google-explicit-constructor)
  /// Markup that is known to be sound, taken as it is.
  static Html markup(std::string text);

  Html& operator+=(const Html& more);
  friend Html operator+(Html a, const Html& b) { return a += b; }
  [[nodiscard]] const std::string& str() const { return markup_; }
  [[nodiscard]] bool empty() const { return markup_.empty(); }

 private:
  std::string markup_;
};

using Attributes = std::vector<std::pair<std::string_view, std::string>>;

/// `<tag name="value">content</tag>`; values are escaped. Elements that HTML does not close (`br`, `meta`) and, in
/// pictures, empty ones are written `<tag/>`.
Html element(std::string_view tag, const Attributes& attributes, const Html& content = {});
Html element(std::string_view tag, const Html& content);

/// Text for HTML and XML: the five special characters become references; control characters and bytes that are not
/// UTF-8 become U+FFFD.
std::string escape(std::string_view text);

/// `page` with each `{{name}}` replaced by that part; a part is not searched again. A name without a part, and a part
/// that no name asks for, are failed checks.
std::string fill_in(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& parts);

}  // namespace kasimir::report
