// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/descent.h"
#include "kasimir/hardware/search/engines.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::uint64_t usual_evaluations = 20000;

/// All choices of all groups in one class of orders; the last group's in blocks.
class Enumeration {
 public:
  Enumeration(Referee& referee, ProductCosts& costs, const OrderClass& orders)
      : referee_(referee), costs_(costs), orders_(orders) {
    for (std::size_t g = 0; g < costs.groups().size(); ++g) tables_.push_back(&costs.table(g, orders, false));
    at_.assign(tables_.size(), 0);
  }

  /// False if it was stopped.
  bool run() {
    const bool complete = descend(0, std::vector<double>(costs_.components(), 1.0));
    if (best_ < referee_.best()) referee_.judge(costs_.mapping(chosen_, orders_));
    return complete;
  }

 private:
  bool descend(std::size_t group, const std::vector<double>& product) {
    if (group + 1 == tables_.size()) return last(product);
    const FactorTable& table = *tables_[group];
    std::vector<double> longer(product.size());
    for (std::size_t row = 0; row < table.rows; ++row) {
      for (std::size_t c = 0; c < product.size(); ++c) longer[c] = product[c] * table.column(c)[row];
      at_[group] = table.choice[row];
      if (!descend(group + 1, longer)) return false;
    }
    return true;
  }
  bool last(const std::vector<double>& product) {
    const FactorTable& table = *tables_.back();
    for (std::size_t from = 0; from < table.rows; from += PricedBlock::size) {
      if (referee_.over()) return false;
      const std::size_t count = std::min({PricedBlock::size, table.rows - from, referee_.left()});
      costs_.price(product.data(), table, from, count, block_);
      referee_.count(count);
      for (std::size_t i = 0; i < count; ++i) {
        if (!(block_.value[i] < best_)) continue;
        best_ = block_.value[i];
        at_.back() = table.choice[from + i];
        chosen_ = at_;
      }
    }
    return true;
  }

  Referee& referee_;
  ProductCosts& costs_;
  const OrderClass& orders_;
  std::vector<const FactorTable*> tables_;
  std::vector<std::uint32_t> at_;
  std::vector<std::uint32_t> chosen_;
  double best_ = Goal::unlimited;
  PricedBlock block_;
};

}  // namespace

SearchAnswer random_search(const CostModel& model, const SearchOptions& options) {
  Referee referee(model, options, usual_evaluations);
  const MappingSpace space(model, options.rules);
  Rng rng(options.seed, 1);
  while (!referee.over()) referee.judge(space.random(rng));
  return referee.answer(false);
}

SearchAnswer polish_search(const CostModel& model, const SearchOptions& options) {
  Referee referee(model, options, usual_evaluations);
  Descent descent(referee);
  Rng rng(options.seed, 2);
  while (!referee.over()) descent.run(descent.space().random(rng));
  return referee.answer(false);
}

SearchAnswer exhaustive_search(const CostModel& model, const SearchOptions& options) {
  Referee referee(model, options, 0);
  const MappingSpace space(model, options.rules);
  bool complete = true;
  for (const Keeps& keeps : space.keeps()) {
    ProductCosts costs(model, space, keeps, options.goal);
    if (!costs.usable())
      throw input_error("the space of {} mappings without orders is too large to enumerate", space.size())
          .note("try branch_and_bound or gradient");
    for (const OrderClass& orders : order_classes(model, keeps))
      complete = complete && Enumeration(referee, costs, orders).run();
  }
  if (!referee.found()) {
    Descent descent(referee);
    look_for_nearest(referee, descent);
  }
  if (complete) referee.prove(referee.best());
  return referee.answer(complete);
}

}  // namespace kasimir
