// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/frame.h"

#include "kasimir/report/assets.h"

namespace kasimir::report {

std::string framed(const std::string& title, const Html& headline, const std::vector<Section>& sections) {
  Html links, all;
  for (const Section& section : sections) {
    if (!section.name.empty()) links += element("a", {{"href", "#" + section.id}}, section.name) + " ";
    all += element("section", {{"id", section.id}}, element("h2", section.heading) + section.content);
  }
  return fill_in(report_frame, {{"title", escape(title)},
                                {"style", std::string(report_style)},
                                {"script", std::string(report_script)},
                                {"headline", headline.str()},
                                {"sections", (element("nav", {{"aria-label", "Sections"}}, links) + all).str()}});
}

}  // namespace kasimir::report
