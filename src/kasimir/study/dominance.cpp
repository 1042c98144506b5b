// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/dominance.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kasimir::study {
namespace {

void add_crowding(const std::vector<Objectives>& population, std::vector<std::size_t> front,
                  std::vector<Preference>& found) {
  for (std::size_t objective = 0; objective < population[front.front()].size(); ++objective) {
    const auto value = [&](std::size_t candidate) { return population[candidate][objective]; };
    std::ranges::stable_sort(front, {}, value);
    const double range = value(front.back()) - value(front.front());
    found[front.front()].crowding = found[front.back()].crowding = std::numeric_limits<double>::infinity();
    if (range <= 0) continue;
    for (std::size_t i = 1; i + 1 < front.size(); ++i)
      found[front[i]].crowding += (value(front[i + 1]) - value(front[i - 1])) / range;
  }
}

}  // namespace

bool dominates(const Objectives& a, const Objectives& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better = better || a[i] < b[i];
  }
  return better;
}

std::vector<Preference> preferences(const std::vector<Objectives>& population) {
  std::vector<Preference> found(population.size());
  std::vector<std::size_t> left(population.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (std::size_t number = 0; !left.empty(); ++number) {
    std::vector<std::size_t> front, others;
    for (const std::size_t one : left) {
      const bool beaten =
          std::ranges::any_of(left, [&](std::size_t other) { return dominates(population[other], population[one]); });
      (beaten ? others : front).push_back(one);
    }
    for (const std::size_t one : front) found[one].front = number;
    add_crowding(population, front, found);
    left = std::move(others);
  }
  return found;
}

std::vector<std::size_t> by_preference(const std::vector<Objectives>& population) {
  const std::vector<Preference> found = preferences(population);
  std::vector<std::size_t> order(population.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return found[a].front != found[b].front ? found[a].front < found[b].front : found[a].crowding > found[b].crowding;
  });
  return order;
}

}  // namespace kasimir::study
