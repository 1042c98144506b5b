// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/place.h"

#include "kasimir/base/error.h"

#include <algorithm>

namespace kasimir::study {
namespace {

constexpr std::string_view default_schema = "kasimir";
// PostgreSQL cuts longer names off without an error (NAMEDATALEN - 1).
constexpr std::size_t longest_name = 63;

bool is_address(std::string_view text) { return text.starts_with("postgresql://") || text.starts_with("postgres://"); }

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
}

}  // namespace

StudyPlace::StudyPlace(std::string text) : text_(std::move(text)) {
  if (!is_address(text_)) {
    file_ = text_;
    return;
  }
  const std::size_t hash = text_.find('#');
  address_ = text_.substr(0, hash);
  schema_ = hash == std::string::npos ? default_schema : text_.substr(hash + 1);
  if (!is_name(schema_)) {
    throw input_error("`{}` cannot be the name of a study on a server", schema_)
        .note(fmt::format("up to {} small letters, digits, `_`, `-` and `.` behind the `#` of {}", longest_name,
                          str().substr(0, str().find('#'))));
  }
}

std::string StudyPlace::str() const {
  if (!on_server()) return text_;
  // postgresql://user:password@host/...: the user's part ends at the last @ before the first / behind the scheme.
  const std::size_t from = text_.find("://") + 3;
  const std::size_t end = std::min(text_.find('/', from), text_.size());
  const std::size_t at = text_.rfind('@', end);
  const std::size_t colon = text_.find(':', from);
  std::string shown = text_;
  if (at != std::string::npos && at > from && colon < at) shown.erase(colon, at - colon);
  // The other place that libpq reads one from.
  const std::size_t option = shown.find("password=");
  if (option != std::string::npos) {
    const std::size_t value = option + std::string_view("password=").size();
    shown.replace(value, std::min(shown.find_first_of("&#", value), shown.size()) - value, "...");
  }
  return shown;
}

std::filesystem::path StudyPlace::beside(std::string_view ending) const {
  // A name on a server may hold dots that are no ending.
  if (on_server()) return schema_ + std::string(ending);
  return std::filesystem::path(file_).replace_extension(ending);
}

}  // namespace kasimir::study
