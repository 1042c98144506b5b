// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/cosearch/trainer.h"

#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// A block and the operators it may be.
struct BlockSpace {
  std::string name;
  std::vector<std::string> ops;  ///< names without white space
  bool operator==(const BlockSpace&) const = default;
};

/// What a search chooses from.
struct ChoiceSpace {
  std::vector<BlockSpace> blocks;
  std::vector<int> bits;  ///< widths, the same for all blocks

  /// Networks of the space, as a power of ten.
  [[nodiscard]] double log10_size() const;
  bool operator==(const ChoiceSpace&) const = default;
};

/// @throws Error (input) without blocks, operators or bits, for a name twice in a block or with white space.
void require_legal(const ChoiceSpace& space);
/// @throws Error (input) if the design is not one of the space.
void require_legal(const ChoiceDesign& design, const ChoiceSpace& space);

/// "k3_e6:8 skip:4": operator and bits of each block.
std::string str(const ChoiceDesign& design, const ChoiceSpace& space);
/// Reads what `str` writes. @throws Error (input) for a wrong number of blocks, an unknown operator or width.
ChoiceDesign parse_design(std::string_view text, const ChoiceSpace& space);

/// Every choice equally likely.
ChoiceDesign random_design(const ChoiceSpace& space, Rng& rng);
/// The place of the largest bit width.
std::size_t widest_bits(const ChoiceSpace& space);

/// A number for each choice: [block][operator][bits].
using ChoiceTable = std::vector<std::vector<std::vector<double>>>;
/// All entries `value`.
ChoiceTable choice_table(const ChoiceSpace& space, double value = 0);
/// The sum over blocks of the entries that a design takes.
double sum_of(const ChoiceTable& table, const ChoiceDesign& design);

/// A number for each operator of each block and one for each bit width of each operator: logits, their slopes, or
/// probabilities, where each list adds up to 1.
struct ChoiceNumbers {
  std::vector<std::vector<double>> op;                 ///< [block][operator]
  std::vector<std::vector<std::vector<double>>> bits;  ///< [block][operator][bits]
  bool operator==(const ChoiceNumbers&) const = default;
};
ChoiceNumbers choice_numbers(const ChoiceSpace& space, double value = 0);
ChoiceNumbers zeros_like(const ChoiceNumbers& numbers);
/// Adds `factor` times `more`.
void add(ChoiceNumbers& sum, const ChoiceNumbers& more, double factor = 1);

/// A list of numbers with one 1.
std::vector<double> one_hot(std::size_t size, std::size_t place);
/// Of values / temperature.
std::vector<double> softmax(const std::vector<double>& values, double temperature = 1);
/// Slopes by the logits of p = softmax(logits) from slopes g by p: p_m (g_m - sum_j p_j g_j), times `factor`.
std::vector<double> through_softmax(const std::vector<double>& p, const std::vector<double>& g, double factor = 1);

/// Softmax of each list; a logit of minus infinity has probability 0.
ChoiceNumbers probabilities(const ChoiceNumbers& logits);
/// log(p(operator) * p(bits | operator)).
ChoiceTable log_probabilities(const ChoiceNumbers& probabilities);
/// The likeliest operator of each block with its likeliest bits; the first of equals.
ChoiceDesign most_likely(const ChoiceNumbers& logits);
/// Mean entropy of the operators' and of the likeliest operators' bits, in nats.
double mean_entropy(const ChoiceNumbers& probabilities);

}  // namespace kasimir
