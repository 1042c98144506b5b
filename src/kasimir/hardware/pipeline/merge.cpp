// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kasimir {
namespace {

struct State {
  Amounts used;
  std::size_t before;  // in the states of the chunk merged before
  std::size_t option;
};

Amounts sum(const Amounts& a, const Amounts& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}; }

double dot(const Amounts& a, const Amounts& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]; }

// Sums of many parts may pass a limit by rounding alone.
bool within(const Amounts& used, const Amounts& limits) {
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i] > limits[i] * (1 + 1e-12)) return false;
  return true;
}

// Which amounts matter: those with a limit or a price.
using Active = std::array<bool, 4>;

bool no_worse(const Amounts& a, const Amounts& b, const Active& active) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (active[i] && a[i] > b[i]) return false;
  return true;
}

// Leaves states that no other one beats; sorted by the first active amount, so that only earlier ones can beat.
void keep_best(std::vector<State>& states, const Active& active) {
  const auto before = [&](const State& a, const State& b) {
    for (std::size_t i = 0; i < a.used.size(); ++i)
      if (active[i] && a.used[i] != b.used[i]) return a.used[i] < b.used[i];
    return false;
  };
  std::stable_sort(states.begin(), states.end(), before);
  std::vector<State> kept;
  for (const State& state : states) {
    const bool beaten = std::any_of(kept.rbegin(), kept.rend(),
                                    [&](const State& other) { return no_worse(other.used, state.used, active); });
    if (!beaten) kept.push_back(state);
  }
  states = std::move(kept);
}

struct Level {
  std::size_t chunk;
  std::vector<State> options;  // `option` is the place in the chunk
  std::vector<State> states;
};

Amounts least(const std::vector<State>& options) {
  Amounts low = options.front().used;
  for (const State& option : options)
    for (std::size_t i = 0; i < low.size(); ++i) low[i] = std::min(low[i], option.used[i]);
  return low;
}

// The options of each chunk, fewest first. Empty if a chunk has none that is fast enough.
std::vector<Level> levels_of(const std::vector<std::vector<ChunkOption>>& chunks, double cycles, const Active& active) {
  std::vector<Level> levels;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    Level level{c, {}, {}};
    for (std::size_t o = 0; o < chunks[c].size(); ++o)
      if (chunks[c][o].cycles <= cycles) level.options.push_back({amounts(chunks[c][o].resources), 0, o});
    if (level.options.empty()) return {};
    keep_best(level.options, active);
    levels.push_back(std::move(level));
  }
  std::stable_sort(levels.begin(), levels.end(),
                   [](const Level& a, const Level& b) { return a.options.size() < b.options.size(); });
  return levels;
}

// The option of least price in each chunk: the answer if it is within the limits.
CheapestChoice each_cheapest(const std::vector<Level>& levels, const Amounts& price) {
  CheapestChoice answer;
  answer.choice.resize(levels.size());
  Amounts used{};
  for (const Level& level : levels) {
    const auto best = std::min_element(level.options.begin(), level.options.end(), [&](const State& a, const State& b) {
      return dot(a.used, price) < dot(b.used, price);
    });
    answer.choice[level.chunk] = best->option;
    used = sum(used, best->used);
  }
  answer.price = dot(used, price);
  return answer;
}

Amounts used_by(const std::vector<std::vector<ChunkOption>>& chunks, const std::vector<std::size_t>& choice) {
  Amounts used{};
  for (std::size_t c = 0; c < chunks.size(); ++c) used = sum(used, amounts(chunks[c][choice[c]].resources));
  return used;
}

