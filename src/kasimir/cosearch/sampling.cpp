// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/sampling.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

double gumbel(Rng& rng) { return -std::log(-std::log(rng.unit() + 0x1p-54)); }

std::vector<double> with_noise(const std::vector<double>& logits, Rng& rng) {
  std::vector<double> keys = logits;
  for (double& key : keys) key += gumbel(rng);
  return keys;
}

// Places by falling key.
std::vector<std::size_t> ranked(const std::vector<double>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
  return order;
}

// Bits of one operator.
struct BitDraw {
  std::vector<double> weight;
  std::vector<std::size_t> best;
};

BitDraw draw_bits(const std::vector<double>& logits, BitSampling sampling, double temperature, Rng& rng) {
  const std::vector<double> keys =
      with_noise(sampling == BitSampling::uniform ? std::vector<double>(logits.size(), 0) : logits, rng);
  std::vector<std::size_t> order = ranked(keys);
  std::vector<double> weight =
      sampling == BitSampling::soft ? softmax(keys, temperature) : one_hot(keys.size(), order[0]);
  order.resize(std::min<std::size_t>(order.size(), 2));
  return {std::move(weight), std::move(order)};
}

ChoiceDraw draw(const ChoiceNumbers& logits, BitSampling bits, double temperature, std::size_t paths, Rng& rng) {
  ChoiceDraw result;
  result.temperature = temperature;
  for (std::size_t l = 0; l < logits.op.size(); ++l) {
    BlockSample block;
    std::vector<std::size_t> order = ranked(with_noise(logits.op[l], rng));
    block.op_weight = one_hot(order.size(), order[0]);
    // An operator that is ruled out is never computed.
    std::erase_if(order, [&](std::size_t o) { return std::isinf(logits.op[l][o]); });
    if (paths > 0) order.resize(std::min(order.size(), paths));
    block.active = order;
    std::vector<std::vector<std::size_t>> drawn;
    for (const std::vector<double>& row : logits.bits[l]) {
      BitDraw one = draw_bits(row, bits, temperature, rng);
      block.bit_weight.push_back(std::move(one.weight));
      drawn.push_back(std::move(one.best));
    }
    result.sample.blocks.push_back(std::move(block));
    result.drawn_bits.push_back(std::move(drawn));
  }
  return result;
}

// The two logits a and b with weight w on the difference of their slopes.
std::vector<double> of_pair(const std::vector<double>& g, std::size_t a, std::size_t b, double w) {
  std::vector<double> slopes(g.size(), 0);
  slopes[a] = w * (g[a] - g[b]);
  slopes[b] = -slopes[a];
  return slopes;
}

double raw_pair_weight(const std::vector<double>& logits, std::size_t a, std::size_t b) {
  const double p = 1 / (1 + std::exp(logits[b] - logits[a]));
  return p * (1 - p);
}

std::vector<double> op_slopes(const SamplingMode& mode, const std::vector<double>& logits, const std::vector<double>& p,
                              const std::vector<std::size_t>& active, const std::vector<double>& g) {
  if (active.size() < 2) return std::vector<double>(g.size(), 0);
  const std::size_t a = active[0], b = active[1];
  if (mode.slope == SlopeRule::raw_pair) return of_pair(g, a, b, raw_pair_weight(logits, a, b));
  if (mode.paths == 0) return through_softmax(p, g);
  const double not_a = 1 - p[a], not_b = 1 - p[b];
  return of_pair(g, a, b, not_a * not_b / std::max(not_a + not_b, 1e-300));
}

std::vector<double> bit_slopes(const SamplingMode& mode, const std::vector<double>& logits,
                               const std::vector<double>& p, const std::vector<double>& weight,
                               const std::vector<std::size_t>& best, const std::vector<double>& g, double temperature) {
  if (g.size() < 2) return std::vector<double>(g.size(), 0);
  if (mode.slope == SlopeRule::plain) return through_softmax(p, g);
  if (mode.slope == SlopeRule::raw_pair) return of_pair(g, best[0], best[1], raw_pair_weight(logits, best[0], best[1]));
  return through_softmax(weight, g, 1 / temperature);
}

double log_sum_exp(const std::vector<double>& values, const std::vector<std::size_t>& places) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const std::size_t i : places) largest = std::max(largest, values[i]);
  for (const std::size_t i : places) sum += std::exp(values[i] - largest);
  return largest + std::log(sum);
}

void shift(const std::vector<std::size_t>& places, const std::vector<double>& before, std::vector<double>& logits) {
  const double by = log_sum_exp(before, places) - log_sum_exp(logits, places);
  for (const std::size_t i : places) logits[i] += by;
}

// Auto-NBA's schedule: 5 x 0.975^120 at the end of its 120 epochs.
constexpr double proxy_end = 0.2397;

}  // namespace

