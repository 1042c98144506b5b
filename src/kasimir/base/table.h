// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// A plain-text table: a header, an optional row of units, aligned columns (numbers to the right), two spaces between.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string name;
    std::string unit;
    Align align = Align::right;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row; another number of cells than of columns is a failed check. Line breaks in a cell become spaces.
  void row(std::vector<std::string> cells);
  /// The lines, each closed by a line break, without trailing spaces. Width is counted in characters of UTF-8.
  [[nodiscard]] std::string str() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kasimir
