// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/site.h"
#include "kasimir/size/size.h"

#include <string>
#include <vector>

namespace kasimir {

/// The sites a kernel must fit, with its choice symbols: answers what is true of a size at *every* site.
/// Free symbols have no value yet; what contains one is possible until the budget solver has decided.
/// With no sites only symbolic facts are known.
class SiteSet {
 public:
  SiteSet() = default;
  SiteSet(std::vector<Site> sites, const Binding& choices);

  [[nodiscard]] const std::vector<Site>& sites() const { return sites_; }
  [[nodiscard]] const std::vector<Binding>& bindings() const { return bindings_; }

  /// False if at some site the size is certainly not a whole number >= 1.
  [[nodiscard]] bool whole(const Size& size) const;
  /// The same text, or the same number at every site (of which there is at least one).
  [[nodiscard]] bool equal(const Size& a, const Size& b) const;
  /// The largest and the smallest value over the sites, in double; free symbols count as 1 in the largest, and make the
  /// smallest unknown: infinity, as without sites.
  [[nodiscard]] double largest(const Size& size) const;
  [[nodiscard]] double smallest(const Size& size) const;

  /// What is said beside a rule that failed. A sampler that only counts rules turns it off: words take longer to make
  /// than everything else.
  template <typename Words>
  [[nodiscard]] std::string explain(Words words) const {
    return explains ? words() : std::string();
  }
  bool explains = true;

 private:
  std::vector<Site> sites_;
  std::vector<Binding> bindings_;
};

}  // namespace kasimir
