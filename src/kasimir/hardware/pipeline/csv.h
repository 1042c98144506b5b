// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/text.h"

#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// A line of a table of comma-separated cells, without quoting.
struct CsvRow {
  std::string file;
  int line = 0;                    ///< from 1
  std::vector<std::string> cells;  ///< trimmed
  [[nodiscard]] std::string where() const;
};

/// The lines that hold something: empty lines and lines that begin with # are skipped, ends of lines may be
/// CRLF, a byte order mark is passed over, and empty cells at the end of a line (a trailing comma) are left out.
std::vector<CsvRow> csv_rows(std::string_view text, const std::string& file);

/// Cell `i` as a whole number or a number. @throws Error (input) naming `column`, file and line.
int whole_cell(const CsvRow& row, std::size_t i, std::string_view column);
double number_cell(const CsvRow& row, std::size_t i, std::string_view column);

}  // namespace kasimir
