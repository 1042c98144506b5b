// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/stopwatch.h"
#include "kasimir/hardware/search/engines.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

/// Questions of the form energy + price * cycles that a network search asks at most.
constexpr int rounds = 14;

/// Of the time that is left, for one round. The first two, of energy and of cycles alone, only say where the others
/// should look.
constexpr double first_share = 0.1;
constexpr double round_share = 0.6;

/// What a round proved: energy + price * cycles >= least, for the sums over all layers.
struct Cut {
  double price = 0;
  double least = 0;
};

/// All layers that are alike, searched once.
struct Kind {
  std::unique_ptr<CostModel> model;  // the search keeps its address
  MappingSearch search;
  double count = 0;
  double seconds = 0;  // of the last search
};

class NetworkSearch {
 public:
  NetworkSearch(const std::vector<Problem>& layers, const Architecture& architecture,
                const EvaluationOptions& evaluation, std::string_view engine, const SearchOptions& options)
      : options_(options) {
    for (const Problem& layer : layers) {
      const auto same =
          std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) { return kind.model->problem == layer; });
      kind_of_.push_back(static_cast<std::size_t>(same - kinds_.begin()));
      if (same != kinds_.end()) {
        ++same->count;
        continue;
      }
      auto model = std::make_unique<CostModel>(layer, architecture, evaluation);
      MappingSearch search(*model, engine);
      kinds_.push_back({std::move(model), std::move(search), 1, 0});
    }
  }

  NetworkAnswer run() {
    double least_energy = 0;  // whatever the searches have time to prove
    for (const Kind& kind : kinds_) {
      least_cycles_ += kind.count * compulsory_bound(*kind.model, {.objective = Objective::latency});
      least_energy += kind.count * compulsory_bound(*kind.model, {.objective = Objective::energy});
    }
    cuts_.push_back({0, least_energy});
    const Goal& goal = options_.goal;
    if (goal_adds_up())
      ask(goal.objective, goal.pj_per_cycle);
    else
      balance(!std::isinf(goal.max_cycles) || !std::isinf(goal.max_energy_pj));
    if (!best_.found && !nearest_.layers.empty()) best_ = nearest_;
    if (!best_.found) best_.misfit = why();
    best_.lower_bound = std::min(bound(), best_.found ? best_.value : Goal::unlimited);
    best_.evaluations = evaluations_;
    best_.seconds = watch_.seconds();
    return best_;
  }

 private:
  /// The goal of the network is a sum over its layers: one round of questions answers it.
  [[nodiscard]] bool goal_adds_up() const {
    const Goal& goal = options_.goal;
    return goal.objective != Objective::energy_delay && std::isinf(goal.max_cycles) && std::isinf(goal.max_energy_pj);
  }

  /// What easy layers leave of their time goes to the hard ones.
  [[nodiscard]] std::vector<std::size_t> easy_first() const {
    std::vector<std::size_t> order(kinds_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (options_.seconds > 0)
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return kinds_[a].seconds < kinds_[b].seconds; });
    return order;
  }

  /// Searches each kind with a goal that adds up, and keeps the answer if it is the best so far.
  bool ask(Objective objective, double price) {
    const double share = goal_adds_up() ? 1 : objective == Objective::weighted ? round_share : first_share;
    const double until = watch_.seconds() + share * (options_.seconds - watch_.seconds());
    std::vector<SearchAnswer> answers(kinds_.size());
    std::size_t left = kinds_.size();
    for (const std::size_t k : easy_first()) {
      SearchOptions options = options_;
      options.goal = {.objective = objective, .pj_per_cycle = price, .max_area_um2 = options_.goal.max_area_um2};
      if (options_.seconds > 0) {
        options.seconds = (until - watch_.seconds()) / static_cast<double>(left--);
        const bool answered = !best_.layers.empty() || !nearest_.layers.empty();
        if (answered && watch_.seconds() >= options_.seconds) return false;
        options.seconds = std::max(options.seconds, 1e-3);
      }
      answers[k] = kinds_[k].search.run(options);
      kinds_[k].seconds = answers[k].seconds;
      evaluations_ += answers[k].evaluations;
    }
    NetworkAnswer answer;
    answer.found = true;
    double least = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      answer.found = answer.found && answers[k].found;
      answer.cycles += kinds_[k].count * answers[k].evaluation.cycles;
      answer.energy_pj += kinds_[k].count * answers[k].evaluation.energy_pj;
      least += kinds_[k].count * answers[k].lower_bound;
    }
    for (const std::size_t kind : kind_of_) answer.layers.push_back(answers[kind]);
    if (objective == Objective::latency) least_cycles_ = std::max(least_cycles_, least);
    if (objective == Objective::energy) cuts_.push_back({0, least});
    if (objective == Objective::weighted) cuts_.push_back({price, least});
    keep(std::move(answer));
    return !(options_.should_stop && options_.should_stop());
  }

  void keep(NetworkAnswer answer) {
    const Goal& goal = options_.goal;
    last_cycles_ = answer.cycles;
    last_energy_ = answer.energy_pj;
    const double over = std::max(
        {1.0, answer.cycles / goal.max_cycles, answer.energy_pj / goal.max_energy_pj, answer.found ? 1.0 : 2.0});
    answer.value = value_of(goal, answer.cycles, answer.energy_pj);
    answer.found = answer.found && over <= 1 + 1e-9;
    if (answer.found && answer.value < best_.value) best_ = answer;
    if (over < nearest_over_) {
      nearest_over_ = over;
      nearest_ = std::move(answer);
      nearest_.value = Goal::unlimited;
    }
  }

  [[nodiscard]] std::string why() const {
    for (std::size_t i = 0; i < best_.layers.size(); ++i)
      if (!best_.layers[i].found)
        return fmt::format("layer {}: {}", i, explain(*kinds_[kind_of_[i]].model, options_, best_.layers[i]));
    const Goal& goal = options_.goal;
    if (best_.cycles > goal.max_cycles)
      return fmt::format("the layers take {:.0f} cycles at least as far as was looked, the limit is {:.0f} cycles",
                         best_.cycles, goal.max_cycles);
    return fmt::format("the layers take {:.0f} pJ at least as far as was looked, the limit is {:.0f} pJ",
                       best_.energy_pj, goal.max_energy_pj);
  }

  /// The sums lie above a convex curve that every round cuts more closely.
  void balance(bool limited) {
    if (!ask(Objective::energy, 0) || !ask(Objective::latency, 0)) return;
    if (least_cycles_ > options_.goal.max_cycles || least_energy(0) > options_.goal.max_energy_pj) return;
    double low = 1e-4 * last_energy_ / last_cycles_;
    double high = 1e4 * last_energy_ / last_cycles_;
    for (int round = 0; round < rounds; ++round) {
      double price = std::sqrt(low * high);
      if (!limited) {
        const auto [cycles, energy] = lowest_corner();
        if (best_.found && best_.value <= energy * cycles * (1 + options_.gap + 1e-9)) return;
        price = energy / cycles;
        const bool asked = std::any_of(cuts_.begin(), cuts_.end(),
                                       [&](const Cut& cut) { return std::abs(cut.price - price) <= 1e-6 * price; });
        // the same question again is worth it where the last answer ran out of time
        if (asked && options_.seconds <= 0) return;
      }
      if (!ask(Objective::weighted, price)) return;
      if (wants_speed())
        low = price;
      else
        high = price;
    }
  }

  /// Whether cycles should cost more than in the last round.
  [[nodiscard]] bool wants_speed() const {
    const Goal& goal = options_.goal;
    if (last_cycles_ > goal.max_cycles) return true;
    if (last_energy_ > goal.max_energy_pj) return false;
    return goal.objective == Objective::latency;
  }

  [[nodiscard]] double least_energy(double cycles) const {
    double energy = 0;
    for (const Cut& cut : cuts_) energy = std::max(energy, cut.least - cut.price * cycles);
    return energy;
  }

  /// Where the goal is least among all sums that the cuts leave: a corner, since the goal is quasiconcave.
  [[nodiscard]] std::pair<double, double> lowest_corner() const {
    std::pair<double, double> lowest{least_cycles_, least_energy(least_cycles_)};
    const auto consider = [&](double cycles) {
      if (!(cycles >= least_cycles_) || cycles > options_.goal.max_cycles) return;
      const double energy = least_energy(cycles);
      if (value_of(options_.goal, cycles, energy) < value_of(options_.goal, lowest.first, lowest.second))
        lowest = {cycles, energy};
    };
    for (std::size_t a = 0; a < cuts_.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (cuts_[a].price != cuts_[b].price)
          consider((cuts_[a].least - cuts_[b].least) / (cuts_[a].price - cuts_[b].price));
    if (!std::isinf(options_.goal.max_cycles)) consider(options_.goal.max_cycles);
    return lowest;
  }

  [[nodiscard]] double bound() const {
    const auto [cycles, energy] = lowest_corner();
    return value_of(options_.goal, cycles, energy);
  }

  const SearchOptions& options_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_;  // of each layer
  Stopwatch watch_;
  std::uint64_t evaluations_ = 0;
  double least_cycles_ = 0;
  std::vector<Cut> cuts_;
  double last_cycles_ = 0;
  double last_energy_ = 0;
  NetworkAnswer best_;
  NetworkAnswer nearest_;
  double nearest_over_ = std::numeric_limits<double>::infinity();
};

}  // namespace

NetworkAnswer search_network(const std::vector<Problem>& layers, const Architecture& architecture,
                             const EvaluationOptions& evaluation, std::string_view engine,
                             const SearchOptions& options) {
  if (layers.empty()) throw input_error("a network without layers has nothing to map");
  return NetworkSearch(layers, architecture, evaluation, engine, options).run();
}

}  // namespace kasimir
