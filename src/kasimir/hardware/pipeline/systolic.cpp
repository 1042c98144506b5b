// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/systolic.h"

#include "kasimir/base/division.h"
#include "kasimir/base/error.h"

namespace kasimir {
SystolicCost systolic_cost(const Gemm& p, const SystolicArray& array) {
  if (array.rows < 1 || array.cols < 1)
    throw input_error("a systolic array of {} x {} elements, needed: at least 1 x 1", array.rows, array.cols);
  if (p.m < 1 || p.n < 1 || p.k < 1)
    throw input_error("a product M = {}, N = {}, K = {}, needed: at least 1 each", p.m, p.n, p.k);
  const bool output = array.dataflow == SystolicDataflow::output_stationary;
  const bool input = array.dataflow == SystolicDataflow::input_stationary;
  const std::int64_t on_rows = output ? p.m : p.k;
  const std::int64_t on_cols = input ? p.m : p.n;
  const std::int64_t streamed = output ? p.k : (input ? p.n : p.m);
  const std::int64_t row_folds = ceil_div(on_rows, array.rows);
  const std::int64_t col_folds = ceil_div(on_cols, array.cols);

  SystolicCost cost;
  cost.folds = row_folds * col_folds;
  // A stationary operand is loaded row by row first, which costs another `rows`.
  const std::int64_t load = output ? 0 : array.rows;
  cost.cycles = cost.folds * (load + streamed + array.rows + array.cols - 2);
  cost.input_reads = p.m * p.k * (input ? 1 : col_folds);
  cost.weight_reads = p.k * p.n * (output ? row_folds : (input ? col_folds : 1));
  cost.output_writes = p.m * p.n * (output ? 1 : row_folds);
  const double elements = static_cast<double>(array.rows) * array.cols;
  cost.mapping_efficiency = static_cast<double>(on_rows * on_cols) / (static_cast<double>(cost.folds) * elements);
  cost.utilization = static_cast<double>(p.m * p.n * p.k) / (static_cast<double>(cost.cycles) * elements);
  return cost;
}

SystolicCost systolic_cost(const ConvLayer& layer, const SystolicArray& array) {
  SystolicCost cost = systolic_cost(layer.gemm(), array);
  cost.folds *= layer.groups;
  cost.cycles *= layer.groups;
  cost.input_reads *= layer.groups;
  cost.weight_reads *= layer.groups;
  cost.output_writes *= layer.groups;
  return cost;
}

}  // namespace kasimir
