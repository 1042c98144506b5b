// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/engine_table.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace kasimir {
namespace {

// Shares of dsp, bram18, lut and places that one cycle of a layer on a shape keeps busy.
std::array<double, 4> shares(const ChunkLayerCost& cost, const ResourceBudget& budget, double overhead_dsp,
                             std::size_t chunks) {
  return {(cost.resources.dsp + overhead_dsp) / budget.dsp, cost.resources.bram18 / budget.bram18,
          cost.resources.lut / budget.lut, 1.0 / static_cast<double>(chunks)};
}

}  // namespace

EngineTable::EngineTable(std::vector<Item> items, const AssignmentSpace& space, const ResourceBudget& budget,
                         double overhead_dsp, const Cost& cost)
    : items_(std::move(items)), budget_(budget), overhead_dsp_(overhead_dsp) {
  std::set<std::pair<bool, int>> needed;
  for (const Item& item : items_) needed.insert({item.depthwise, item.bits});
  for (const auto& [depthwise, bits] : needed)
    add_family(depthwise, bits, depthwise ? space.depthwise : space.standard, cost);
}

void EngineTable::add_family(bool depthwise, int bits, const std::vector<ChunkSpace>& spaces, const Cost& cost) {
  Family family;
  family.depthwise = depthwise;
  family.bits = bits;
  std::set<std::size_t> kinds;
  for (const Item& item : items_)
    if (item.depthwise == depthwise && item.bits <= bits) kinds.insert(item.kind);
  family.kinds.assign(kinds.begin(), kinds.end());
  for (std::size_t i = 0; i < family.kinds.size(); ++i) family.place[family.kinds[i]] = i;

  std::vector<ChunkShape> shapes;
  for (const ChunkSpace& space : spaces)
    for (const ChunkShape& shape : effective_shapes(space)) shapes.push_back(shape);
  if (shapes.empty()) throw input_error("no shapes for {} chunks", depthwise ? "depthwise" : "standard");
  std::vector<std::vector<ChunkLayerCost>> costs(shapes.size());
  for (std::size_t s = 0; s < shapes.size(); ++s)
    for (const std::size_t kind : family.kinds) costs[s].push_back(cost(kind, shapes[s], bits));
  for (const std::size_t s : unbeaten_shapes(costs)) {
    family.shapes.push_back(shapes[s]);
    family.costs.push_back(std::move(costs[s]));
  }
  families_.push_back(std::move(family));
}

int EngineTable::bits(const std::vector<std::size_t>& group) const {
  int widest = 0;
  for (const std::size_t item : group) widest = std::max(widest, items_[item].bits);
  return widest;
}

const EngineTable::Family& EngineTable::family(const std::vector<std::size_t>& group) const {
  const int widest = bits(group);
  const bool depthwise = items_[group.front()].depthwise;
  const auto found = std::find_if(families_.begin(), families_.end(),
                                  [&](const Family& f) { return f.depthwise == depthwise && f.bits == widest; });
  KASIMIR_CHECK(found != families_.end(), "no family of {} bits", widest);
  return *found;
}

const std::vector<ChunkOption>& EngineTable::options(const std::vector<std::size_t>& group) {
  std::vector<std::size_t> key;
  for (const std::size_t item : group) key.push_back(items_[item].kind);
  std::sort(key.begin(), key.end());
  key.push_back(static_cast<std::size_t>(bits(group)));
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;

  const Family& engines = family(group);
  std::map<std::size_t, double> times;
  for (const std::size_t item : group) times[engines.place.at(items_[item].kind)] += 1;
  std::vector<ChunkOption> options;
  for (std::size_t s = 0; s < engines.shapes.size(); ++s) {
    ChunkCost sum;
    for (const auto& [place, count] : times) sum.add(engines.costs[s][place], count);
    sum.add_overhead(overhead_dsp_);
    options.push_back({sum.cycles(), sum.resources(), s});
  }
  return known_[key] = pareto_options(std::move(options), budget_);
}

const ChunkShape& EngineTable::shape(const std::vector<std::size_t>& group, const ChunkOption& option) const {
  return family(group).shapes[option.shape];
}

EngineTable::Column EngineTable::column_of(const Item& item, std::size_t max_chunks) const {
  Column column;
  for (const Family& engines : families_) {
    // A layer may run on the shapes of each family that is wide enough.
    if (engines.depthwise != item.depthwise || engines.bits < item.bits) continue;
    const std::size_t place = engines.place.at(item.kind);
    for (const auto& row : engines.costs) {
      const ChunkLayerCost& cost = row[place];
      const std::array<double, 4> share = shares(cost, budget_, overhead_dsp_, max_chunks);
      if (std::max({share[0], share[1], share[2]}) > 1) continue;
      column.cycles.push_back(cost.cycles);
      column.share.push_back(share);
      column.least_bits = std::min(column.least_bits, cost.resources.dram_bits);
    }
  }
  return column;
}

EngineTable::Priced EngineTable::priced(const std::vector<Column>& columns, const std::array<double, 4>& price) {
  Priced sum;
  for (const Column& column : columns) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t at = 0;
    for (std::size_t i = 0; i < column.cycles.size(); ++i) {
      const auto& s = column.share[i];
      const double cost = column.cycles[i] * (price[0] * s[0] + price[1] * s[1] + price[2] * s[2] + price[3] * s[3]);
      if (cost >= best) continue;
      best = cost;
      at = i;
    }
    sum.cycles += best;
    for (std::size_t r = 0; r < price.size(); ++r) sum.slope[r] += column.cycles[at] * column.share[at][r];
  }
  return sum;
}

double EngineTable::lower_bound(std::size_t max_chunks) const {
  std::vector<Column> columns;
  double bound = 0, bits_moved = 0;
  for (const Item& item : items_) {
    columns.push_back(column_of(item, max_chunks));
    // Without a shape that fits there is no design to bound.
    if (columns.back().cycles.empty()) return 0;
    bound = std::max(bound, *std::min_element(columns.back().cycles.begin(), columns.back().cycles.end()));
    bits_moved += columns.back().least_bits;
  }
  bound = std::max(bound, bits_moved / budget_.dram_bits_per_cycle);

  std::array<double, 4> price{0.25, 0.25, 0.25, 0.25};
  for (int step = 0; step < 150; ++step) {
    const Priced sum = priced(columns, price);
    bound = std::max(bound, sum.cycles);
    const double rate = 1.0 / std::sqrt(1.0 + step);
    double total = 0;
    for (std::size_t r = 0; r < price.size(); ++r) {
      price[r] *= std::exp(rate * std::clamp(sum.slope[r] / std::max(sum.cycles, 1.0) - 1, -1.0, 1.0));
      total += price[r];
    }
    for (double& p : price) p /= total;
  }
  return bound;
}

}  // namespace kasimir
