// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/report/html.h"

#include <string>
#include <utility>
#include <vector>

/// Small pieces that several pages are made of.
namespace kasimir::report {

/// A number in large letters with words below it.
Html tile(const std::string& value, const std::string& words);

/// Parts of one bar by name, as wide as their shares of `whole`; parts of nothing are left out. The colour of a part
/// follows from its place, as in `legend`.
Html stacked(const std::vector<std::pair<std::string, double>>& parts, double whole);

/// What the colours of `stacked` stand for.
Html legend(const std::vector<std::string>& names);

}  // namespace kasimir::report
