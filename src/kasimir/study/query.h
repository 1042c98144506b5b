// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/database.h"
#include "kasimir/study/record.h"

#include <deque>
#include <functional>
#include <optional>
#include <string>

namespace kasimir::study {

/// One statement: values in by position (`:a`, `:b`, ..), columns out into variables, which `next` fills.
///
///   Query query(db, "select id, reason from jobs where trial = :a");
///   query.in(7).out(id, reason);
///   while (query.next()) ...
class Query {
 public:
  Query(Database& database, std::string text);

  template <typename... Values>
  Query& in(const Values&... values) {
    (bind(values), ...);
    return *this;
  }
  template <typename... Variables>
  Query& out(Variables&... variables) {
    (define(variables), ...);
    return *this;
  }

  /// The next row. False: there is none. @throws Error as Database.
  bool next();
  /// Runs a statement without rows; returns how many rows it changed. @throws Error as Database.
  long long run();

 private:
  /// A value on its way; SOCI keeps a reference, so it must not move.
  struct Cell {
    long long whole = 0;
    double real = 0;
    std::string text;
    soci::indicator indicator = soci::i_ok;
    std::function<void(const Cell&)> assign;
  };

  void bind(int value) { bind(static_cast<long long>(value)); }
  void bind(long value) { bind(static_cast<long long>(value)); }
  void bind(long long value);
  void bind(double value);
  void bind(const std::string& value);
  void bind(const char* value) { bind(std::string(value)); }
  void bind(std::string_view value) { bind(std::string(value)); }
  void bind(const std::optional<double>& value);
  void bind(const std::optional<std::string>& value);
  void bind(const Json& value) { bind(value.dump()); }
  void bind(Rung value) { bind(static_cast<long long>(value)); }
  void bind(TrialState value) { bind(name_of(value)); }
  void bind(JobState value) { bind(name_of(value)); }

  void define(int& variable);
  void define(long& variable);
  void define(double& variable);  ///< NULL reads as not-a-number
  void define(std::string& variable);
  void define(std::optional<double>& variable);
  void define(Json& variable);
  void define(Rung& variable);
  void define(TrialState& variable);
  void define(JobState& variable);
  Cell& text_cell(std::function<void(const Cell&)> assign);
  Cell& whole_cell(std::function<void(const Cell&)> assign);
  Cell& real_cell(std::function<void(const Cell&)> assign);
  void start();

  Database& database_;
  std::string text_;
  std::deque<Cell> cells_;
  soci::statement statement_;
  bool started_ = false;
};

}  // namespace kasimir::study
