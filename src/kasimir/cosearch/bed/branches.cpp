// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/bed/branches.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::size_t n = 12;  // inputs, and hidden units
constexpr std::size_t offsets = n * n, outs = offsets + n, last = outs + n, all = last + 1;
constexpr std::size_t units = 2, unit_size = n + 2;

// To the nearest whole number, ties to even: beyond 2^52 doubles have no fractions. Vectorises everywhere, std::round
// does not.
double rounded(double value) {
  constexpr double shift = 0x1.8p52;
  return (value + shift) - shift;
}

double steps_of(int bits) { return std::exp2(bits - 1) - 1; }  // positive levels of a symmetric format

// A step and its inverse, 0 where everything is 0.
struct Step {
  double size = 0, inverse = 0;
  Step(double range, double levels) : size(range / levels), inverse(range > 0 ? levels / range : 0) {}
  [[nodiscard]] double operator()(double value) const { return size * rounded(value * inverse); }
};

double largest(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  double most = 0;
  for (std::size_t i = begin; i < end; ++i) most = std::max(most, std::abs(values[i]));
  return most;
}

double teach(const std::vector<double>& unit, const double* x) {
  double sum = 0;
  for (std::size_t u = 0; u < units; ++u) {
    const double* w = unit.data() + u * unit_size;
    double z = w[n];
    for (std::size_t i = 0; i < n; ++i) z += w[i] * x[i];
    sum += w[n + 1] * std::tanh(z);
  }
  return sum;
}

}  // namespace

BranchTeacher::BranchTeacher(std::size_t branches, std::uint64_t seed) {
  Rng rng(seed, 1);
  for (std::size_t b = 0; b < branches; ++b) {
    std::vector<double> unit(units * unit_size);
    for (double& w : unit) w = 0.4 * rng.normal();
    units_.push_back(std::move(unit));
  }
  scale_.assign(branches, 1);
  const BranchBatch sample = batch(2000, rng);
  for (std::size_t b = 0; b < branches; ++b) {
    double mean = 0, square = 0;
    for (const double y : sample.wanted[b]) {
      mean += y / 2000;
      square += y * y / 2000;
    }
    scale_[b] = 1 / std::sqrt(std::max(square - mean * mean, 1e-6));
  }
}

BranchBatch BranchTeacher::batch(std::size_t examples, Rng& rng) const {
  BranchBatch result{examples, {}, {}};
  for (std::size_t b = 0; b < units_.size(); ++b) {
    std::vector<double> x(examples * n), y(examples);
    for (double& value : x) value = 2 * rng.unit() - 1;
    for (std::size_t e = 0; e < examples; ++e) y[e] = scale_[b] * teach(units_[b], x.data() + e * n);
    result.inputs.push_back(std::move(x));
    result.wanted.push_back(std::move(y));
  }
  return result;
}

BranchNet::BranchNet(std::vector<int> bits, Rng& rng)
    : bits_(std::move(bits)), weights_(all, 0), slopes_(all, 0), first_(all, 0), second_(all, 0) {
  for (std::size_t i = 0; i < offsets; ++i) weights_[i] = rng.normal() * std::sqrt(6.0 / n);
  for (std::size_t i = outs; i < last; ++i) weights_[i] = rng.normal() * std::sqrt(1.0 / n);
  copies_.assign(bits_.size(), weights_);
}

void BranchNet::quantise_weights(const std::vector<double>& mix) {
  mixed_weights_.assign(all, 0);
  for (std::size_t i = offsets; i < outs; ++i) mixed_weights_[i] = weights_[i];
  mixed_weights_[last] = weights_[last];
  const auto quantise = [&](std::size_t begin, std::size_t end) {
    const double range = largest(weights_, begin, end);
    for (std::size_t j = 0; j < bits_.size(); ++j) {
      const Step step(range, steps_of(bits_[j]));
      for (std::size_t i = begin; i < end; ++i) {
        copies_[j][i] = step(weights_[i]);
        mixed_weights_[i] += mix[j] * copies_[j][i];
      }
    }
  };
  for (std::size_t row = 0; row < n; ++row) quantise(row * n, row * n + n);
  quantise(outs, last);
}

