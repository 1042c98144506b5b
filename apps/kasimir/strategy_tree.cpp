// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"

#include "kasimir/base/rng.h"
#include "kasimir/study/dominance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

namespace kasimir {
namespace {

// Judgements.
/// A beginning with n kernels may have so many ways to go on: n to this power (progressive widening: Coulom, "Computing
/// Elo ratings of move patterns in the game of Go", ICGA Journal 30, 2007).
constexpr double widening = 0.5;
/// Weight of what is seldom tried (UCB1 has the square root of 2, for rewards as spread as 0 and 1; these are ranks).
constexpr double curiosity = 0.4;

/// The beginnings of all kernels that were trained.
struct Node {
  std::map<std::string, std::unique_ptr<Node>> next;
  double reward = 0;  ///< summed
  int kernels = 0;
  int newest = 0;  ///< trial that begins so
};

void add(Node& root, const std::vector<std::string>& steps, int trial, double reward) {
  Node* node = &root;
  const auto count = [&] {
    node->reward += reward;
    ++node->kernels;
    node->newest = std::max(node->newest, trial);
  };
  count();
  for (const std::string& step : steps) {
    auto& next = node->next[step];
    if (!next) next = std::make_unique<Node>();
    node = next.get();
    count();
  }
}

/// By front and loneliness, from 1 for the first to 0 for the last.
std::map<int, double> rewards_of(const History& history) {
  std::vector<study::Objectives> all;
  for (const Parent& parent : history.parents)
    all.push_back({-parent.point.accuracy, parent.point.macs, parent.point.params});
  std::map<int, double> rewards;
  for (const std::size_t index : study::by_preference(all))
    rewards[history.parents[index].trial] =
        1 - static_cast<double>(rewards.size()) / static_cast<double>(all.size() - 1);
  return rewards;
}

Outcome<Idea> propose(const Task& task) {
  if (task.history.parents.size() < first_generation) return random_strategy.propose(task);
  Node root;
  for (const auto& [trial, reward] : rewards_of(task.history)) add(root, task.source.steps(trial), trial, reward);
  const Node* node = &root;
  int kept = 0;
  // A beginning that one kernel has is a leaf: from there on nothing is known.
  while (node->kernels > 1 && !node->next.empty() &&
         static_cast<double>(node->next.size()) >= std::pow(node->kernels, widening)) {
    const auto promise = [&](const auto& next) {
      const Node& child = *next.second;
      return child.reward / child.kernels + curiosity * std::sqrt(std::log(node->kernels) / child.kernels);
    };
    node = std::ranges::max_element(node->next, {}, promise)->second.get();
    ++kept;
  }
  const auto length = static_cast<int>(task.source.steps(node->newest).size());
  auto idea = task.source.regrown(node->newest, std::min(kept, length - 1), task.attempt);
  if (idea.ok()) idea->origin["strategy"] = "tree";
  return idea;
}

}  // namespace

const Strategy tree_strategy{"tree", "grows new ends on the beginnings of kernels that lie near the front", true,
                             propose};

}  // namespace kasimir
