// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/array_target.h"

#include "kasimir/base/error.h"
#include "kasimir/hardware/format/timeloop.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kasimir {
namespace {

using Sums = ArrayTarget::Sums;

void require_fit(const BlockProblems& problems, const ChoiceSpace& space) {
  require_legal(space);
  bool fits = problems.choices.size() == space.blocks.size();
  for (std::size_t l = 0; fits && l < space.blocks.size(); ++l) {
    fits = problems.choices[l].size() == space.blocks[l].ops.size();
    for (const auto& op : problems.choices[l]) fits = fits && op.size() == space.bits.size();
  }
  if (!fits) throw input_error("problems that do not fit the space, needed: a list for each block, operator and width");
}

}  // namespace

BlockProblems problems_of(const BlockLayers& layers, const ChoiceSpace& space, int partial_bits) {
  require_fit(layers, space);
  BlockProblems problems;
  for (const auto& block : layers.layers) {
    problems.choices.emplace_back();
    for (const auto& op : block) {
      problems.choices.back().emplace_back();
      for (const int bits : space.bits) {
        std::vector<Problem> list;
        for (ConvLayer layer : op) {
          layer.bits = {bits, bits};
          list.push_back(problem_of(layer, partial_bits));
        }
        problems.choices.back().back().push_back(std::move(list));
      }
    }
  }
  for (const ConvLayer& layer : layers.outside) problems.outside.push_back(problem_of(layer, partial_bits));
  return problems;
}

ArrayTarget::ArrayTarget(ChoiceSpace space, const BlockProblems& problems, const Architecture& architecture,
                         const ArrayTargetOptions& options)
    : space_(std::move(space)), options_(options), architecture_(architecture) {
  require_fit(problems, space_);
  if (options.objective == Objective::weighted) throw input_error("objective weighted, needed: latency, energy or edp");
  struct Different {
    const Problem* problem;
    std::string where;  // first met
  };
  std::vector<Different> different;
  std::map<std::string, std::size_t> known;
  const auto add = [&](const Problem& problem, std::string where) {
    const auto [at, is_new] = known.emplace(str(problem), different.size());
    if (is_new) different.push_back({&problem, std::move(where)});
    return at->second;
  };
  for (std::size_t l = 0; l < problems.choices.size(); ++l) {
    places_.emplace_back();
    for (std::size_t o = 0; o < problems.choices[l].size(); ++o) {
      places_.back().emplace_back(space_.bits.size());
      for (std::size_t j = 0; j < space_.bits.size(); ++j)
        for (const Problem& problem : problems.choices[l][o][j])
          places_[l][o][j].push_back(
              add(problem, fmt::format("block {}, operator {}", space_.blocks[l].name, space_.blocks[l].ops[o])));
    }
  }
  for (const Problem& problem : problems.outside) outside_.push_back(add(problem, "outside the blocks"));
  for (const Different& one : different) {
    mapped_.push_back(map_layer(*one.problem, one.where));
    problems_.push_back(*one.problem);
    if (options_.progress) options_.progress(mapped_.size(), different.size());
  }
}

// Those that no other one beats.
ArrayTarget::Mapped ArrayTarget::front_of(Mapped points) {
  std::sort(points.begin(), points.end(), [](const Sums& a, const Sums& b) {
    return a.cycles != b.cycles ? a.cycles < b.cycles : a.energy_pj < b.energy_pj;
  });
  Mapped front;
  for (const MappedSums& point : points)
    if (front.empty() || point.energy_pj < front.back().energy_pj) front.push_back(point);
  return front;
}

const ArrayTarget::MappedSums& ArrayTarget::cheapest(const Mapped& points, double price) {
  return *std::min_element(points.begin(), points.end(), [&](const Sums& a, const Sums& b) {
    return a.energy_pj + price * a.cycles < b.energy_pj + price * b.cycles;
  });
}

ArrayTarget::Mapped ArrayTarget::map_layer(const Problem& problem, const std::string& where) const {
  const CostModel model(problem, architecture_, options_.evaluation);
  std::vector<Objective> objectives{options_.objective};
  if (options_.objective == Objective::energy_delay)
    objectives = {Objective::latency, Objective::energy_delay, Objective::energy};
  Mapped points;
  for (const Objective objective : objectives) {
    SearchOptions search;
    search.goal.objective = objective;
    search.evaluations = options_.evaluations;
    search.gap = options_.gap;
    search.seed = options_.seed;
    const SearchAnswer answer = search_mapping(model, options_.engine, search);
    if (answer.found) points.push_back({{answer.evaluation.cycles, answer.evaluation.energy_pj}, answer.mapping});
    if (!answer.found && objective == objectives.back() && points.empty())
      throw unsolved_error("{}: {}", where, explain(model, search, answer))
          .note(fmt::format("{} evaluations were allowed", options_.evaluations));
  }
  return front_of(std::move(points));
}

std::string ArrayTarget::unit() const {
  if (options_.objective == Objective::latency) return "cycles";
  return options_.objective == Objective::energy ? "pJ" : "pJ cycles";
}

std::vector<std::size_t> ArrayTarget::layers_of(const ChoiceDesign& design) const {
  std::vector<std::size_t> layers = outside_;
  for (std::size_t l = 0; l < design.size(); ++l) {
    const auto& more = places_[l][design[l].op][design[l].bits];
    layers.insert(layers.end(), more.begin(), more.end());
  }
  return layers;
}

