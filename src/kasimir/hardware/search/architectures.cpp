// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/architectures.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/hardware/search/engines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace kasimir {
namespace {

constexpr std::size_t most_designs = 100000;
/// A design may take this part of the time that is left, or more where fewer designs are.
constexpr std::size_t designs_in_time = 10;

/// Of goal, cycles and energy.
using Bounds = std::array<double, 3>;

/// Values of the knobs with what is known before any mapping is searched.
struct Design {
  std::vector<double> values;
  DesignPoint least;  // bounds of cycles and energy, and what the design takes
  double bound = 0;   // of the goal
  double leakage_mw = 0;
  double over = 1;  // worst share of the budget
};

bool beats(const DesignPoint& a, const DesignPoint& b) {
  return a.cycles <= b.cycles && a.energy_pj <= b.energy_pj && a.area_um2 <= b.area_um2;
}

/// What a design takes of one budget.
struct Share {
  const char* name;
  double used;
  double limit;
};

/// A design within the budget on which not all layers could be mapped, or not within the goal's limits.
struct Failure {
  const Design* design = nullptr;
  std::size_t unmapped = 0;  // layers
  double over = 1;           // worst share of a limit
  std::string constraint;
  std::string words;
};

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
    Bounds proved{Goal::unlimited, Goal::unlimited, Goal::unlimited};
    std::size_t done = 0;
    for (; done < order.size() && !over(); ++done) {
      left_ = order.size() - done;
      if (std::any_of(answer_.front.begin(), answer_.front.end(),
                      [&](const DesignPoint& point) { return beats(point, order[done]->least); }))
        ++answer_.beaten;
      else
        lower(proved, search(*order[done]));
      if (options_.progress) options_.progress({done + 1, order.size(), answer_.value, answer_.evaluations});
    }
    answer_.complete = done == order.size();
    for (std::size_t k = done; k < order.size(); ++k) lower(proved, bounds_of(*order[k]));
    finish(proved);
    return std::move(answer_);
  }

 private:
  static void lower(Bounds& proved, const Bounds& by) {
    for (std::size_t k = 0; k < proved.size(); ++k) proved[k] = std::min(proved[k], by[k]);
  }
  static Bounds bounds_of(const Design& design) { return {design.bound, design.least.cycles, design.least.energy_pj}; }

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
    least.values = design.values;
    least.area_um2 = architecture.area_um2();
    least.bram18 = architecture.bram18();
    design.leakage_mw = architecture.leakage_mw();
    const bool leaks_all = design.leakage_mw >= evaluation_.max_power_mw;
    EvaluationOptions evaluation = evaluation_;
    if (leaks_all) evaluation.max_power_mw = Goal::unlimited;
    for (const Problem& layer : layers_) {
      const CostModel model(layer, architecture, evaluation);
      least.cycles += compulsory_bound(model, {.objective = Objective::latency});
      least.energy_pj += compulsory_bound(model, {.objective = Objective::energy});
      least.dsp = std::max(least.dsp, model.mac.dsp * model.units);
      least.lut = std::max(least.lut, model.mac.lut * model.units);
    }
    design.bound = value_of(options_.mapping.goal, least.cycles, least.energy_pj);
    for (const Share& share : shares(design)) design.over = std::max(design.over, share.used / share.limit);
    if (leaks_all) design.over = std::max(design.over, 1 + 1e-6);
  }

  [[nodiscard]] std::array<Share, 5> shares(const Design& design) const {
    const DesignBudget& budget = options_.budget;
    return {{{"area um2", design.least.area_um2, budget.area_um2},
             {"leakage mW", design.leakage_mw, evaluation_.max_power_mw},
             {"DSP", design.least.dsp, budget.dsp},
             {"LUT", design.least.lut, budget.lut},
             {"BRAM18", design.least.bram18, budget.bram18}}};
  }

  /// Maps the network for each aim. @returns the bounds that are proved for this design.
  Bounds search(const Design& design) {
    ++answer_.searched;
    const Architecture architecture = with_knobs(base_, knobs_, design.values);
    Bounds proved = bounds_of(design);
    const Goal& goal = options_.mapping.goal;
    std::vector<Goal> aims{goal};
    for (const Objective objective : {Objective::latency, Objective::energy})
      if (aims.front() != Goal{.objective = objective}) aims.push_back({.objective = objective});
    const double until = watch_.seconds() + (options_.mapping.seconds - watch_.seconds()) /
                                                static_cast<double>(std::min(left_, designs_in_time));
    for (std::size_t k = 0; k < aims.size(); ++k) {
      SearchOptions options = options_.mapping;
      options.goal = aims[k];
      if (options.seconds > 0)
        options.seconds = std::max(1e-3, (until - watch_.seconds()) / static_cast<double>(aims.size() - k));
      const NetworkAnswer network = search_network(layers_, architecture, evaluation_, options_.engine, options);
      answer_.evaluations += network.evaluations;
      if (k == 0) proved[0] = std::max(proved[0], network.lower_bound);
      const bool limited = k == 0 && aims.front() != Goal{.objective = goal.objective};
      if (aims[k].objective == Objective::latency && !limited) proved[1] = std::max(proved[1], network.lower_bound);
      if (aims[k].objective == Objective::energy && !limited) proved[2] = std::max(proved[2], network.lower_bound);
      if (network.layers.empty()) break;
      if (std::all_of(network.layers.begin(), network.layers.end(), [](const SearchAnswer& a) { return a.found; }))
        note(design, network, aims[k]);
      if (k == 0 && !network.found) note_failure(design, network);
    }
    return proved;
  }

  void note(const Design& design, const NetworkAnswer& network, const Goal& aim) {
    DesignPoint point = design.least;
    point.cycles = network.cycles;
    point.energy_pj = network.energy_pj;
    point.power_mw = power_mw(network.energy_pj, network.cycles, base_.clock_mhz);
    point.aim = aim;
    const double reached = value_of(aim, network.cycles, network.energy_pj);
    point.gap = network.lower_bound > 0 ? std::max(0.0, reached / network.lower_bound - 1) : Goal::unlimited;
    for (const SearchAnswer& layer : network.layers) {
      point.mappings.push_back(layer.mapping);
      point.mapping_gap.push_back(layer.gap());
    }
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

  void note_failure(const Design& design, const NetworkAnswer& network) {
    const Goal& goal = options_.mapping.goal;
    Failure failure{.design = &design, .constraint = {}, .words = network.misfit};
    failure.over = std::max({1.0, network.cycles / goal.max_cycles, network.energy_pj / goal.max_energy_pj});
    for (const SearchAnswer& layer : network.layers) {
      if (layer.found) continue;
      ++failure.unmapped;
      if (failure.constraint.empty()) failure.constraint = layer.misfit.constraint;
    }
    if (failure.constraint.empty()) failure.constraint = network.cycles > goal.max_cycles ? "cycles" : "energy";
    ++killed_[failure.constraint];
    ++failures_;
    const bool nearer = nearest_.design == nullptr || failure.unmapped < nearest_.unmapped ||
                        (failure.unmapped == nearest_.unmapped && failure.over < nearest_.over);
    if (nearer) nearest_ = std::move(failure);
  }

  [[nodiscard]] bool over() const {
    const SearchOptions& options = options_.mapping;
    if (options.should_stop && options.should_stop()) return true;
    return options.seconds > 0 && watch_.seconds() > options.seconds;
  }

  void finish(const Bounds& proved) {
    std::sort(answer_.front.begin(), answer_.front.end(), [](const DesignPoint& a, const DesignPoint& b) {
      return std::tie(a.cycles, a.energy_pj, a.area_um2) < std::tie(b.cycles, b.energy_pj, b.area_um2);
    });
    Bounds reached{answer_.value, Goal::unlimited, Goal::unlimited};
    for (const DesignPoint& point : answer_.front) lower(reached, {Goal::unlimited, point.cycles, point.energy_pj});
    answer_.lower_bound = std::min(proved[0], reached[0]);
    answer_.least_cycles = std::min(proved[1], reached[1]);
    answer_.least_energy_pj = std::min(proved[2], reached[2]);
    answer_.seconds = watch_.seconds();
    if (!answer_.found) answer_.misfit = answer_.over_budget == designs_.size() ? over_budget() : unmapped();
  }

  [[nodiscard]] std::string values_text(const Design& design) const {
    std::vector<std::string> parts;
    for (std::size_t k = 0; k < knobs_.size(); ++k)
      parts.push_back(fmt::format("{} {}", str(knobs_[k], base_), value_text(knobs_[k], design.values[k])));
    return parts.empty() ? "the architecture as it is" : fmt::format("{}", fmt::join(parts, ", "));
  }

  [[nodiscard]] std::string over_budget() const {
    const auto nearest = std::min_element(designs_.begin(), designs_.end(),
                                          [](const Design& a, const Design& b) { return a.over < b.over; });
    const auto taken = shares(*nearest);
    std::array<std::size_t, taken.size()> kills{};
    for (const Design& design : designs_) {
      const auto here = shares(design);
      for (std::size_t k = 0; k < here.size(); ++k) kills[k] += here[k].used > here[k].limit ? 1 : 0;
    }
    const auto most = std::max_element(kills.begin(), kills.end());
    std::string text =
        fmt::format("all {} designs are over the budget, {} of them in {}; nearest: {}", designs_.size(), *most,
                    taken[static_cast<std::size_t>(most - kills.begin())].name, values_text(*nearest));
    for (const Share& share : taken)
      if (share.used > share.limit)
        text += fmt::format("\n  {} {:.6g}, the budget is {:.6g}", share.name, share.used, share.limit);
    return text;
  }

  [[nodiscard]] std::string unmapped() const {
    if (failures_ == 0) return "no design was searched: the budget of time or evaluations is too small";
    const auto most = std::max_element(killed_.begin(), killed_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return fmt::format(
        "none of the {} designs that were searched will do, {} of them because of the {}; nearest: {}\n  {}", failures_,
        most->second, most->first, values_text(*nearest_.design), nearest_.words);
  }

  const std::vector<Problem>& layers_;
  const Architecture& base_;
  const std::vector<ArchitectureKnob>& knobs_;
  const EvaluationOptions& evaluation_;
  const DesignOptions& options_;
  Stopwatch watch_;
  std::vector<Design> designs_;
  std::size_t left_ = 1;
  DesignAnswer answer_;
  std::map<std::string, std::size_t> killed_;
  std::size_t failures_ = 0;
  Failure nearest_;
};

}  // namespace

DesignAnswer search_architecture(const std::vector<Problem>& layers, const Architecture& base,
                                 const std::vector<ArchitectureKnob>& knobs, const EvaluationOptions& evaluation,
                                 const DesignOptions& options) {
  if (layers.empty()) throw input_error("a network without layers has nothing to map");
  return DesignSearch(layers, base, knobs, evaluation, options).run();
}

}  // namespace kasimir