double Temperature::at(double progress) const { return start * std::pow(end / start, progress); }

std::span<const SamplingMode> sampling_modes() {
  static const std::array<SamplingMode, 4> modes{SamplingMode{.name = "heterogeneous", .weight_temperature = {1, 0.1}},
                                                 SamplingMode{.name = "hard", .weight_bits = BitSampling::hard},
                                                 SamplingMode{.name = "soft",
                                                              .weight_temperature = {5, 0.2},
                                                              .choice_bits = BitSampling::soft,
                                                              .slope = SlopeRule::tempered,
                                                              .choice_temperature = {5, 0.2}},
                                                 SamplingMode{.name = "proxy",
                                                              .weight_temperature = {5, proxy_end},
                                                              .slope = SlopeRule::raw_pair,
                                                              .choice_temperature = {5, proxy_end},
                                                              .offset_rule = true,
                                                              .rate = 3e-4,
                                                              .first_logit = 1e-3}};
  return modes;
}

const SamplingMode& sampling_mode(std::string_view name) {
  std::vector<std::string> known;
  for (const SamplingMode& mode : sampling_modes()) {
    if (mode.name == name) return mode;
    known.push_back(mode.name);
  }
  throw input_error("unknown sampling mode `{}`", name).note(suggestion(name, known));
}

ChoiceDraw draw_for_weights(const SamplingMode& mode, const ChoiceNumbers& logits, double progress, Rng& rng) {
  return draw(logits, mode.weight_bits, mode.weight_temperature.at(progress), 1, rng);
}

ChoiceDraw draw_for_choices(const SamplingMode& mode, const ChoiceNumbers& logits, double progress, Rng& rng) {
  KASIMIR_CHECK(mode.paths == 0 || mode.paths == 2, "{} paths", mode.paths);
  return draw(logits, mode.choice_bits, mode.choice_temperature.at(progress), mode.paths, rng);
}

ChoiceNumbers slopes_by_logits(const SamplingMode& mode, const ChoiceNumbers& logits, const ChoiceDraw& draw,
                               const ChoiceSlopes& slopes) {
  const ChoiceNumbers p = probabilities(logits);
  ChoiceNumbers result = logits;
  for (std::size_t l = 0; l < logits.op.size(); ++l) {
    const BlockSample& block = draw.sample.blocks[l];
    result.op[l] = op_slopes(mode, logits.op[l], p.op[l], block.active, slopes.op[l]);
    for (std::size_t o = 0; o < logits.op[l].size(); ++o) {
      const bool active = std::find(block.active.begin(), block.active.end(), o) != block.active.end();
      if (active)
        result.bits[l][o] = bit_slopes(mode, logits.bits[l][o], p.bits[l][o], block.bit_weight[o],
                                       draw.drawn_bits[l][o], slopes.bits[l][o], draw.temperature);
      else
        result.bits[l][o].assign(logits.bits[l][o].size(), 0);
    }
  }
  return result;
}

void keep_probabilities_of_others(const ChoiceDraw& draw, const ChoiceNumbers& before, ChoiceNumbers& logits) {
  for (std::size_t l = 0; l < logits.op.size(); ++l) {
    const BlockSample& block = draw.sample.blocks[l];
    shift(block.active, before.op[l], logits.op[l]);
    for (const std::size_t o : block.active) shift(draw.drawn_bits[l][o], before.bits[l][o], logits.bits[l][o]);
  }
}

ChoiceAdam::ChoiceAdam(const ChoiceSpace& space) : first(choice_numbers(space)), second(choice_numbers(space)) {}

void ChoiceAdam::descend(ChoiceNumbers& logits, const ChoiceNumbers& slopes, double rate) {
  constexpr double beta1 = 0.5, beta2 = 0.999, tiny = 1e-8;
  ++steps;
  const double scale1 = 1 / (1 - std::pow(beta1, steps)), scale2 = 1 / (1 - std::pow(beta2, steps));
  const auto move = [&](std::vector<double>& value, const std::vector<double>& slope, std::vector<double>& m,
                        std::vector<double>& v) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * slope[i];
      v[i] = beta2 * v[i] + (1 - beta2) * slope[i] * slope[i];
      value[i] -= rate * m[i] * scale1 / (std::sqrt(v[i] * scale2) + tiny);
    }
  };
  for (std::size_t l = 0; l < logits.op.size(); ++l) {
    move(logits.op[l], slopes.op[l], first.op[l], second.op[l]);
    for (std::size_t o = 0; o < logits.bits[l].size(); ++o)
      move(logits.bits[l][o], slopes.bits[l][o], first.bits[l][o], second.bits[l][o]);
  }
}

}  // namespace kasimir
