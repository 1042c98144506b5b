// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/decode_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A choice with loads as shares of the target.
struct Candidate {
  BlockChoice choice;
  double score = 0;
  std::vector<PartLoad> loads;
  double reduced = 0;  // score - multipliers . loads
};

class Tree {
 public:
  Tree(const ChoiceTable& scores, const LoadTable& table, double target, const DecodeOptions& options,
       const BestDesigns& best, const Leaf& take, const std::function<bool()>& stop)
      : options_(options), best_(best), take_(take), stop_(stop), target_(target) {
    for (const double base : table.base) base_.push_back(base / target);
    for (std::size_t l = 0; l < scores.size(); ++l) blocks_.push_back(candidates(scores[l], table.loads[l]));
    order_.resize(blocks_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto spread = [&](std::size_t l) {
      return blocks_[l].empty() ? 0 : blocks_[l].front().score - blocks_[l].back().score;
    };
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return spread(a) > spread(b); });
  }

  // Whether the tree was searched to its end.
  bool run() {
    const bool possible = std::none_of(blocks_.begin(), blocks_.end(), [](const auto& b) { return b.empty(); });
    if (!possible) return true;
    multipliers_.assign(base_.size(), 0);
    improve_multipliers();
    prepare();
    design_.resize(blocks_.size());
    loads_ = base_;
    double constant = 0;
    for (std::size_t p = 0; p < base_.size(); ++p) constant += multipliers_[p] * (1 - base_[p]);
    visit(0, 0, constant);
    return !stopped_;
  }

 private:
  [[nodiscard]] std::vector<Candidate> candidates(const std::vector<std::vector<double>>& scores,
                                                  const std::vector<std::vector<std::vector<PartLoad>>>& loads) const {
    std::vector<Candidate> all;
    for (std::size_t o = 0; o < scores.size(); ++o)
      for (std::size_t j = 0; j < scores[o].size(); ++j) {
        if (std::isinf(scores[o][j])) continue;
        Candidate one{{o, j}, scores[o][j], loads[o][j], 0};
        for (PartLoad& part : one.loads) part.load /= target_;
        all.push_back(std::move(one));
      }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    if (options_.top == 0 || all.size() <= options_.top) return all;
    const auto cheapest = std::min_element(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return total_load(a.loads) < total_load(b.loads); });
    const Candidate kept = *cheapest;
    const bool outside = cheapest - all.begin() >= static_cast<std::ptrdiff_t>(options_.top);
    all.resize(options_.top);
    if (outside) all.push_back(kept);
    return all;
  }

  double reduced(const Candidate& one) const {
    double value = one.score;
    for (const PartLoad& part : one.loads) value -= multipliers_[part.part] * part.load;
    return value;
  }

  // The Lagrangian bound at the root, and its subgradient.
  double root_bound(std::vector<double>& slope) const {
    double bound = 0;
    for (std::size_t p = 0; p < base_.size(); ++p) {
      slope[p] = 1 - base_[p];
      bound += multipliers_[p] * slope[p];
    }
    for (const auto& block : blocks_) {
      double most = -infinity;
      const Candidate* pick = nullptr;
      for (const Candidate& one : block) {
        const double value = reduced(one);
        if (value <= most && pick != nullptr) continue;
        most = value;
        pick = &one;
      }
      bound += most;
      for (const PartLoad& part : pick->loads) slope[part.part] -= part.load;
    }
    return bound;
  }

  // Subgradient steps; the best multipliers are kept.
  void improve_multipliers() {
    constexpr int rounds = 300;
    double spread = 0;
    for (const auto& block : blocks_) spread += block.front().score - block.back().score;
    std::vector<double> slope(base_.size()), best = multipliers_;
    double least = infinity;
    for (int k = 0; k < rounds; ++k) {
      const double bound = root_bound(slope);
      if (bound < least) {
        least = bound;
        best = multipliers_;
      }
      double norm = 0;
      for (std::size_t p = 0; p < slope.size(); ++p)
        if (slope[p] < 0 || multipliers_[p] > 0) norm += slope[p] * slope[p];
      if (norm <= 0) break;
      const double step = spread / (std::sqrt(norm) * std::pow(1.0 + k, 0.8));
      for (std::size_t p = 0; p < slope.size(); ++p) multipliers_[p] = std::max(0.0, multipliers_[p] - step * slope[p]);
    }
    multipliers_ = best;
  }

  // What the blocks from each place of the order on can still bring.
  void prepare() {
    const std::size_t n = blocks_.size();
    reduced_left_.assign(n + 1, 0);
    score_left_.assign(n + 1, 0);
    least_left_.assign(n + 1, std::vector<double>(base_.size(), 0));
    for (std::size_t i = n; i-- > 0;) {
      auto& block = blocks_[order_[i]];
      std::vector<double> least(base_.size(), infinity), one_loads(base_.size());
      double most = -infinity;
      for (Candidate& one : block) {
        one.reduced = reduced(one);
        most = std::max(most, one.reduced);
        std::fill(one_loads.begin(), one_loads.end(), 0);
        for (const PartLoad& part : one.loads) one_loads[part.part] += part.load;
        for (std::size_t p = 0; p < least.size(); ++p) least[p] = std::min(least[p], one_loads[p]);
      }
      reduced_left_[i] = reduced_left_[i + 1] + most;
      score_left_[i] = score_left_[i + 1] + block.front().score;
      for (std::size_t p = 0; p < least.size(); ++p) least_left_[i][p] = least_left_[i + 1][p] + least[p];
      std::stable_sort(block.begin(), block.end(), [](const auto& a, const auto& b) { return a.reduced > b.reduced; });
    }
  }

  bool fits(std::size_t next) const {
    for (std::size_t p = 0; p < loads_.size(); ++p)
      if (!within_target(loads_[p] + least_left_[next][p], 1)) return false;
    return true;
  }

  void visit(std::size_t place, double score, double reduced_sum) {
    if (++nodes_ > options_.nodes || (stop_ && stop_())) {
      stopped_ = true;
      return;
    }
    if (place == order_.size()) {
      take_(design_, score, *std::max_element(loads_.begin(), loads_.end()) * target_);
      return;
    }
    const std::size_t l = order_[place];
    for (const Candidate& one : blocks_[l]) {
      const double bar = best_.bar();
      // Candidates come by falling reduced score: no later one passes.
      if (reduced_sum + one.reduced + reduced_left_[place + 1] <= bar) return;
      if (score + one.score + score_left_[place + 1] <= bar) continue;
      for (const PartLoad& part : one.loads) loads_[part.part] += part.load;
      design_[l] = one.choice;
      if (fits(place + 1)) visit(place + 1, score + one.score, reduced_sum + one.reduced);
      for (const PartLoad& part : one.loads) loads_[part.part] -= part.load;
      if (stopped_) return;
    }
  }

  const DecodeOptions& options_;
  const BestDesigns& best_;
  const Leaf& take_;
  const std::function<bool()>& stop_;
  double target_;
  std::vector<double> base_;
  std::vector<std::vector<Candidate>> blocks_;
  std::vector<std::size_t> order_;
  std::vector<double> multipliers_;
  std::vector<double> reduced_left_, score_left_;
  std::vector<std::vector<double>> least_left_;
  ChoiceDesign design_;
  std::vector<double> loads_;
  std::size_t nodes_ = 0;
  bool stopped_ = false;
};

}  // namespace

void BestDesigns::offer(const Decoded& one) {
  if (one.score <= bar()) return;
  const auto same = [&](const Decoded& other) { return other.design == one.design; };
  if (std::any_of(designs_.begin(), designs_.end(), same)) return;
  const auto at = std::find_if(designs_.begin(), designs_.end(), [&](const auto& d) { return d.score < one.score; });
  designs_.insert(at, one);
  if (designs_.size() > most_) designs_.pop_back();
}

double BestDesigns::bar() const { return designs_.size() < most_ ? -infinity : designs_.back().score; }

bool search_tree(const ChoiceTable& scores, const LoadTable& table, double target, const DecodeOptions& options,
                 const BestDesigns& best, const Leaf& take, const std::function<bool()>& stop) {
  return Tree(scores, table, target, options, best, take, stop).run();
}

}  // namespace kasimir