Sums ArrayTarget::at_price(const std::vector<std::size_t>& layers, double price) const {
  Sums sums;
  for (const std::size_t layer : layers) {
    const Sums& one = cheapest(mapped_[layer], price);
    sums.cycles += one.cycles;
    sums.energy_pj += one.energy_pj;
  }
  return sums;
}

// The least product of sums lies at a corner of their convex hull: try a price between each two at which some layer
// changes its mapping.
double ArrayTarget::best_price(const std::vector<std::size_t>& layers) const {
  std::vector<double> breaks{0};
  for (const std::size_t layer : layers) {
    const Mapped& points = mapped_[layer];
    for (std::size_t a = 0; a < points.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        breaks.push_back((points[b].energy_pj - points[a].energy_pj) / (points[a].cycles - points[b].cycles));
  }
  std::sort(breaks.begin(), breaks.end());
  breaks.erase(std::unique(breaks.begin(), breaks.end()), breaks.end());
  breaks.push_back(2 * breaks.back() + 1);
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 1 < breaks.size(); ++i) {
    const double price = (breaks[i] + breaks[i + 1]) / 2;
    const Sums sums = at_price(layers, price);
    if (sums.cycles * sums.energy_pj >= least) continue;
    least = sums.cycles * sums.energy_pj;
    best = price;
  }
  return best;
}

Sums ArrayTarget::sums_of(const ChoiceDesign& design) const {
  const std::vector<std::size_t> layers = layers_of(design);
  return at_price(layers, adapts() ? best_price(layers) : 0);
}

double ArrayTarget::cost(const ChoiceDesign& design) {
  const Sums sums = sums_of(design);
  if (options_.objective == Objective::latency) return sums.cycles;
  return options_.objective == Objective::energy ? sums.energy_pj : sums.cycles * sums.energy_pj;
}

template <typename Loads>
LoadTable ArrayTarget::table(const Loads& loads) const {
  const bool product = adapts();
  const bool energy = options_.objective == Objective::energy;
  LoadTable result = product ? load_table(space_, Aggregate::product, {"cycles", "pJ"})
                             : load_table(space_, Aggregate::sum, {energy ? "pJ" : "cycles"});
  const auto sum = [&](const std::vector<std::size_t>& layers) {
    Sums all;
    for (const std::size_t layer : layers) {
      const Sums one = loads(mapped_[layer]);
      all.cycles += one.cycles;
      all.energy_pj += one.energy_pj;
    }
    return all;
  };
  for (std::size_t l = 0; l < places_.size(); ++l)
    for (std::size_t o = 0; o < places_[l].size(); ++o)
      for (std::size_t j = 0; j < places_[l][o].size(); ++j) {
        const Sums all = sum(places_[l][o][j]);
        result.loads[l][o][j] = {{0, energy ? all.energy_pj : all.cycles}};
        if (product) result.loads[l][o][j].push_back({1, all.energy_pj});
      }
  const Sums base = sum(outside_);
  result.base[0] = energy ? base.energy_pj : base.cycles;
  if (product) result.base[1] = base.energy_pj;
  return result;
}

Accelerator ArrayTarget::optimise(const ChoiceDesign& design) {
  const std::vector<std::size_t> layers = layers_of(design);
  const double price = adapts() ? best_price(layers) : 0;
  const Sums sums = at_price(layers, price);
  Accelerator result{
      table([&](const Mapped& points) { return cheapest(points, price); }),
      {},
      fmt::format("{:.6g} cycles, {:.6g} pJ, mapped for {:.3g} pJ per cycle", sums.cycles, sums.energy_pj, price),
      {}};
  // Both factors of a product count alike; a single part counts alone.
  result.duals.assign(result.loads.parts.size(), 1.0 / static_cast<double>(result.loads.parts.size()));
  return result;
}

std::vector<TargetFile> ArrayTarget::files(const ChoiceDesign& design) {
  const std::vector<std::size_t> layers = layers_of(design);
  const double price = adapts() ? best_price(layers) : 0;
  std::map<std::size_t, int> times;
  for (const std::size_t layer : layers) ++times[layer];
  std::vector<TargetFile> made{{"accelerator.toml", to_toml(architecture_)},
                               {"mappings.txt",
                                "# for `kasimir accel eval --arch accelerator.toml`: how often, --layer, "
                                "--mapping\n"}};
  for (const auto& [layer, count] : times) {
    const Problem& problem = problems_[layer];
    const Mapping& mapping = cheapest(mapped_[layer], price).mapping;
    made[1].text += fmt::format("\n{}\n{}\n{}\n", count, str(problem), str(mapping, problem, architecture_));
    made.push_back({fmt::format("timeloop/{:02}.yaml", made.size() - 1),
                    timeloop_problem_text(problem).text + timeloop_architecture_text(architecture_, problem).text +
                        timeloop_mapping_text(mapping, problem, architecture_)});
  }
  return made;
}

HardwareTarget::Bound ArrayTarget::bound(const ChoiceDesign&) {
  return {table([](const Mapped& points) { return Sums{points.front().cycles, points.back().energy_pj}; }), !adapts()};
}

}  // namespace kasimir
