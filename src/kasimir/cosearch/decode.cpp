// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/decode.h"

#include "kasimir/base/error.h"
#include "kasimir/cosearch/decode_tree.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The same choices with one part: the weighted sum of all parts.
LoadTable one_part(const LoadTable& table, const std::vector<double>& weights) {
  LoadTable single = table;
  single.aggregate = Aggregate::sum;
  single.parts = {"weighted"};
  single.base = {0};
  for (std::size_t p = 0; p < weights.size(); ++p) single.base[0] += weights[p] * table.base[p];
  for (auto& block : single.loads)
    for (auto& op : block)
      for (auto& loads : op) {
        double sum = 0;
        for (const PartLoad& one : loads) sum += weights[one.part] * one.load;
        loads = {{0, sum}};
      }
  return single;
}

class Decoder {
 public:
  Decoder(const ChoiceTable& scores, const CostLimit& limit, const DecodeOptions& options)
      : scores_(scores),
        limit_(limit),
        options_(options),
        looks_(options.looks > 0 ? options.looks : limit.looks),
        best_(options.best) {}

  DecodeAnswer run() {
    const LoadTable& table = limit_.bound.loads;
    if (table.aggregate == Aggregate::product)
      products(table);
    else if (table.aggregate == Aggregate::sum)
      sums(one_part(table, std::vector<double>(table.parts.size(), 1)));
    else
      sums(table);
    answer_.designs = best_.designs();
    return answer_;
  }

 private:
  // Asks for the cost of a design that may be good enough, and keeps it.
  double look(const ChoiceDesign& design, double score) {
    ++asked_;
    const double cost = limit_.cost(design);
    if (within_target(cost, limit_.target)) best_.offer({design, score, cost});
    return cost;
  }

  void sums(const LoadTable& table) {
    const bool exact = limit_.bound.exact;
    const Leaf leaf = [&](const ChoiceDesign& design, double score, double cost) {
      if (exact)
        best_.offer({design, score, cost});
      else
        look(design, score);
    };
    answer_.exact =
        search_tree(scores_, table, limit_.target, options_, best_, leaf, [&] { return !exact && asked_ >= looks_; });
    if (answer_.exact) return;
    if (!exact) scaled(table);
    improve();
  }

  // The bound's table with a target that is moved until what it lets through costs the true target.
  void scaled(const LoadTable& table) {
    constexpr int rounds = 12;
    double target = limit_.target, low = 0, high = infinity;
    for (int round = 0; round < rounds; ++round) {
      BestDesigns found(options_.best);
      const Leaf leaf = [&](const ChoiceDesign& design, double score, double cost) {
        found.offer({design, score, cost});
      };
      search_tree(scores_, table, target, options_, found, leaf, {});
      double over = infinity;  // the least cost against the target
      for (const Decoded& one : found.designs()) over = std::min(over, look(one.design, one.score) / limit_.target);
      const bool met = within_target(over, 1);
      (met ? low : high) = target;
      if (high < infinity && low > 0)
        target = std::sqrt(low * high);
      else if (met)
        target *= 1.15;
      else
        target /= std::isfinite(over) ? std::min(over, 1.5) * 1.01 : 1.2;
      if (low > 0 && high < low * 1.01) break;
    }
  }

  // Better choices for single blocks, while the costs allow.
  void improve() {
    std::size_t left = looks_;
    bool moved = true;
    while (moved && left > 0) {
      moved = false;
      const std::vector<Decoded> designs = best_.designs();
      for (const Decoded& one : designs) moved = improve_one(one, left) || moved;
    }
  }

  bool improve_one(const Decoded& one, std::size_t& left) {
    bool moved = false;
    for (std::size_t l = 0; l < scores_.size(); ++l)
      for (std::size_t o = 0; o < scores_[l].size(); ++o)
        for (std::size_t j = 0; j < scores_[l][o].size() && left > 0; ++j) {
          ChoiceDesign other = one.design;
          other[l] = {o, j};
          const double score = one.score + scores_[l][o][j] - scores_[l][one.design[l].op][one.design[l].bits];
          if (score <= std::max(one.score, best_.bar())) continue;
          --left;
          moved = within_target(look(other, score), limit_.target) || moved;
        }
    return moved;
  }

  // E D <= T if (w E + D / w) / 2 <= sqrt(T), and the other way round at w = sqrt(D / E).
  void products(const LoadTable& table) {
    KASIMIR_CHECK(table.parts.size() == 2, "a product of {} parts", table.parts.size());
    const auto [least, most] = ratio_range(table);
    constexpr int steps = 12;
    const Leaf leaf = [&](const ChoiceDesign& design, double score, double) { look(design, score); };
    for (int i = 0; i <= steps; ++i) {
      const double ratio = least * std::pow(most / least, static_cast<double>(i) / steps);
      const double w = std::sqrt(ratio);
      const std::size_t before = asked_;
      search_tree(scores_, one_part(table, {w / 2, 0.5 / w}), std::sqrt(limit_.target), options_, best_, leaf,
                  [&] { return asked_ - before >= looks_; });
    }
    improve();
  }

  // The range of second part / first part over single blocks.
  static std::pair<double, double> ratio_range(const LoadTable& table) {
    double least = infinity, most = 0;
    for (const auto& block : table.loads)
      for (const auto& op : block)
        for (const auto& loads : op) {
          double first = 0, second = 0;
          for (const PartLoad& one : loads) (one.part == 0 ? first : second) += one.load;
          if (first <= 0 || second <= 0) continue;
          least = std::min(least, second / first);
          most = std::max(most, second / first);
        }
    return most > 0 ? std::pair{least, most} : std::pair{1.0, 1.0};
  }

  const ChoiceTable& scores_;
  const CostLimit& limit_;
  const DecodeOptions& options_;
  std::size_t looks_;      // costs that may be asked for
  std::size_t asked_ = 0;  // so far
  BestDesigns best_;
  DecodeAnswer answer_;
};

}  // namespace

CostLimit adapted_limit(HardwareTarget& hardware, double target, const ChoiceDesign& near) {
  return {target, hardware.bound(near), [&hardware](const ChoiceDesign& design) { return hardware.cost(design); },
          hardware.affordable_looks()};
}

CostLimit fixed_limit(HardwareTarget& hardware, const Accelerator& accelerator, double target) {
  return {target, {accelerator.loads, false}, [&hardware, &accelerator](const ChoiceDesign& design) {
            return hardware.cost_on(accelerator, design);
          }};
}

DecodeAnswer decode(const ChoiceTable& scores, const CostLimit& limit, const DecodeOptions& options) {
  if (options.best == 0) throw input_error("0 designs to decode, needed: at least 1");
  return Decoder(scores, limit, options).run();
}

}  // namespace kasimir
