// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/query.h"

#include <cmath>
#include <limits>

namespace kasimir::study {

Query::Query(Database& database, std::string text)
    : database_(database), text_(std::move(text)), statement_(database.session()) {}

void Query::bind(long long value) {
  Cell& cell = cells_.emplace_back();
  cell.whole = value;
  statement_.exchange(soci::use(cell.whole));
}

void Query::bind(double value) { bind(std::optional<double>(value)); }

void Query::bind(const std::optional<double>& value) {
  Cell& cell = cells_.emplace_back();
  cell.real = value.value_or(0);
  // SQLite has no not-a-number: it would store NULL without saying so.
  cell.indicator = value && !std::isnan(*value) ? soci::i_ok : soci::i_null;
  statement_.exchange(soci::use(cell.real, cell.indicator));
}

void Query::bind(const std::string& value) { bind(std::optional<std::string>(value)); }

void Query::bind(const std::optional<std::string>& value) {
  Cell& cell = cells_.emplace_back();
  cell.text = value.value_or("");
  cell.indicator = value ? soci::i_ok : soci::i_null;
  statement_.exchange(soci::use(cell.text, cell.indicator));
}

Query::Cell& Query::text_cell(std::function<void(const Cell&)> assign) {
  Cell& cell = cells_.emplace_back();
  cell.assign = std::move(assign);
  statement_.exchange(soci::into(cell.text, cell.indicator));
  return cell;
}

Query::Cell& Query::whole_cell(std::function<void(const Cell&)> assign) {
  Cell& cell = cells_.emplace_back();
  cell.assign = std::move(assign);
  statement_.exchange(soci::into(cell.whole, cell.indicator));
  return cell;
}

Query::Cell& Query::real_cell(std::function<void(const Cell&)> assign) {
  Cell& cell = cells_.emplace_back();
  cell.assign = std::move(assign);
  statement_.exchange(soci::into(cell.real, cell.indicator));
  return cell;
}

void Query::define(int& variable) {
  whole_cell([&variable](const Cell& cell) { variable = static_cast<int>(cell.whole); });
}
void Query::define(long& variable) {
  whole_cell([&variable](const Cell& cell) { variable = static_cast<long>(cell.whole); });
}
void Query::define(Rung& variable) {
  whole_cell([&variable](const Cell& cell) { variable = static_cast<Rung>(cell.whole); });
}
void Query::define(double& variable) {
  real_cell([&variable](const Cell& cell) {
    variable = cell.indicator == soci::i_null ? std::numeric_limits<double>::quiet_NaN() : cell.real;
  });
}
void Query::define(std::optional<double>& variable) {
  real_cell([&variable](const Cell& cell) {
    variable = cell.indicator == soci::i_null ? std::nullopt : std::optional(cell.real);
  });
}
void Query::define(std::string& variable) {
  text_cell([&variable](const Cell& cell) { variable = cell.indicator == soci::i_null ? "" : cell.text; });
}
void Query::define(Json& variable) {
  text_cell([&variable](const Cell& cell) { variable = Json::parse(cell.text); });
}
void Query::define(TrialState& variable) {
  text_cell([&variable](const Cell& cell) { variable = trial_state(cell.text); });
}
void Query::define(JobState& variable) {
  text_cell([&variable](const Cell& cell) { variable = job_state(cell.text); });
}

void Query::start() {
  started_ = true;
  statement_.alloc();
  statement_.prepare(text_);
  statement_.define_and_bind();
}

bool Query::next() {
  try {
    bool row = false;
    if (started_) {
      row = statement_.fetch();
    } else {
      start();
      row = statement_.execute(true);
    }
    if (!row) return false;
  } catch (const soci::soci_error& error) {
    database_.translate(error);
  }
  for (const Cell& cell : cells_) {
    if (cell.assign) cell.assign(cell);
  }
  return true;
}

long long Query::run() {
  try {
    start();
    statement_.execute(true);
    return statement_.get_affected_rows();
  } catch (const soci::soci_error& error) {
    database_.translate(error);
  }
}

}  // namespace kasimir::study
