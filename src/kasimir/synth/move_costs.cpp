// SPDX-License-Identifier: Apache-2.0
// The part of a world that reads costs and conditions off the stages of a move.
#include "kasimir/kernel/verify.h"
#include "kasimir/synth/world.h"

#include <algorithm>
#include <cstdlib>

namespace kasimir {
namespace {

constexpr int macs_row = 0;
constexpr int params_row = 1;

}  // namespace

FreeTerm World::term(const Size& size) const {
  FreeTerm result{free_powers(size), {}};
  const Size bound = without_free_symbols(size);
  for (const Binding& binding : sites_.bindings()) result.factor.push_back(bound.value_at(binding));
  return result;
}

WholeTerm World::whole_term(const Size& size) const {
  WholeTerm result{free_powers(size), {}, {}};
  const Size bound = without_free_symbols(size);
  for (const Binding& binding : sites_.bindings()) {
    const Rational value = bound.at(binding);
    result.num.push_back(value.num());
    result.den.push_back(value.den());
  }
  return result;
}

void World::add_bounds(float* bounds, const FreeTerm& term, int row) const {
  float* least = bounds + static_cast<std::ptrdiff_t>(row) * lanes_;
  float* most = bounds + static_cast<std::ptrdiff_t>(bounded_costs + row) * lanes_;
  for (std::size_t site = 0; site < loads_.size(); ++site) {
    least[site] += static_cast<float>(least_at(term, site, nullptr));
    double dearest = term.factor[site];
    for (const int power : term.powers)
      for (int p = power; p > 0; --p) dearest *= static_cast<double>(widest(loads_[site].site));
    most[site] += static_cast<float>(dearest);
  }
}

void World::add_matched(MoveId id, const ShapeFacts& matched, float* sum) const {
  const MoveCosts& more = costs(id);
  const auto add = [&](const double* fixed, const std::vector<FreeTerm>& free, int row) {
    float* at = sum + static_cast<std::ptrdiff_t>(row) * lanes_;
    for (std::size_t site = 0; site < loads_.size(); ++site) {
      double cost = fixed[site];
      for (const FreeTerm& one : free) cost += least_at(one, site, &matched);
      at[site] += static_cast<float>(cost);
    }
  };
  add(more.fixed_of(CostKind::macs, site_count()), more.macs, macs_row);
  add(more.fixed_of(CostKind::params, site_count()), more.params, params_row);
}

/// The least that the term costs at a site; the symbol of `matched`, if any, has the value that it must have.
double World::least_at(const FreeTerm& term, std::size_t site, const ShapeFacts* matched) const {
  const Site& at = loads_[site].site;
  const auto top = static_cast<double>(widest(at));
  const double bottom = std::min(static_cast<double>(options_.lane), top);
  double least = term.factor[site];
  for (int i = 0; i < free_symbol_count; ++i) {
    const int power = term.powers[static_cast<std::size_t>(i)];
    const bool given = matched != nullptr && i == matched->to_match;
    const double value = given       ? static_cast<double>(matched->match_ratio) * static_cast<double>(at.co)
                         : power > 0 ? bottom
                                     : top;
    for (int p = std::abs(power); p > 0; --p) least = power > 0 ? least * value : least / value;
  }
  return least;
}

namespace {

Size volume_of(const Graph& graph, const Stage& stage) {
  Size volume(1);
  for (const auto& axis : graph.tensors[static_cast<std::size_t>(stage.out)].axes)
    if (axis.kind != AxisKind::batch) volume *= axis.extent;
  return volume;
}

/// All of a graph that costs and conditions depend on, as 128 bits: which sizes there are, in whatever place; the
/// number of elements of each result and each weight; the points of each sum of products.
class CostName {
 public:
  explicit CostName(const Graph& graph) {
    for (const Tensor& tensor : graph.tensors) add(tensor);
    for (const Stage& stage : graph.stages) add(stage, graph);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < sizes_; ++i) all += mix_bits(size_[i]);
    add(all);
  }
  std::uint64_t low = 1;
  std::uint64_t high = 2;

