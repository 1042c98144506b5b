// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/architectures.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/hardware/search/engines.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::size_t most_designs = 100000;

/// Values of the knobs with what is known before any mapping is searched.
struct Design {
  std::vector<double> values;
  DesignPoint least;  // bounds of cycles and energy, and what the design takes
  double bound = 0;   // of the goal
  double over = 1;    // worst share of the budget
};

bool beats(const DesignPoint& a, const DesignPoint& b) {
  return a.cycles <= b.cycles && a.energy_pj <= b.energy_pj && a.area_um2 <= b.area_um2;
}

class DesignSearch {
 public:
  DesignSearch(const std::vector<Problem>& layers, const Architecture& base, const std::vector<ArchitectureKnob>& knobs,
               const EvaluationOptions& evaluation, const DesignOptions& options)
      : layers_(layers), base_(base), knobs_(knobs), evaluation_(evaluation), options_(options) {}

  DesignAnswer run() {
    list();
    std::vector<const Design*> order;
    for (const Design& design : designs_)
      if (design.over <= 1 + 1e-9) order.push_back(&design);
    answer_.over_budget = designs_.size() - order.size();
    std::stable_sort(order.begin(), order.end(), [](const Design* a, const Design* b) { return a->bound < b->bound; });
    double proved = Goal::unlimited;
    std::size_t done = 0;
    for (; done < order.size() && !over(); ++done) {
      if (std::any_of(answer_.front.begin(), answer_.front.end(),
                      [&](const DesignPoint& point) { return beats(point, order[done]->least); }))
        ++answer_.beaten;
      else
        proved = std::min(proved, std::max(order[done]->bound, search(*order[done])));
      if (options_.progress) options_.progress({done + 1, order.size(), answer_.value});
    }
    answer_.complete = done == order.size();
    if (!answer_.complete) proved = std::min(proved, order[done]->bound);
    finish(proved);
    return std::move(answer_);
  }

 private:
  void list() {
    std::size_t count = 1;
    for (const ArchitectureKnob& knob : knobs_) {
      count *= knob.values.size();
      if (count == 0 || count > most_designs)
        throw input_error("the values of the knobs make {} designs, 1 to {} can be searched",
                          count == 0 ? "no" : "more", most_designs);
    }
    answer_.designs = count;
    for (std::size_t number = 0; number < count; ++number) {
      Design design;
      std::size_t rest = number;
      for (const ArchitectureKnob& knob : knobs_) {
        design.values.push_back(knob.values[rest % knob.values.size()]);
        rest /= knob.values.size();
      }
      bound(design);
      designs_.push_back(std::move(design));
    }
  }

  void bound(Design& design) const {
    const Architecture architecture = with_knobs(base_, knobs_, design.values);
    DesignPoint& least = design.least;
    least.area_um2 = architecture.area_um2();
    for (const Problem& layer : layers_) {
      const CostModel model(layer, architecture, evaluation_);
      least.cycles += compulsory_bound(model, {.objective = Objective::latency});
      least.energy_pj += compulsory_bound(model, {.objective = Objective::energy});
      least.dsp = std::max(least.dsp, model.mac.dsp * model.units);
      least.lut = std::max(least.lut, model.mac.lut * model.units);
    }
    design.bound = value_of(options_.mapping.goal, least.cycles, least.energy_pj);
    design.over = std::max(
        {least.area_um2 / options_.budget.area_um2, least.dsp / options_.budget.dsp, least.lut / options_.budget.lut});
  }

  /// Maps the network for each aim. @returns the bound that is proved for the goal.
  double search(const Design& design) {
    ++answer_.searched;
    const Architecture architecture = with_knobs(base_, knobs_, design.values);
    double proved = 0;
    const Goal& goal = options_.mapping.goal;
    std::vector<Goal> aims{goal};
    for (const Objective objective : {Objective::latency, Objective::energy})
      if (aims.front() != Goal{.objective = objective}) aims.push_back({.objective = objective});
    for (std::size_t k = 0; k < aims.size(); ++k) {
      SearchOptions options = options_.mapping;
      options.goal = aims[k];
      if (options.seconds > 0) options.seconds = std::max(1e-3, options.seconds - watch_.seconds());
      const NetworkAnswer network = search_network(layers_, architecture, evaluation_, options_.engine, options);
      answer_.evaluations += network.evaluations;
      if (k == 0) proved = network.lower_bound;
      if (network.layers.empty()) break;
      if (std::all_of(network.layers.begin(), network.layers.end(), [](const SearchAnswer& a) { return a.found; }))
        note(design, network);
    }
    return proved;
  }

