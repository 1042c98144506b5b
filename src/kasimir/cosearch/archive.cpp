// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/archive.h"

#include "kasimir/cosearch/loads.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

std::vector<ArchiveEntry> front_of(std::vector<ArchiveEntry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.cost != b.cost ? a.cost < b.cost : a.score > b.score; });
  std::vector<ArchiveEntry> front;
  for (const ArchiveEntry& entry : entries)
    if (front.empty() || entry.score > front.back().score) front.push_back(entry);
  return front;
}

}  // namespace

void ChoiceArchive::add(const ArchiveEntry& entry) {
  const auto same = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const ArchiveEntry& other) { return other.design == entry.design; });
  if (same == entries_.end())
    entries_.push_back(entry);
  else
    *same = entry;
}

const ArchiveEntry* ChoiceArchive::find(const ChoiceDesign& design) const {
  for (const ArchiveEntry& entry : entries_)
    if (entry.design == design) return &entry;
  return nullptr;
}

const ArchiveEntry* ChoiceArchive::best(double target) const {
  const ArchiveEntry* best = nullptr;
  for (const ArchiveEntry& entry : entries_)
    if (within_target(entry.cost, target) && (best == nullptr || entry.score > best->score)) best = &entry;
  return best;
}

std::vector<ArchiveEntry> ChoiceArchive::front() const { return front_of(entries_); }

double hypervolume(const std::vector<ArchiveEntry>& entries, double reference_score, double reference_cost) {
  std::vector<ArchiveEntry> inside;
  for (const ArchiveEntry& entry : entries)
    if (entry.score > reference_score && entry.cost < reference_cost) inside.push_back(entry);
  double area = 0, below = reference_score;
  for (const ArchiveEntry& entry : front_of(std::move(inside))) {
    area += (entry.score - below) * std::log(reference_cost / entry.cost);
    below = entry.score;
  }
  return area;
}

}  // namespace kasimir
