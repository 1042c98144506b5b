// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/gaussian_process.h"

#include "kasimir/base/error.h"
#include "kasimir/train/torch.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_solve_triangular.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace kasimir {
namespace {

/// What the marginal likelihood chooses.
struct Hyper {
  std::vector<double>
      lengths;          ///< of each group's smooth part, in deviations of a feature times the root of their number
  double linear = 0.3;  ///< share of the linear part; the others share the rest
  double noise = 0.3;   ///< variance, the function's being 1
};

// Grids wide enough for both ends to be of no use. A judgement.
constexpr std::array lengths{0.25, 0.5, 1.0, 2.0, 4.0};
constexpr std::array linears{0.0, 0.1, 0.3, 0.6, 0.9};
constexpr std::array noises{0.01, 0.03, 0.1, 0.3, 1.0, 3.0};
constexpr int most_rounds = 3;

at::Tensor matrix(const std::vector<std::vector<double>>& rows) {
  const auto columns = static_cast<std::int64_t>(rows.front().size());
  at::Tensor made = at::empty({std::ssize(rows), columns}, at::kDouble);
  auto* out = made.data_ptr<double>();
  for (const std::vector<double>& row : rows) {
    KASIMIR_CHECK(std::ssize(row) == columns, "a row of {} features beside one of {}", row.size(), columns);
    out = std::ranges::copy(row, out).out;
  }
  return made;
}

/// All parts of the covariance between two sets of rows, before their shares.
struct Likeness {
  std::vector<at::Tensor> squares;  ///< of each group: squared distance by the number of its features
  at::Tensor products;              ///< scalar product by the number of features
};

Likeness likeness(const at::Tensor& a, const at::Tensor& b, const std::vector<int>& groups) {
  Likeness like;
  std::int64_t first = 0;
  for (const int group : groups) {
    const at::Tensor x = a.narrow(1, first, group), y = b.narrow(1, first, group);
    const at::Tensor squares = x.mul(x).sum(1, true) + y.mul(y).sum(1).unsqueeze(0) - x.matmul(y.t()) * 2;
    like.squares.push_back(squares.clamp_min(0) / group);
    first += group;
  }
  like.products = a.matmul(b.t()) / static_cast<double>(a.size(1));
  return like;
}

at::Tensor covariance(const Likeness& like, const Hyper& hyper) {
  at::Tensor all = like.products * hyper.linear;
  const double share = (1 - hyper.linear) / static_cast<double>(like.squares.size());
  for (std::size_t g = 0; g < like.squares.size(); ++g) {
    const at::Tensor far = (like.squares[g] * 5).sqrt() / hyper.lengths[g];
    all = all + (far * far / 3 + far + 1) * (-far).exp() * share;
  }
  return all;
}

}  // namespace

struct GaussianProcess::Fitted {
  std::vector<int> groups;
  at::Tensor rows, mean, scale;  ///< of the features
  double value_mean = 0, value_scale = 1;
  Hyper hyper;
  double variance = 1;  ///< of the function
  at::Tensor factor;    ///< lower triangle: covariance and noise of the rows
  at::Tensor weights;   ///< the inverse of both, times the values

  [[nodiscard]] at::Tensor standardised(const at::Tensor& raw) const {
    constexpr double most = 3;  // what is farther away is no more telling
    return ((raw - mean) / scale).clamp(-most, most);
  }

  /// The log of the likelihood, up to a constant, with the variance that makes it largest.
  double fit(const Likeness& like, const at::Tensor& values, const Hyper& tried) {
    const std::int64_t n = values.size(0);
    at::Tensor all = covariance(like, tried);
    all.diagonal().add_(tried.noise);
    auto [lower, failed] = at::linalg_cholesky_ex(all);
    if (failed.item<std::int64_t>() != 0) return -std::numeric_limits<double>::infinity();
    const at::Tensor half = at::linalg_solve_triangular(lower, values.unsqueeze(1), false);
    variance = std::max(half.mul(half).sum().item<double>() / static_cast<double>(n), 1e-12);
    weights = at::linalg_solve_triangular(lower.t(), half, true);
    factor = lower;
    hyper = tried;
    return -0.5 * static_cast<double>(n) * std::log(variance) - lower.diagonal().log().sum().item<double>();
  }
};

