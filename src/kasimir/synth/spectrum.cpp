// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/spectrum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

double effective(const std::unordered_map<std::uint64_t, std::int64_t>& counts, std::int64_t total) {
  double sum = 0.0;
  for (const auto& [id, count] : counts) {
    const double p = static_cast<double>(count) / static_cast<double>(total);
    sum += p * p;
  }
  return sum > 0.0 ? 1.0 / sum : 0.0;
}

}  // namespace

double entropy(std::span<const std::int64_t> counts) {
  double total = 0.0;
  for (const std::int64_t count : counts) total += static_cast<double>(count);
  double bits = 0.0;
  for (const std::int64_t count : counts) {
    if (count == 0) continue;
    const double p = static_cast<double>(count) / total;
    bits -= p * std::log2(p);
  }
  return bits;
}

double percentile(std::vector<double>& values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::lround(p * last))];
}

void Spectrum::add(const World& world, std::span<const GrownStep> steps) {
  ++kernels_;
  ++lengths_[steps.size()];
  const std::size_t primitives = kinds_.size();
  std::uint64_t skeleton = steps.size();
  const auto kind_of = [&](const GrownStep& step) { return world.move(step.written.move).primitive; };
  for (const GrownStep& step : steps) {
    const std::size_t kind = kind_of(step);
    ++kinds_[kind];
    skeleton = mix_bits(skeleton ^ kind);
    for (const std::int16_t operand : step.operands) {
      skeleton = mix_bits(skeleton ^ static_cast<std::uint64_t>(static_cast<std::uint16_t>(operand)));
      if (operand > 0) ++pairs_[kind_of(steps[static_cast<std::size_t>(operand) - 1]) * primitives + kind];
    }
  }
  ++skeletons_[skeleton];
}

double Spectrum::mean_length() const {
  double steps = 0.0;
  for (const std::int64_t count : kinds_) steps += static_cast<double>(count);
  return steps / static_cast<double>(std::max<std::int64_t>(kernels_, 1));
}

std::vector<double> Spectrum::kind_shares() const {
  const double steps = mean_length() * static_cast<double>(kernels_);
  std::vector<double> shares;
  for (const std::int64_t count : kinds_) shares.push_back(static_cast<double>(count) / std::max(steps, 1.0));
  return shares;
}

double Spectrum::kind_entropy() const { return entropy(kinds_); }
double Spectrum::pair_entropy() const { return entropy(pairs_); }
double Spectrum::effective_skeletons() const { return effective(skeletons_, kernels_); }

}  // namespace kasimir