 private:
  void add(std::uint64_t value) {
    low = mix_bits(low ^ value);
    high = mix_bits(high + value);
  }
  void note(const Size& size) {
    const std::uint64_t hash = size.hash();
    if (std::find(size_.begin(), size_.begin() + static_cast<std::ptrdiff_t>(sizes_), hash) !=
        size_.begin() + static_cast<std::ptrdiff_t>(sizes_))
      return;
    // Beyond that they count one by one, in their order.
    if (sizes_ == size_.size()) return add(hash);
    size_[sizes_++] = hash;
  }
  void add(const Tensor& tensor) {
    for (const auto& axis : tensor.axes) note(axis.extent);
    if (tensor.role != Role::weight) return;
    Size count(1);
    bool spatial = false;
    for (const auto& axis : tensor.axes) {
      count *= axis.extent;
      spatial = spatial || is_spatial(axis.kind) || axis.extent.has(Symbol::H) || axis.extent.has(Symbol::W);
    }
    add(count.hash() + (spatial ? 1U : 0U));
  }
  void add(const Stage& stage, const Graph& graph) {
    for (const Iter& iter : stage.iters) note(iter.extent);
    std::uint64_t products = 0;
    for (const auto& node : stage.nodes) {
      if (const auto* read = std::get_if<BasicRead<Symbolic>>(&node)) {
        for (const Coord& coord : read->at)
          for (const auto& term : coord.terms) note(term.second);
      } else if (const auto* apply = std::get_if<Apply>(&node)) {
        products = mix_bits(products ^ (apply->fn == Fn::mul ? 1U : 0U));
      } else {
        products = mix_bits(products ^ 2U);
      }
    }
    add(volume_of(graph, stage).hash());
    if (stage.reduce != Reduce::sum || products == 0) return;
    Size points(1);
    for (const Iter& iter : stage.iters)
      if (iter.kind != AxisKind::batch) points *= iter.extent;
    add(points.hash());
    add(products + (stage.stat ? 1U : 0U));
  }

  std::array<std::uint64_t, 32> size_{};
  std::size_t sizes_ = 0;
};

}  // namespace

/// The costs of stages: most steps have the sizes of some other.
std::int32_t World::costs_of(const Graph& graph) {
  const CostName name(graph);
  const auto [found, is_new] =
      cost_ids_.try_emplace(Key{name.low, name.high}, static_cast<std::int32_t>(costs_.size()));
  if (is_new) measure(graph, costs_.emplace_back());
  return found->second;
}

template <typename Number>
Number* World::new_rows(std::vector<HugeVector<Number>>& blocks, std::size_t size) {
  constexpr std::size_t block = 32768;  // bounds at four sites fill one large page
  if ((costs_.size() - 1) % block == 0) {
    blocks.emplace_back();
    blocks.back().reserve(block * size);  // never moved: moves point there
  }
  const std::size_t first = blocks.back().size();
  blocks.back().resize(first + size, Number{0});
  return blocks.back().data() + first;
}

/// Costs and conditions, from the stages. @pre `costs` is the last of costs_.
void World::measure(const Graph& graph, MoveCosts& costs) {
  const Cost total = cost(graph);
  float* bounds = new_rows(bounds_, no_bounds_.size());
  double* all_fixed = new_rows(fixed_, cost_kinds * loads_.size());
  costs.bounds = bounds;
  costs.fixed = all_fixed;
  const auto fixed_of = [&](CostKind kind) { return all_fixed + static_cast<std::size_t>(kind) * loads_.size(); };
  const auto add = [&](const SizeSum& sum, int row, std::vector<FreeTerm>& free, double* fixed) {
    for (const Size& size : sum.terms()) {
      FreeTerm one = term(size);
      add_bounds(bounds, one, row);
      if (size.has_free()) {
        free.push_back(std::move(one));
      } else {
        for (std::size_t site = 0; site < loads_.size(); ++site) fixed[site] += one.factor[site];
      }
    }
  };
  add(total.macs, macs_row, costs.macs, fixed_of(CostKind::macs));
  add(total.params, params_row, costs.params, fixed_of(CostKind::params));
  for (const Size& size : whole_sizes(graph)) {
    if (size.has_free()) {
      costs.whole.push_back(whole_term(size));
    } else if (!sites_.whole(size)) {
      costs.rule = rule_id("every extent is a whole number at every site");
    }
  }
  double* const fixed_bytes = fixed_of(CostKind::bytes);
  for (const Stage& stage : graph.stages) {
    const Size volume = volume_of(graph, stage);
    FreeTerm elements = term(volume);
    if (volume.has_free()) {
      costs.volumes.push_back(std::move(elements));
    } else {
      for (std::size_t site = 0; site < loads_.size(); ++site)
        fixed_bytes[site] += bytes_per_element * elements.factor[site];
    }
    if (sites_.largest(volume) > static_cast<double>(options_.most_elements))
      costs.rule = rule_id("memory: no tensor is too large");
  }
  if (!options_.weights_may_depend_on_resolution && !independent_of_resolution(graph))
    costs.rule = rule_id("screen: no weight depends on H or W");
}

}  // namespace kasimir
