// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

namespace kasimir {

/// What a regression expects at one place, and how sure it is.
struct Expected {
  double mean = 0;
  double deviation = 0;  ///< of the function itself: noise of a measurement is not in it
};

/// Regression by a Gaussian process (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm
/// 2.1): values are a linear function of the features, plus a smooth one (Matern 5/2) of each group of features, plus
/// noise. Lengths, shares and the noise are those of highest marginal likelihood on a grid, found coordinate by
/// coordinate; features and values are standardised, and features end at three deviations. The same for the same rows;
/// cubic in their number.
class GaussianProcess {
 public:
  /// `groups`: how many features each group has, in their order; {}: all are one.
  /// @pre at least 2 rows, as many values, all rows of one length, which is the sum of the groups, all finite
  GaussianProcess(const std::vector<std::vector<double>>& rows, const std::vector<double>& values,
                  std::vector<int> groups = {});
  GaussianProcess(GaussianProcess&&) noexcept;
  GaussianProcess& operator=(GaussianProcess&&) noexcept;
  ~GaussianProcess();

  [[nodiscard]] std::vector<Expected> predict(const std::vector<std::vector<double>>& rows) const;
  /// Share of the values' variance that is taken for noise.
  [[nodiscard]] double noise() const;

 private:
  struct Fitted;
  std::unique_ptr<Fitted> fitted_;
};

}  // namespace kasimir
