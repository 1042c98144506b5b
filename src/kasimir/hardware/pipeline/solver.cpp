// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/solver.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/pipeline/merge.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Shares of the budget; what has no limit counts so little that it only decides between equals.
Amounts share_price(const Amounts& limits) {
  Amounts price{};
  for (std::size_t i = 0; i < price.size(); ++i)
    price[i] = std::isfinite(limits[i]) && limits[i] > 0 ? 1 / limits[i] : 1e-12;
  return price;
}

Resources used_by(const PipelineProblem& problem, const std::vector<std::size_t>& choice) {
  Resources used;
  for (std::size_t c = 0; c < choice.size(); ++c) used = used + problem.options[c][choice[c]].resources;
  return used;
}

double slowest(const PipelineProblem& problem, const std::vector<std::size_t>& choice) {
  double cycles = 0;
  for (std::size_t c = 0; c < choice.size(); ++c) cycles = std::max(cycles, problem.options[c][choice[c]].cycles);
  return cycles;
}

class Solver {
 public:
  Solver(const PipelineProblem& problem, const SolverLimits& limits) : problem_(problem), limits_(limits) {
    double floor = 0;
    for (const auto& options : problem.options) {
      KASIMIR_CHECK(!options.empty(), "a chunk without options");
      double fastest = infinity;
      for (const ChunkOption& option : options) fastest = std::min(fastest, option.cycles);
      floor = std::max(floor, fastest);
    }
    for (const auto& options : problem.options)
      for (const ChunkOption& option : options)
        if (option.cycles >= floor) levels_.push_back(option.cycles);
    std::sort(levels_.begin(), levels_.end());
    levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
  }

  PipelineAnswer solve() {
    PipelineAnswer answer;
    const std::optional<double> best = fastest(answer.lower_bound);
    answer.found = best && *best <= problem_.max_cycles;
    answer.choice = best ? cheapest_at(*best) : nearest();
    answer.resources = used_by(problem_, answer.choice);
    const double bandwidth = problem_.budget.dram_bits_per_cycle;
    answer.cycles = std::max(slowest(problem_, answer.choice), answer.resources.dram_bits / bandwidth);
    answer.violated = violations(answer.resources, answer.cycles * (1 + 1e-12), problem_.budget);
    if (best && !answer.found) answer.violated.push_back({"cycles per frame", answer.cycles, problem_.max_cycles});
    answer.feasibility_tests = tests_;
    return answer;
  }

 private:
  struct Test {
    bool fits = false, exact = true;
    double bits = 0;  // least bits to move, or 0 if the memory is not limited
  };

  bool memory_limited() const { return std::isfinite(problem_.budget.dram_bits_per_cycle); }

  // Whether options of at most `cycles` fit, and the least bits that they move.
  Test test(double cycles) {
    ++tests_;
    Amounts limits = limits_at(problem_.budget, infinity);
    Amounts price = share_price(limits);
    if (memory_limited()) price = {0, 0, 0, 1};
    const CheapestChoice choice = cheapest_choice(problem_.options, cycles, limits, price, limits_.states);
    return {choice.found, choice.exact, memory_limited() && choice.found ? choice.price : 0};
  }

  double memory_cycles(double bits) const { return memory_limited() ? bits / problem_.budget.dram_bits_per_cycle : 0; }

  // The least cycles per frame; `bound` is what is proved.
  std::optional<double> fastest(double& bound) {
    std::size_t low = 0, high = levels_.size();  // the first level that fits and is slower than the memory
    std::optional<double> best;
    bound = levels_.front();
    bool all_exact = true;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const double level = levels_[middle];
      const Test result = test(level);
      const double cycles = std::max(level, memory_cycles(result.bits));
      if (result.fits) best = std::min(best.value_or(infinity), cycles);
      const bool enough = result.fits && cycles <= level;
      if (enough) {
        high = middle;
      } else {
        low = middle + 1;
        all_exact = all_exact && result.exact;
        // Without exactness a slower level that does not fit proves nothing about this one.
        if (result.exact && !result.fits && low < levels_.size()) bound = std::max(bound, levels_[low]);
      }
    }
    if (best && all_exact) bound = *best;
    if (best && memory_limited()) bound = std::max(bound, memory_cycles(least_bits()));
    bound = best ? std::min(bound, *best) : 0;
    return best;
  }

  double least_bits() const {
    double bits = 0;
    for (const auto& options : problem_.options) {
      double least = infinity;
      for (const ChunkOption& option : options) least = std::min(least, option.resources.dram_bits);
      bits += least;
    }
    return bits;
  }

  std::vector<std::size_t> cheapest_at(double cycles) {
    const Amounts limits = limits_at(problem_.budget, cycles);
    const Amounts price = share_price(limits);
    CheapestChoice choice = cheapest_choice(problem_.options, cycles, limits, price, limits_.states);
    if (choice.found) return choice.choice;
    // The front of fewer states may have lost the design; the one with the fewest bits was found before.
    choice =
        cheapest_choice(problem_.options, cycles, limits_at(problem_.budget, infinity), {0, 0, 0, 1}, limits_.states);
    return choice.choice;
  }

  // The design whose limits must grow by the smallest factor.
  std::vector<std::size_t> nearest() {
    const Amounts base = limits_at(problem_.budget, infinity);
    double low = 1, high = 2;
    std::vector<std::size_t> choice;
    const auto fits = [&](double factor) {
      Amounts limits = base;
      for (double& limit : limits) limit *= factor;
      const CheapestChoice found =
          cheapest_choice(problem_.options, infinity, limits, share_price(limits), limits_.states);
      if (found.found) choice = found.choice;
      return found.found;
    };
    while (!fits(high) && high < 1e18) {
      low = high;
      high *= 2;
    }
    for (int i = 0; i < 30; ++i) {
      const double middle = (low + high) / 2;
      (fits(middle) ? high : low) = middle;
    }
    if (choice.empty()) choice.assign(problem_.options.size(), 0);
    return choice;
  }

  const PipelineProblem& problem_;
  SolverLimits limits_;
  std::vector<double> levels_;
  std::size_t tests_ = 0;
};