// Multipliers of the limits under which the chunks' cheapest options cost more than all limits together prove that
// nothing fits (weak duality). A few steps of the multiplicative-weights method look for some.
bool proved_impossible(const std::vector<Level>& levels, const Amounts& limits) {
  Amounts weight{};
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = std::isfinite(limits[i]) && limits[i] > 0 ? 1 : 0;
  for (int step = 0; step < 60; ++step) {
    Amounts price{};
    for (std::size_t i = 0; i < price.size(); ++i) price[i] = weight[i] > 0 ? weight[i] / limits[i] : 0;
    Amounts used{};
    double worth = 0;
    for (const Level& level : levels) {
      const auto best =
          std::min_element(level.options.begin(), level.options.end(),
                           [&](const State& a, const State& b) { return dot(a.used, price) < dot(b.used, price); });
      used = sum(used, best->used);
      worth += dot(best->used, price);
    }
    if (worth > std::accumulate(weight.begin(), weight.end(), 0.0) * (1 + 1e-9)) return true;
    for (std::size_t i = 0; i < weight.size(); ++i)
      if (weight[i] > 0) weight[i] *= std::exp(0.3 * std::clamp(used[i] / limits[i] - 1, -1.0, 1.0));
  }
  return false;
}

// The states after each chunk; false if some had to be dropped.
bool merge(std::vector<Level>& levels, const Amounts& limits, const Active& active, std::size_t max_states) {
  std::vector<Amounts> rest(levels.size() + 1, Amounts{});
  for (std::size_t i = levels.size(); i-- > 0;) rest[i] = sum(rest[i + 1], least(levels[i].options));
  bool exact = true;
  const std::vector<State> start{State{{}, 0, 0}};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::vector<State>& before = i == 0 ? start : levels[i - 1].states;
    std::vector<State>& now = levels[i].states;
    for (std::size_t s = 0; s < before.size(); ++s)
      for (const State& option : levels[i].options) {
        const Amounts used = sum(before[s].used, option.used);
        if (within(sum(used, rest[i + 1]), limits)) now.push_back({used, s, option.option});
      }
    keep_best(now, active);
    if (now.size() > max_states) {
      // Every n-th of the front, so that all its parts stay present.
      std::vector<State> thinned;
      for (std::size_t k = 0; k < max_states; ++k) thinned.push_back(now[k * now.size() / max_states]);
      now = std::move(thinned);
      exact = false;
    }
    if (now.empty()) return exact;
  }
  return exact;
}

}  // namespace

Amounts amounts(const Resources& r) { return {r.dsp, r.bram18, r.lut, r.dram_bits}; }

Resources resources(const Amounts& a) { return {a[0], a[1], a[2], a[3]}; }

Amounts limits_at(const ResourceBudget& budget, double cycles) {
  const bool bounded = std::isfinite(budget.dram_bits_per_cycle);
  return {budget.dsp, budget.bram18, budget.lut,
          bounded ? budget.dram_bits_per_cycle * cycles : std::numeric_limits<double>::infinity()};
}

CheapestChoice cheapest_choice(const std::vector<std::vector<ChunkOption>>& chunks, double cycles,
                               const Amounts& limits, const Amounts& price, std::size_t max_states) {
  Active active{};
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = std::isfinite(limits[i]) || price[i] > 0;
  std::vector<Level> levels = levels_of(chunks, cycles, active);
  if (levels.size() != chunks.size()) return {};
  CheapestChoice answer = each_cheapest(levels, price);
  answer.found = within(used_by(chunks, answer.choice), limits);
  if (answer.found || proved_impossible(levels, limits)) return answer;

  answer.exact = merge(levels, limits, active, max_states);
  const std::vector<State>& last = levels.back().states;
  if (last.empty()) return answer;
  const auto best = std::min_element(last.begin(), last.end(), [&](const State& a, const State& b) {
    return dot(a.used, price) < dot(b.used, price);
  });
  answer.found = true;
  answer.price = dot(best->used, price);
  const State* state = &*best;
  for (std::size_t i = levels.size(); i-- > 0;) {
    answer.choice[levels[i].chunk] = state->option;
    if (i > 0) state = &levels[i - 1].states[state->before];
  }
  return answer;
}

}  // namespace kasimir
