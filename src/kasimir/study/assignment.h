// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kasimir::study {

/// Kernels that differ from site to site: for each site, by its name in the network, the trial whose kernel stands
/// there; 0: the original. What such a trial has in the place of a kernel's text.
using Assignment = std::vector<std::pair<std::string, int>>;

/// "assignment", then a line "  SITE = trial 3" or "  SITE = original" each.
std::string str(const Assignment& assignment);
bool is_assignment(std::string_view kernel_text);
/// The inverse of str(). @throws Error (input) that names the line.
Assignment parse_assignment(const std::string& text);

/// One of the things that can stand at a site: what it adds to the network's latency and takes from its accuracy.
struct SiteOption {
  double latency = 0;
  double drop = 0;
};

struct AssignmentPoint {
  double latency = 0;        ///< sums over the sites
  double drop = 0;
  std::vector<int> options;  ///< of each site, by index
};

/// All choices of one option per site that no other choice beats in both sums; of equal ones, one. By rising latency.
/// Exact: sums of the first sites that are beaten are dropped, site after site (Nemhauser and Ullmann, "Discrete
/// dynamic programming and capital allocation", Management Science 15(9), 1969), which loses no point of the front.
/// Every site has at least one option.
std::vector<AssignmentPoint> assignment_front(const std::vector<std::vector<SiteOption>>& sites);

}  // namespace kasimir::study
