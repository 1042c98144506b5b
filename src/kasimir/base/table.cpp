// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/table.h"

#include "kasimir/base/error.h"

#include <algorithm>

namespace kasimir {
namespace {

std::size_t width_of(const std::string& text) {
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

void append_cell(std::string& line, const std::string& cell, std::size_t width, Table::Align align) {
  const std::size_t own = width_of(cell);
  const std::string fill(width > own ? width - own : 0, ' ');
  line += align == Table::Align::left ? cell + fill : fill + cell;
}

}  // namespace

void Table::row(std::vector<std::string> cells) {
  KASIMIR_CHECK(cells.size() == columns_.size(), "a row of {} cells in a table of {} columns", cells.size(),
                columns_.size());
  for (std::string& cell : cells) {
    std::replace(cell.begin(), cell.end(), '\n', ' ');
  }
  rows_.push_back(std::move(cells));
}

std::string Table::str() const {
  std::vector<std::vector<std::string>> lines(1);
  std::vector<std::string> units;
  for (const Column& column : columns_) {
    lines[0].push_back(column.name);
    units.push_back(column.unit);
  }
  const bool any_unit = std::any_of(units.begin(), units.end(), [](const std::string& unit) { return !unit.empty(); });
  if (any_unit) lines.push_back(std::move(units));
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  }
  std::string text;
  for (const auto& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      append_cell(line, cells[i], widths[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace kasimir
