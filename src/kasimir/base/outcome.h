// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"

#include <string>
#include <utility>
#include <variant>

namespace kasimir {

/// Expected by a search: something legal was not possible. Counted by `rule`, explained by `with`, never thrown.
struct Rejection {
  std::string rule;  ///< the rule that failed, the same text each time, so that it can be counted
  std::string with;  ///< the values that broke it

  [[nodiscard]] std::string str() const { return with.empty() ? rule : rule + " (" + with + ")"; }
  bool operator==(const Rejection&) const = default;
};

/// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Outcome(Rejection reason) : state_(std::move(reason)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(value()); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] T* operator->() { return &value(); }

  /// The value; a failed check (exit code 70) where there is none.
  [[nodiscard]] const T& value() const {
    KASIMIR_CHECK(ok(), "no value: {}", rejection().str());
    return std::get<0>(state_);
  }
  [[nodiscard]] T& value() {
    KASIMIR_CHECK(ok(), "no value: {}", rejection().str());
    return std::get<0>(state_);
  }
  /// The reason; a failed check (exit code 70) where there is a value.
  [[nodiscard]] const Rejection& rejection() const {
    KASIMIR_CHECK(!ok(), "nothing was rejected");
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Rejection> state_;
};

}  // namespace kasimir
