// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/descent.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

/// Costs of one step up to which all orders are tried with all bounds.
constexpr double jointly_at_most = 2e5;

/// A pair of groups takes at most this part of what the budget has left.
constexpr std::size_t share_of_a_pair = 8;

}  // namespace

TabulatedSpace::TabulatedSpace(const CostModel& model, const SpaceRules& rules) : space(model, rules) {
  for (std::size_t k = 0; k < space.keeps().size() && usable; ++k) {
    costs.push_back(std::make_unique<ProductCosts>(model, space, space.keeps()[k], Goal{}));
    usable = costs.back()->usable();
  }
}

void TabulatedSpace::set_goal(const Goal& goal) {
  for (const auto& one : costs) one->set_goal(goal);
}

Descent::Descent(Referee& referee)
    : Descent(referee, std::make_shared<TabulatedSpace>(referee.model(), referee.options().rules)) {}

Descent::Descent(Referee& referee, std::shared_ptr<TabulatedSpace> tables)
    : referee_(referee), tables_(std::move(tables)), costs_(tables_->costs) {
  tables_->set_goal(referee.options().goal);
  if (!tables_->usable) return;
  for (std::size_t k = 0; k < costs_.size(); ++k)
    for (OrderClass& orders : order_classes(referee.model(), space().keeps()[k]))
      variants_.push_back({k, std::move(orders)});
  double choices = 1;
  for (const std::vector<int>& group : costs_.front()->groups()) {
    double here = 1;
    for (const int d : group) here *= static_cast<double>(space().factors(d).size());
    choices = std::max(choices, here);
  }
  jointly_ = choices * static_cast<double>(variants_.size()) <= jointly_at_most;
}

void Descent::run(const Mapping& start) {
  if (tables_->usable) return by_tables(start);
  referee_.judge(start);
  by_evaluation(start);
}

std::uint32_t Descent::nearest_fitting(std::size_t group, const Mapping& start) {
  ProductCosts& costs = *costs_.front();
  const OrderClass free(static_cast<std::size_t>(referee_.model().levels), LevelOrder{{}, true, false, -1});
  const FactorTable& table = costs.table(group, free, false);
  const std::uint32_t wanted = costs.choice_of(group, start);
  std::uint32_t nearest = wanted;
  double least = Goal::unlimited;
  for (const std::uint32_t choice : table.choice) {
    double distance = 0;
    std::uint32_t a = choice;
    std::uint32_t b = wanted;
    for (const int d : costs.groups()[group]) {
      const auto& list = space().factors(d);
      const auto count = static_cast<std::uint32_t>(list.size());
      for (std::size_t s = 0; s < space().slots().size(); ++s)
        distance +=
            std::abs(std::log(static_cast<double>(list[a % count][s]) / static_cast<double>(list[b % count][s])));
      a /= count;
      b /= count;
    }
    if (distance >= least) continue;
    least = distance;
    nearest = choice;
  }
  return nearest;
}

void Descent::by_tables(const Mapping& start) {
  Place place;
  const std::size_t groups = costs_.front()->groups().size();
  for (std::size_t g = 0; g < groups; ++g) place.choices.push_back(nearest_fitting(g, start));
  const OrderClass orders = order_class_of(referee_.model(), start);
  Mapping first = costs_.front()->mapping(place.choices, orders);
  first.keeps = start.keeps;
  referee_.judge(first);
  const double before = referee_.rank();
  place.rank = Goal::unlimited;
  reorder(place);
  settle(place);
  if (place.rank < before) referee_.judge(costs_[place.variant.costs]->mapping(place.choices, place.variant.orders));
}

/// Until no group gains; if that is the best so far, until no pair does.
void Descent::settle(Place& place) {
  const std::size_t groups = place.choices.size();
  do {
    std::size_t unchanged = 0;
    for (std::size_t g = 0; unchanged < groups && !referee_.over(); g = (g + 1) % groups) {
      const bool gained = improve(g, place);
      if (gained && !jointly_) reorder(place);
      unchanged = gained ? 0 : unchanged + 1;
    }
  } while (place.rank < best_ && pairs(place));
  best_ = std::min(best_, place.rank);
}

