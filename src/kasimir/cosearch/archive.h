// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/trainer.h"

#include <vector>

namespace kasimir {

/// A network with what it reaches and costs.
struct ArchiveEntry {
  ChoiceDesign design;
  double score = 0;      ///< larger is better
  double cost = 0;       ///< smaller is better
  std::size_t step = 0;  ///< choice steps done when it was validated
  bool operator==(const ArchiveEntry&) const = default;
};

/// All networks that were validated, each once.
class ChoiceArchive {
 public:
  /// Keeps the entry; a second one of a design replaces the first, whose score was of younger weights.
  void add(const ArchiveEntry& entry);
  [[nodiscard]] const std::vector<ArchiveEntry>& entries() const { return entries_; }
  [[nodiscard]] const ArchiveEntry* find(const ChoiceDesign& design) const;
  /// The best score among those that cost at most `target`; null if there is none.
  [[nodiscard]] const ArchiveEntry* best(double target) const;
  /// Entries that no other one beats in score and cost, by growing cost.
  [[nodiscard]] std::vector<ArchiveEntry> front() const;

 private:
  std::vector<ArchiveEntry> entries_;
};

/// Of the plane of score and natural logarithm of cost, the area between the reference point (worst score and cost that
/// count, fixed beforehand) and the entries; those worse than it in one of both add nothing.
double hypervolume(const std::vector<ArchiveEntry>& entries, double reference_score, double reference_cost);

}  // namespace kasimir
