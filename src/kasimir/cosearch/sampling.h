// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/space.h"

#include <span>
#include <string>
#include <string_view>

namespace kasimir {

/// How the bits of a step are mixed.
enum class BitSampling : std::uint8_t {
  soft,    ///< softmax((log p + Gumbel noise) / T): a mixture (Jang et al., ICLR 2017)
  hard,    ///< one width, drawn with p
  uniform  ///< one width, all equally likely
};

/// How slopes by weights become slopes by logits.
enum class SlopeRule : std::uint8_t {
  plain,     ///< straight through the softmax of all logits: p_m (g_m - sum_j p_j g_j)
  tempered,  ///< through the noisy tempered softmax y: y_m (g_m - sum_j y_j g_j) / T
  raw_pair   ///< through a softmax of the two drawn logits only (Auto-NBA's `proxy_hard`, after ProxylessNAS)
};

/// A temperature that falls exponentially over a run.
struct Temperature {
  double start = 1, end = 1;
  [[nodiscard]] double at(double progress) const;
};

/// How choices are drawn and learned.
struct SamplingMode {
  std::string name;
  BitSampling weight_bits = BitSampling::soft;  ///< in weight steps
  Temperature weight_temperature{};
  BitSampling choice_bits = BitSampling::hard;  ///< in choice steps; `uniform` is for weight steps only
  SlopeRule slope = SlopeRule::plain;
  Temperature choice_temperature{};
  bool offset_rule = false;  ///< after a step, logits that were not drawn keep their probabilities
  double rate = 0.025;       ///< of Adam
  double first_logit = 0;
  /// Operators computed in a choice step: 2, or 0 for all. With 2, `plain` weighs the pair so that the mean over draws
  /// is the gradient over all: pairs {a, b} come with probability p_a p_b (1/(1-p_a) + 1/(1-p_b)).
  std::size_t paths = 2;
  bool operator==(const SamplingMode&) const = default;
};

/// `heterogeneous`: weights see a cold soft mixture of bits (T 1 to 0.1), choices hard samples with the gradient
/// through the plain softmax. `hard`: hard samples in both. `soft`: soft mixtures in both, T 5 to 0.2. `proxy`:
/// Auto-NBA's release (ICML 2021): soft mixture for weights with T 5, 0.975 an epoch over 120 epochs, two paths with
/// raw logits for choices, offset rule, Adam's rate 3e-4, first logits 1e-3. All others: rate 0.025.
std::span<const SamplingMode> sampling_modes();
/// @throws Error (input) with the nearest names.
const SamplingMode& sampling_mode(std::string_view name);

/// A draw, and what is needed to send slopes back through it.
struct ChoiceDraw {
  ChoiceSample sample;
  double temperature = 1;
  /// The bits drawn for each active operator: the likeliest two under the noise, best first.
  std::vector<std::vector<std::vector<std::size_t>>> drawn_bits;  ///< [block][operator][2]
};

/// A sample for a weight step: one operator in each block. `progress` in 0 .. 1.
ChoiceDraw draw_for_weights(const SamplingMode& mode, const ChoiceNumbers& logits, double progress, Rng& rng);
/// A sample for a choice step.
ChoiceDraw draw_for_choices(const SamplingMode& mode, const ChoiceNumbers& logits, double progress, Rng& rng);

/// Slopes of the loss by the logits.
ChoiceNumbers slopes_by_logits(const SamplingMode& mode, const ChoiceNumbers& logits, const ChoiceDraw& draw,
                               const ChoiceSlopes& slopes);

/// Moves the drawn logits together so that those not drawn keep the probability that they had under `before`.
void keep_probabilities_of_others(const ChoiceDraw& draw, const ChoiceNumbers& before, ChoiceNumbers& logits);

/// Adam (Kingma and Ba, ICLR 2015) with betas 0.5 and 0.999 as Auto-NBA takes for its choices, no weight decay.
struct ChoiceAdam {
  ChoiceNumbers first, second;
  int steps = 0;
  explicit ChoiceAdam(const ChoiceSpace& space);
  void descend(ChoiceNumbers& logits, const ChoiceNumbers& slopes, double rate);
};

}  // namespace kasimir