bool Descent::pairs(Place& place) {
  for (std::size_t a = 0; a < place.choices.size(); ++a)
    for (std::size_t b = a + 1; b < place.choices.size() && !referee_.over(); ++b)
      if (improve_pair(a, b, place)) return true;
  return false;
}

/// The same orders, where all levels may have loops of other dimensions outside, too.
Descent::Variant Descent::opened(OrderClass orders, std::size_t costs) {
  for (LevelOrder& order : orders) order.open = true;
  return {costs, std::move(orders)};
}

bool Descent::improve(std::size_t group, Place& place) {
  Place best = place;
  if (jointly_)
    for (std::size_t v = 0; v < variants_.size() && !referee_.over(); ++v) scan(group, variants_[v], best);
  else
    scan(group, opened(place.variant.orders, place.variant.costs), best);
  if (!(best.rank < place.rank * (1 - 1e-12))) return false;
  place = best;
  return true;
}

bool Descent::improve_pair(std::size_t first, std::size_t second, Place& place) {
  ProductCosts& costs = *costs_[place.variant.costs];
  std::vector<double> product;
  if (!others(place, first, second, place.variant, product)) return false;
  const FactorTable& table = costs.table(first, place.variant.orders, true);
  const std::size_t costly = table.rows * costs.table(second, place.variant.orders, true).rows;
  if (costly > referee_.left() / share_of_a_pair) return false;
  std::vector<double> with(product.size());
  Place best = place;
  for (std::size_t row = 0; row < table.rows && !referee_.over(); ++row) {
    for (std::size_t c = 0; c < product.size(); ++c) with[c] = product[c] * table.column(c)[row];
    const double before = best.rank;
    scan_rows(second, place.variant, with, best);
    if (best.rank < before) best.choices[first] = table.choice[row];
  }
  if (!(best.rank < place.rank * (1 - 1e-12))) return false;
  place = best;
  return true;
}

void Descent::scan(std::size_t group, const Variant& variant, Place& best) {
  std::vector<double> product;
  if (others(best, group, group, variant, product)) scan_rows(group, variant, product, best);
}

/// Choices that another one beats in all they cost are not looked at.
void Descent::scan_rows(std::size_t group, const Variant& variant, const std::vector<double>& product, Place& best) {
  ProductCosts& costs = *costs_[variant.costs];
  const FactorTable& table = costs.table(group, variant.orders, true);
  PricedBlock block;
  for (std::size_t from = 0; from < table.rows && referee_.left() > 0; from += PricedBlock::size) {
    const std::size_t count = std::min({PricedBlock::size, table.rows - from, referee_.left()});
    costs.price(product.data(), table, from, count, block);
    referee_.count(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double rank = rank_of(block.value[i], block.overshoot[i]);
      if (!(rank < best.rank)) continue;
      best.rank = rank;
      best.variant = variant;
      best.choices[group] = table.choice[from + i];
    }
  }
}

/// The product of the rows of all groups but two; false if one of them has a loop where this class has none, or cannot
/// fit.
bool Descent::others(const Place& place, std::size_t except, std::size_t and_except, const Variant& variant,
                     std::vector<double>& product) {
  ProductCosts& costs = *costs_[variant.costs];
  product.assign(costs.components(), 1.0);
  for (std::size_t g = 0; g < place.choices.size(); ++g) {
    if (g == except || g == and_except) continue;
    const FactorTable& table = costs.table(g, variant.orders, false);
    const auto found = std::lower_bound(table.choice.begin(), table.choice.end(), place.choices[g]);
    if (found == table.choice.end() || *found != place.choices[g]) return false;
    const auto row = static_cast<std::size_t>(found - table.choice.begin());
    for (std::size_t c = 0; c < product.size(); ++c) product[c] *= table.column(c)[row];
  }
  return true;
}