const std::vector<double>& BranchNet::forward(const std::vector<double>& inputs, const std::vector<double>& mix,
                                              bool training) {
  inputs_ = inputs;
  quantise_weights(mix);
  const std::size_t examples = inputs.size() / n;
  mixed_inputs_.assign(inputs.size(), 0);
  for (std::size_t j = 0; j < bits_.size(); ++j) {
    if (mix[j] == 0) continue;
    const Step step(1, steps_of(bits_[j]));
    for (std::size_t i = 0; i < inputs.size(); ++i) mixed_inputs_[i] += mix[j] * step(inputs[i]);
  }
  hidden_.assign(examples * n, 0);
  double most = 0;
  for (std::size_t e = 0; e < examples; ++e) {
    double* z = hidden_.data() + e * n;
    for (std::size_t h = 0; h < n; ++h) z[h] = mixed_weights_[offsets + h];
    for (std::size_t i = 0; i < n; ++i) {
      const double x = mixed_inputs_[e * n + i];
      const double* w = mixed_weights_.data() + i * n;
      for (std::size_t h = 0; h < n; ++h) z[h] += w[h] * x;
    }
    for (std::size_t h = 0; h < n; ++h) {
      z[h] = std::max(z[h], 0.0);
      most = std::max(most, z[h]);
    }
  }
  if (most_ == 0) most_ = most;
  if (training) most_ += 0.1 * (most - most_);
  mixed_hidden_.assign(examples * n, 0);
  for (std::size_t j = 0; j < bits_.size(); ++j) {
    if (mix[j] == 0) continue;
    const Step step(most_, std::exp2(bits_[j]) - 1);
    for (std::size_t i = 0; i < hidden_.size(); ++i) mixed_hidden_[i] += mix[j] * step(std::min(hidden_[i], most_));
  }
  outputs_.assign(examples, mixed_weights_[last]);
  for (std::size_t e = 0; e < examples; ++e)
    for (std::size_t h = 0; h < n; ++h) outputs_[e] += mixed_weights_[outs + h] * mixed_hidden_[e * n + h];
  return outputs_;
}

std::vector<double> BranchNet::backward(const std::vector<double>& slopes) {
  std::fill(slopes_.begin(), slopes_.end(), 0);
  std::vector<double> by_mix(bits_.size(), 0), by_inputs(inputs_.size(), 0);
  std::vector<double> by_hidden(hidden_.size(), 0);
  for (std::size_t e = 0; e < slopes.size(); ++e) {
    slopes_[last] += slopes[e];
    for (std::size_t h = 0; h < n; ++h) {
      slopes_[outs + h] += slopes[e] * mixed_hidden_[e * n + h];
      by_hidden[e * n + h] = slopes[e] * mixed_weights_[outs + h];
    }
  }
  for (std::size_t j = 0; j < bits_.size(); ++j) {
    const Step step(most_, std::exp2(bits_[j]) - 1);
    for (std::size_t i = 0; i < hidden_.size(); ++i) by_mix[j] += by_hidden[i] * step(std::min(hidden_[i], most_));
  }
  for (std::size_t e = 0; e < slopes.size(); ++e) {
    double* slope = by_hidden.data() + e * n;  // from here on by what comes before the ReLU and the clip
    for (std::size_t h = 0; h < n; ++h) {
      const double value = hidden_[e * n + h];
      slope[h] = value > 0 && value <= most_ ? slope[h] : 0;
      slopes_[offsets + h] += slope[h];
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double x = mixed_inputs_[e * n + i];
      double* by_weight = slopes_.data() + i * n;
      const double* w = mixed_weights_.data() + i * n;
      double sum = 0;
      for (std::size_t h = 0; h < n; ++h) {
        by_weight[h] += slope[h] * x;
        sum += slope[h] * w[h];
      }
      by_inputs[e * n + i] = sum;
    }
  }
  for (std::size_t j = 0; j < bits_.size(); ++j) {
    const Step step(1, steps_of(bits_[j]));
    for (std::size_t i = 0; i < inputs_.size(); ++i) by_mix[j] += by_inputs[i] * step(inputs_[i]);
    for (std::size_t i = 0; i < offsets; ++i) by_mix[j] += slopes_[i] * copies_[j][i];
    for (std::size_t i = outs; i < last; ++i) by_mix[j] += slopes_[i] * copies_[j][i];
  }
  return by_mix;
}

void BranchNet::descend(double rate) {
  ++steps_;
  const double scale1 = 1 / (1 - std::pow(0.9, steps_)), scale2 = 1 / (1 - std::pow(0.999, steps_));
  for (std::size_t i = 0; i < all; ++i) {
    first_[i] += 0.1 * (slopes_[i] - first_[i]);
    second_[i] += 0.001 * (slopes_[i] * slopes_[i] - second_[i]);
    weights_[i] -= rate * first_[i] * scale1 / (std::sqrt(second_[i] * scale2) + 1e-8);
  }
}

}  // namespace kasimir
