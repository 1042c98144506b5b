// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace kasimir::testing {

using Index = std::vector<std::int64_t>;

/// A dense tensor for reference loops: row-major, zero outside.
class Array {
 public:
  Array() = default;
  Array(Index dims, std::vector<double> values) : dims_(std::move(dims)), values_(std::move(values)) {
    KASIMIR_CHECK(size_of(dims_) == static_cast<std::int64_t>(values_.size()), "{} values", values_.size());
  }

  [[nodiscard]] const Index& dims() const { return dims_; }
  [[nodiscard]] std::int64_t dim(std::size_t axis) const { return dims_[axis]; }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

  template <typename... At>
  [[nodiscard]] double operator()(At... at) const {
    return read({static_cast<std::int64_t>(at)...});
  }
  [[nodiscard]] double read(const Index& at) const {
    KASIMIR_CHECK(at.size() == dims_.size(), "{} coordinates for {} axes", at.size(), dims_.size());
    std::int64_t place = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i] < 0 || at[i] >= dims_[i]) return 0.0;
      place = place * dims_[i] + at[i];
    }
    return values_[static_cast<std::size_t>(place)];
  }

  /// The array whose elements are value(index).
  static Array of(const Index& dims, const std::function<double(const Index&)>& value) {
    std::vector<double> values;
    Index at(dims.size(), 0);
    for (std::int64_t left = size_of(dims); left > 0; --left) {
      values.push_back(value(at));
      for (std::size_t i = at.size(); i-- > 0 && ++at[i] == dims[i];) at[i] = 0;
    }
    return {dims, std::move(values)};
  }

 private:
  static std::int64_t size_of(const Index& dims) {
    std::int64_t product = 1;
    for (std::int64_t d : dims) product *= d;
    return product;
  }
  Index dims_;
  std::vector<double> values_;
};

inline double largest(const std::vector<double>& values) {
  double most = 0.0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

/// The largest difference; infinity for other sizes or NaN.
template <typename Value>
double largest_difference(const std::vector<Value>& found, const std::vector<double>& wanted) {
  if (found.size() != wanted.size()) return INFINITY;
  double most = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double d = std::abs(static_cast<double>(found[i]) - wanted[i]);
    if (std::isnan(d)) return INFINITY;
    most = std::max(most, d);
  }
  return most;
}

/// The same relative to the largest expected value (at least 1).
inline double difference(const std::vector<double>& found, const std::vector<double>& wanted) {
  return largest_difference(found, wanted) / std::max(1.0, largest(wanted));
}

/// Every element of `found` is what the reference says.
inline void expect_array(const Array& found, const Index& dims, const std::function<double(const Index&)>& value) {
  ASSERT_EQ(found.dims(), dims);
  EXPECT_LE(difference(found.values(), Array::of(dims, value).values()), 1e-12);
}

}  // namespace kasimir::testing