bool Descent::reorder(Place& place) {
  bool gained = false;
  for (std::size_t v = 0; v < variants_.size() && !referee_.over(); ++v) {
    referee_.judge(costs_[variants_[v].costs]->mapping(place.choices, variants_[v].orders));
    if (!(referee_.rank() < place.rank)) continue;
    place.rank = referee_.rank();
    place.variant = variants_[v];
    gained = true;
  }
  return gained;
}

namespace {

/// Where a mapping has more loops over a dimension in a level than one, this takes the outermost place.
std::vector<std::vector<int>> orders_of(const MappingSpace& space, const Mapping& mapping) {
  std::vector<std::vector<int>> orders(space.slots().size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(mapping.count); ++i)
    for (std::size_t s = 0; s < orders.size(); ++s)
      if (space.slots()[s].level == mapping.loops[i].level && space.slots()[s].kind == mapping.loops[i].kind)
        orders[s].push_back(mapping.loops[i].dim);
  return orders;
}

std::vector<FactorVector> factors_of(const MappingSpace& space, const Mapping& mapping, int dims) {
  std::vector<FactorVector> factors(static_cast<std::size_t>(dims), FactorVector(space.slots().size(), 1));
  for (std::size_t i = 0; i < static_cast<std::size_t>(mapping.count); ++i)
    for (std::size_t s = 0; s < space.slots().size(); ++s)
      if (space.slots()[s].level == mapping.loops[i].level && space.slots()[s].kind == mapping.loops[i].kind)
        factors[static_cast<std::size_t>(mapping.loops[i].dim)][s] *= mapping.loops[i].bound;
  return factors;
}

}  // namespace

void Descent::by_evaluation(Mapping at) {
  double rank = referee_.rank();
  for (bool gained = true; gained && !referee_.over();) {
    gained = false;
    for (int d = 0; d < referee_.model().dims; ++d)
      if (referee_.model().size[static_cast<std::size_t>(d)] > 1) gained = change_dim(d, at, rank) || gained;
    gained = change_order(at, rank) || gained;
  }
}

bool Descent::step(const Mapping& to, Mapping& at, double& rank) {
  referee_.judge(to);
  if (!(referee_.rank() < rank)) return false;
  rank = referee_.rank();
  at = to;
  return true;
}

bool Descent::change_dim(int dim, Mapping& at, double& rank) {
  const std::vector<FactorVector> own = factors_of(space(), at, referee_.model().dims);
  const std::vector<std::vector<int>> orders = orders_of(space(), at);
  std::vector<const FactorVector*> factors;
  for (const FactorVector& vector : own) factors.push_back(&vector);
  const Keeps keeps = at.keeps;
  bool gained = false;
  for (const FactorVector& other : space().factors(dim)) {
    if (referee_.over()) break;
    factors[static_cast<std::size_t>(dim)] = &other;
    const Mapping changed = space().build(factors, orders, keeps);
    gained = step(changed, at, rank) || gained;
  }
  return gained;
}

/// Each loop in turn becomes the innermost of its level.
bool Descent::change_order(Mapping& at, double& rank) {
  bool gained = false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(at.count) && !referee_.over(); ++i) {
    Mapping changed = at;
    for (std::size_t j = i + 1; j < static_cast<std::size_t>(at.count); ++j) {
      if (changed.loops[j].level != changed.loops[j - 1].level || changed.loops[j].kind != LoopKind::temporal ||
          changed.loops[j - 1].kind != LoopKind::temporal)
        break;
      std::swap(changed.loops[j], changed.loops[j - 1]);
    }
    if (changed == at) continue;
    gained = step(changed, at, rank) || gained;
  }
  return gained;
}

void look_for_nearest(Referee& referee, Descent& descent) {
  Rng rng(referee.options().seed, 99);
  for (int i = 0; i < 3 && !referee.found(); ++i) descent.run(descent.space().random(rng));
}

}  // namespace kasimir