// The optimum without each limit, where it differs.
std::vector<Relaxation> relax(const PipelineProblem& problem, const PipelineAnswer& answer, SolverLimits limits) {
  limits.relax = false;
  const std::vector<std::pair<std::string, double ResourceBudget::*>> all{
      {"dsp", &ResourceBudget::dsp},
      {"bram18", &ResourceBudget::bram18},
      {"lut", &ResourceBudget::lut},
      {"dram bits per cycle", &ResourceBudget::dram_bits_per_cycle}};
  const bool fits =
      answer.violated.empty() || (answer.violated.size() == 1 && answer.violated[0].constraint == "cycles per frame");
  std::vector<Relaxation> relaxed;
  for (const auto& [name, limit] : all) {
    if (!std::isfinite(problem.budget.*limit)) continue;
    PipelineProblem wider = problem;
    wider.budget.*limit = infinity;
    wider.max_cycles = infinity;
    const PipelineAnswer without = Solver(wider, limits).solve();
    const double floor = without.found ? without.cycles : infinity;
    if (fits ? floor < answer.cycles : std::isfinite(floor)) relaxed.push_back({name, floor});
  }
  return relaxed;
}

}  // namespace

std::vector<ChunkOption> pareto_options(std::vector<ChunkOption> options, const ResourceBudget& budget) {
  const Amounts limits = limits_at(budget, infinity);
  std::array<bool, 4> active{};
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = std::isfinite(limits[i]);
  active[3] = std::isfinite(budget.dram_bits_per_cycle);
  const auto fits = [&](const ChunkOption& option) {
    const Amounts used = amounts(option.resources);
    return used[0] <= limits[0] && used[1] <= limits[1] && used[2] <= limits[2];
  };
  if (std::any_of(options.begin(), options.end(), fits))
    options.erase(std::remove_if(options.begin(), options.end(), [&](const auto& o) { return !fits(o); }),
                  options.end());
  const auto earlier = [&](const ChunkOption& a, const ChunkOption& b) {
    if (a.cycles != b.cycles) return a.cycles < b.cycles;
    const Amounts left = amounts(a.resources), right = amounts(b.resources);
    for (std::size_t i = 0; i < active.size(); ++i)
      if (active[i] && left[i] != right[i]) return left[i] < right[i];
    return a.shape < b.shape;
  };
  std::sort(options.begin(), options.end(), earlier);
  std::vector<ChunkOption> kept;
  std::vector<Amounts> kept_used;
  for (const ChunkOption& option : options) {
    const Amounts used = amounts(option.resources);
    const auto beats = [&](const Amounts& other) {
      for (std::size_t i = 0; i < active.size(); ++i)
        if (active[i] && other[i] > used[i]) return false;
      return true;
    };
    if (std::any_of(kept_used.rbegin(), kept_used.rend(), beats)) continue;
    kept.push_back(option);
    kept_used.push_back(used);
  }
  return kept;
}

PipelineAnswer solve_pipeline(const PipelineProblem& problem, const SolverLimits& limits) {
  KASIMIR_CHECK(!problem.options.empty(), "no chunks");
  PipelineAnswer answer = Solver(problem, limits).solve();
  if (!answer.found || limits.relax) answer.relaxed = relax(problem, answer, limits);
  return answer;
}

std::string explain(const PipelineProblem& problem, const PipelineAnswer& answer) {
  std::string text;
  if (answer.found && answer.optimal())
    text = fmt::format("optimal: {:.0f} cycles per frame, no design within the budget is faster\n", answer.cycles);
  else if (answer.found)
    text =
        fmt::format("{:.0f} cycles per frame, at most {:.2f} % above the optimum\n", answer.cycles, 100 * answer.gap());
  else
    text = "no design meets all constraints; the nearest one breaks:\n";
  for (const Violation& violation : answer.violated) text += fmt::format("  {}\n", violation.str());
  for (const Relaxation& one : answer.relaxed) {
    if (std::isfinite(one.cycles))
      text += fmt::format("  without the limit on {}: {:.0f} cycles\n", one.constraint, one.cycles);
  }
  for (std::size_t c = 0; c < answer.choice.size(); ++c) {
    const ChunkOption& option = problem.options[c][answer.choice[c]];
    const std::string name = c < problem.names.size() ? problem.names[c] : fmt::format("chunk {}", c + 1);
    text += fmt::format("  {}: {:.0f} cycles, {:.6g} dsp, {:.0f} bram18\n", name, option.cycles, option.resources.dsp,
                        option.resources.bram18);
  }
  return text;
}

}  // namespace kasimir
