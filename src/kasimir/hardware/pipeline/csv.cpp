// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/csv.h"

#include "kasimir/base/error.h"

#include <limits>

namespace kasimir {
namespace {

const std::string& cell_of(const CsvRow& row, std::size_t i, std::string_view column) {
  if (i >= row.cells.size()) throw input_error("no cell for column `{}`", column).note(row.where());
  return row.cells[i];
}

}  // namespace

std::string CsvRow::where() const { return fmt::format("{}:{}", file, line); }

std::vector<CsvRow> csv_rows(std::string_view text, const std::string& file) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::vector<CsvRow> rows;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::string_view content = trim(line);
    if (content.empty() || content.front() == '#') continue;
    CsvRow row{file, number, {}};
    for (const std::string& cell : split(content, ',')) row.cells.emplace_back(trim(cell));
    while (!row.cells.empty() && row.cells.back().empty()) row.cells.pop_back();
    if (!row.cells.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

int whole_cell(const CsvRow& row, std::size_t i, std::string_view column) {
  const std::string& cell = cell_of(row, i, column);
  const auto value = parse_integer(cell);
  if (!value || *value < std::numeric_limits<int>::min() || *value > std::numeric_limits<int>::max())
    throw input_error("column `{}` is `{}`, needed: a whole number", column, cell).note(row.where());
  return static_cast<int>(*value);
}

double number_cell(const CsvRow& row, std::size_t i, std::string_view column) {
  const std::string& cell = cell_of(row, i, column);
  const auto value = parse_number(cell);
  if (!value) throw input_error("column `{}` is `{}`, needed: a number", column, cell).note(row.where());
  return *value;
}

}  // namespace kasimir