  void note(const Design& design, const NetworkAnswer& network) {
    DesignPoint point = design.least;
    point.values = design.values;
    point.cycles = network.cycles;
    point.energy_pj = network.energy_pj;
    for (const SearchAnswer& layer : network.layers) point.mappings.push_back(layer.mapping);
    const Goal& goal = options_.mapping.goal;
    const double value = value_of(goal, point.cycles, point.energy_pj);
    const bool kept =
        point.cycles <= goal.max_cycles && point.energy_pj <= goal.max_energy_pj && point.area_um2 <= goal.max_area_um2;
    if (kept && value < answer_.value) {
      answer_.found = true;
      answer_.value = value;
      answer_.best = point;
    }
    const auto& front = answer_.front;
    if (std::any_of(front.begin(), front.end(), [&](const DesignPoint& other) { return beats(other, point); })) return;
    std::erase_if(answer_.front, [&](const DesignPoint& other) { return beats(point, other); });
    answer_.front.push_back(std::move(point));
  }

  [[nodiscard]] bool over() const {
    const SearchOptions& options = options_.mapping;
    if (options.should_stop && options.should_stop()) return true;
    return options.seconds > 0 && watch_.seconds() > options.seconds;
  }

  void finish(double proved) {
    std::sort(answer_.front.begin(), answer_.front.end(), [](const DesignPoint& a, const DesignPoint& b) {
      return std::tie(a.cycles, a.energy_pj, a.area_um2) < std::tie(b.cycles, b.energy_pj, b.area_um2);
    });
    answer_.lower_bound = std::min(proved, answer_.value);
    answer_.seconds = watch_.seconds();
    if (!answer_.found) answer_.misfit = why();
  }

  [[nodiscard]] std::string why() const {
    if (answer_.over_budget < designs_.size())
      return fmt::format("none of the {} designs within the budget is known to keep the limits", answer_.searched);
    const auto nearest = std::min_element(designs_.begin(), designs_.end(),
                                          [](const Design& a, const Design& b) { return a.over < b.over; });
    std::string text = fmt::format("all {} designs are over the budget; nearest:", designs_.size());
    for (std::size_t k = 0; k < knobs_.size(); ++k)
      text += fmt::format("{} {} {}", k == 0 ? "" : ",", str(knobs_[k], base_), nearest->values[k]);
    const auto amount = [&](const char* what, double used, double limit) {
      if (used > limit) text += fmt::format("\n  {} {}, the budget is {}", what, used, limit);
    };
    amount("area um2", nearest->least.area_um2, options_.budget.area_um2);
    amount("DSP", nearest->least.dsp, options_.budget.dsp);
    amount("LUT", nearest->least.lut, options_.budget.lut);
    return text;
  }

  const std::vector<Problem>& layers_;
  const Architecture& base_;
  const std::vector<ArchitectureKnob>& knobs_;
  const EvaluationOptions& evaluation_;
  const DesignOptions& options_;
  Stopwatch watch_;
  std::vector<Design> designs_;
  DesignAnswer answer_;
};

}  // namespace

std::string str(const ArchitectureKnob& knob, const Architecture& architecture) {
  constexpr std::string_view kinds[] = {"columns", "rows", "capacity", "bandwidth", "capacity"};
  constexpr std::string_view roles[] = {"inputs", "weights", "outputs"};
  std::string text =
      fmt::format("{} of {}", kinds[static_cast<std::size_t>(knob.kind)], architecture.levels[knob.level].name);
  if (knob.kind == KnobKind::partition) text += fmt::format(" for {}", roles[static_cast<std::size_t>(knob.role)]);
  return text;
}

Architecture with_knobs(const Architecture& base, const std::vector<ArchitectureKnob>& knobs,
                        const std::vector<double>& values) {
  KASIMIR_CHECK(knobs.size() == values.size(), "{} knobs, {} values", knobs.size(), values.size());
  Architecture architecture = base;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (knobs[k].level >= architecture.levels.size())
      throw input_error("a knob is for level {}, the architecture has {}", knobs[k].level, architecture.levels.size());
    MemoryLevel& level = architecture.levels[knobs[k].level];
    const bool whole = knobs[k].kind == KnobKind::columns || knobs[k].kind == KnobKind::rows;
    if (!(values[k] > 0) || (whole && values[k] != std::floor(values[k])))
      throw input_error("{} cannot be {}: a {} number above 0 is needed", str(knobs[k], base), values[k],
                        whole ? "whole" : "finite");
    switch (knobs[k].kind) {
      case KnobKind::columns:
        level.x.size = static_cast<std::int64_t>(values[k]);
        break;
      case KnobKind::rows:
        level.y.size = static_cast<std::int64_t>(values[k]);
        break;
      case KnobKind::capacity:
        level.capacity_bits = values[k];
        break;
      case KnobKind::bandwidth:
        level.bandwidth = values[k];
        break;
      case KnobKind::partition:
        level.partition_bits[static_cast<std::size_t>(knobs[k].role)] = values[k];
        break;
    }
  }
  return architecture;
}

DesignAnswer search_architecture(const std::vector<Problem>& layers, const Architecture& base,
                                 const std::vector<ArchitectureKnob>& knobs, const EvaluationOptions& evaluation,
                                 const DesignOptions& options) {
  if (layers.empty()) throw input_error("a network without layers has nothing to map");
  return DesignSearch(layers, base, knobs, evaluation, options).run();
}

}  // namespace kasimir