GaussianProcess::GaussianProcess(const std::vector<std::vector<double>>& rows, const std::vector<double>& values,
                                 std::vector<int> groups)
    : fitted_(std::make_unique<Fitted>()) {
  KASIMIR_CHECK(rows.size() >= 2 && rows.size() == values.size(), "{} rows and {} values", rows.size(), values.size());
  const at::NoGradGuard none;
  Fitted& f = *fitted_;
  const at::Tensor raw = matrix(rows);
  f.groups = groups.empty() ? std::vector{static_cast<int>(raw.size(1))} : std::move(groups);
  const auto grouped = std::accumulate(f.groups.begin(), f.groups.end(), std::int64_t{0});
  KASIMIR_CHECK(grouped == raw.size(1), "{} features, {} of them in groups", raw.size(1), grouped);
  f.mean = raw.mean(0, true);
  f.scale = (raw - f.mean).pow(2).mean(0, true).sqrt();
  f.scale.masked_fill_(f.scale < 1e-9, 1);  // a feature that never changes says nothing
  f.rows = f.standardised(raw);
  at::Tensor y = at::empty({std::ssize(values)}, at::kDouble);
  std::ranges::copy(values, y.data_ptr<double>());
  f.value_mean = y.mean().item<double>();
  y = y - f.value_mean;
  f.value_scale = std::max(std::sqrt(y.pow(2).mean().item<double>()), 1e-12);
  y = y / f.value_scale;

  const Likeness like = likeness(f.rows, f.rows, f.groups);
  Hyper best;
  best.lengths.assign(f.groups.size(), 1);
  double highest = f.fit(like, y, best);
  // `place` gives the number that is to change.
  const auto along = [&](const auto& place, std::span<const double> grid) {
    bool changed = false;
    for (const double value : grid) {
      Hyper tried = best;
      place(tried) = value;
      const double reached = value == place(best) ? highest : f.fit(like, y, tried);
      if (reached <= highest) continue;
      highest = reached;
      best = tried;
      changed = true;
    }
    return changed;
  };
  for (int round = 0; round < most_rounds; ++round) {
    bool changed = along([](Hyper& of) -> double& { return of.noise; }, noises);
    for (std::size_t g = 0; g < f.groups.size(); ++g)
      changed = along([g](Hyper& of) -> double& { return of.lengths[g]; }, lengths) || changed;
    if (!along([](Hyper& of) -> double& { return of.linear; }, linears) && !changed) break;
  }
  f.fit(like, y, best);
}

GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess& GaussianProcess::operator=(GaussianProcess&&) noexcept = default;
GaussianProcess::~GaussianProcess() = default;

std::vector<Expected> GaussianProcess::predict(const std::vector<std::vector<double>>& rows) const {
  if (rows.empty()) return {};
  const at::NoGradGuard none;
  const Fitted& f = *fitted_;
  const at::Tensor at_rows = f.standardised(matrix(rows));
  const at::Tensor between = covariance(likeness(f.rows, at_rows, f.groups), f.hyper);
  const at::Tensor means = between.t().matmul(f.weights).squeeze(1).contiguous();
  const at::Tensor half = at::linalg_solve_triangular(f.factor, between, false);
  const double features = static_cast<double>(at_rows.size(1));
  const at::Tensor own = at_rows.mul(at_rows).sum(1) * (f.hyper.linear / features) + (1 - f.hyper.linear);
  const at::Tensor left = ((own - half.mul(half).sum(0)).clamp_min(0) * f.variance).sqrt().contiguous();
  std::vector<Expected> expected;
  for (std::size_t i = 0; i < rows.size(); ++i)
    expected.push_back(
        {f.value_mean + f.value_scale * means.data_ptr<double>()[i], f.value_scale * left.data_ptr<double>()[i]});
  return expected;
}

double GaussianProcess::noise() const { return fitted_->hyper.noise * fitted_->variance; }

}  // namespace kasimir
