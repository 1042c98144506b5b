// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/bars.h"

#include "kasimir/report/view.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace kasimir::report {
namespace {

constexpr std::array<std::string_view, 7> tones{"blue", "orange", "green", "red", "purple", "sky", "faint"};

std::string background(std::size_t part) { return fmt::format("background:var(--{})", tones[part % tones.size()]); }

}  // namespace

Html tile(const std::string& value, const std::string& words) {
  return element("div", {{"class", "tile"}}, element("strong", value) + element("small", words));
}

Html stacked(const std::vector<std::pair<std::string, double>>& parts, double whole) {
  Html bar;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].second <= 0) continue;
    const double share = parts[i].second / whole;
    bar += element(
        "span",
        {{"title", fmt::format("{}: {}", parts[i].first, percent(share))},
         {"style", fmt::format("display:inline-block;height:1.1rem;width:{:.3f}%;{}", 100 * share, background(i))}});
  }
  return element("div", {{"style", "width:26rem;max-width:100%;white-space:nowrap;font-size:0;background:var(--rule)"}},
                 bar);
}

Html legend(const std::vector<std::string>& names) {
  Html list;
  for (std::size_t i = 0; i < names.size(); ++i)
    list += element("li", element("span", {{"style", "display:inline-block;width:1rem;height:1rem;" + background(i)}}) +
                              Html(names[i]));
  return element("ul", {{"class", "legend"}}, list);
}

}  // namespace kasimir::report
