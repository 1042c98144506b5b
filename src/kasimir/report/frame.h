// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/report/html.h"

#include <string>
#include <vector>

namespace kasimir::report {

/// A part of a page.
struct Section {
  std::string id;
  std::string name;     ///< in the list of sections; empty: not there
  std::string heading;  ///< above it
  Html content;
};

/// A whole page: headline, links to the sections, the sections, with style and script inside.
std::string framed(const std::string& title, const Html& headline, const std::vector<Section>& sections);

}  // namespace kasimir::report
