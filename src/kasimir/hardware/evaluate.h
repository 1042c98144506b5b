// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/counter.h"
#include "kasimir/hardware/price.h"

#include <string>
#include <vector>

/// The evaluator: what a problem costs on an architecture under a mapping.
///
///     const CostModel model(convolution(shape), preset("gemmini"));
///     const Evaluation result = evaluate(model, parse_mapping(line, model.problem, model.architecture));
///     if (!result.fits()) for (..) describe(model, violation);
///
/// In a search, keep one `BasicEvaluation` per thread and call `evaluate_into`: nothing is allocated. A mapping with
/// bounds of type `DualNumber<N>` gives slopes, one of `Interval` bounds all mappings within the intervals.
namespace kasimir {

/// Whether some dimension's bounds multiply to more than its size.
bool overshoots(const CostModel& model, const BasicCounts<double>& counts);

/// Finishes the evaluation of a mapping that overshoots, of which `out` holds the counts with full passes.
void evaluate_padded(const CostModel& model, const BasicMapping<double>& mapping, Evaluation& out);

/// Evaluates into `out`, which may hold an earlier result.
/// A dimension whose bounds multiply to more than its size is evaluated exactly in double: times are those of the
/// busiest instance, counts and energies those of all passes, the last of which are shorter. Other scalars count all
/// passes as full ones.
template <typename S, typename Bound>
void evaluate_into(const CostModel& model, const BasicMapping<Bound>& mapping, BasicEvaluation<S>& out) {
  out.finished = count(model, mapping, out.counts);
  out.area_um2 = model.area_um2;
  if (!out.finished) return;
  if constexpr (std::same_as<S, double>)
    if (overshoots(model, out.counts)) return evaluate_padded(model, mapping_as<double>(mapping), out);
  price(model, out.counts, out.counts, out);
}

/// The scalar of a mapping with these bounds: double for whole numbers.
template <typename Bound>
BasicEvaluation<Real<Bound>> evaluate(const CostModel& model, const BasicMapping<Bound>& mapping) {
  BasicEvaluation<Real<Bound>> out;
  evaluate_into(model, mapping, out);
  return out;
}

/// One line on a violation: "level scratchpad would hold 70656 bit, its capacity is 65536 bit".
std::string describe(const CostModel& model, const BasicViolation<double>& violation);

/// Energy over time.
double power_mw(double energy_pj, double cycles, double clock_mhz);
/// The same of an evaluation, leakage included.
double power_mw(const CostModel& model, const Evaluation& evaluation);

/// One operand at one level, for tables: counts of one instance and what they cost in all instances.
struct LevelRow {
  std::string level;
  std::string operand;
  double instances = 0;
  double footprint = 0;
  double bits = 0;
  double reads = 0;
  double fills = 0;
  double updates = 0;
  double energy_pj = 0;
};

/// Rows from the outermost level inwards.
std::vector<LevelRow> level_rows(const CostModel& model, const Evaluation& evaluation);

/// The rows as a table, and below it cycles, energy and area with what they are made of.
std::string report_text(const CostModel& model, const Evaluation& evaluation);

/// Mappings per second of one thread, which evaluates the list again and again for at least `seconds`.
double evaluations_per_second(const CostModel& model, const std::vector<Mapping>& mappings, double seconds);

}  // namespace kasimir
