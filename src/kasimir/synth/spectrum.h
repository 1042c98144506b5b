// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/growth.h"

#include <map>
#include <unordered_map>

namespace kasimir {

/// What a stream of kernels is made of: a fast sampler that always yields the same few trivial kernels is worthless,
/// and its rate does not tell.
class Spectrum {
 public:
  explicit Spectrum(std::size_t primitives) : kinds_(primitives, 0), pairs_(primitives * primitives, 0) {}

  void add(const World& world, std::span<const GrownStep> steps);

  [[nodiscard]] std::int64_t kernels() const { return kernels_; }
  [[nodiscard]] double mean_length() const;
  /// Share of all steps, by number in the catalog.
  [[nodiscard]] std::vector<double> kind_shares() const;
  /// Entropy of the primitives, in bits, and of (producer, consumer) pairs.
  [[nodiscard]] double kind_entropy() const;
  [[nodiscard]] double pair_entropy() const;
  /// 1 / sum of p^2 over skeletons, which are the primitives and the wiring without arguments: so many equally frequent
  /// ones would be as hard to guess.
  [[nodiscard]] double effective_skeletons() const;
  [[nodiscard]] const std::map<std::size_t, std::int64_t>& lengths() const { return lengths_; }

 private:
  std::vector<std::int64_t> kinds_, pairs_;
  std::map<std::size_t, std::int64_t> lengths_;
  std::unordered_map<std::uint64_t, std::int64_t> skeletons_;
  std::int64_t kernels_ = 0;
};

/// Entropy of counts, in bits; 0 without any.
double entropy(std::span<const std::int64_t> counts);

/// The value below which a share `p` of the values lies; sorts them. NaN without any.
double percentile(std::vector<double>& values, double p);

}  // namespace kasimir
