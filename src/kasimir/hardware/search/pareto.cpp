// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/pareto.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

/// Components that differ between rows: the others decide nothing.
std::vector<std::size_t> varying(const FactorTable& table, std::size_t components) {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < components; ++c) {
    const auto [low, high] = std::minmax_element(table.column(c), table.column(c) + table.rows);
    if (*high > *low * (1 + 1e-12)) found.push_back(c);
  }
  return found;
}

bool beats(const std::vector<double>& a, const std::vector<double>& b, std::size_t width, std::size_t i,
           std::size_t j) {
  for (std::size_t c = 0; c < width; ++c)
    if (a[i * width + c] > b[j * width + c] * (1 + 1e-12)) return false;
  return true;
}

}  // namespace

void keep_pareto_rows(FactorTable& table, std::size_t components) {
  if (table.rows == 0) return;
  const std::vector<std::size_t> columns = varying(table, components);
  const std::size_t width = columns.size();
  std::vector<double> rows(table.rows * width);
  std::vector<double> size(table.rows, 0);
  for (std::size_t r = 0; r < table.rows; ++r)
    for (std::size_t c = 0; c < width; ++c) {
      rows[r * width + c] = table.column(columns[c])[r];
      size[r] += std::log(rows[r * width + c]);
    }
  std::vector<std::size_t> order(table.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size[a] < size[b]; });
  std::vector<double> kept_rows;
  std::vector<std::size_t> kept;
  for (const std::size_t r : order) {
    bool beaten = false;
    for (std::size_t k = 0; k < kept.size() && !beaten; ++k) beaten = beats(kept_rows, rows, width, k, r);
    if (beaten) continue;
    kept.push_back(r);
    kept_rows.insert(kept_rows.end(), rows.begin() + static_cast<std::ptrdiff_t>(r * width),
                     rows.begin() + static_cast<std::ptrdiff_t>((r + 1) * width));
  }
  table.keep(kept, components);
}

}  // namespace kasimir
