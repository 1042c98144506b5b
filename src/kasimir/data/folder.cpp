// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/folder.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <system_error>

namespace kasimir {

std::vector<std::filesystem::directory_entry> sorted_entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::directory_entry> entries;
  std::error_code code;
  std::filesystem::directory_iterator it(folder, code);
  while (!code && it != std::filesystem::directory_iterator()) {
    entries.push_back(*it);
    it.increment(code);
  }
  if (code) throw input_error("cannot list {}: {}", folder.string(), code.message());
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.path().native() < b.path().native(); });
  return entries;
}

std::string entries_text(const std::filesystem::path& folder) {
  constexpr std::size_t shown = 6;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const auto& entry : sorted_entries(folder)) {
    std::error_code ignored;
    if (names.size() == shown) {
      ++more;
    } else {
      names.push_back(entry.path().filename().string() + (entry.is_directory(ignored) ? "/" : ""));
    }
  }
  return join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace kasimir
