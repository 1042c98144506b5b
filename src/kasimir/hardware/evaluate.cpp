// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/evaluate.h"

#include "kasimir/base/stopwatch.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"

namespace kasimir {

bool overshoots(const CostModel& model, const BasicCounts<double>& counts) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(model.dims); ++d)
    if (counts.covered[d] > model.size[d] * (1 + 1e-9)) return true;
  return false;
}

namespace {

/// The mean number of passes of each loop. With t the tile inside of it, a dimension of size n has ceil(n / t) tiles,
/// whose extents add up to n; as footprints are sums of products of extents of different dimensions, sums over all
/// tiles are the footprint of mean extents times the number of tiles.
BasicMapping<double> mean_passes(const CostModel& model, const BasicMapping<double>& mapping) {
  BasicMapping<double> mean = mapping;
  std::array<double, max_dims> tile;
  tile.fill(1);
  for (auto i = static_cast<std::size_t>(mapping.count); i-- > 0;) {
    const auto d = static_cast<std::size_t>(mapping.loops[i].dim);
    const auto size = model.size[d];
    const double inside = std::ceil(size / tile[d]);
    tile[d] *= mapping.loops[i].bound;
    mean.loops[i].bound = inside / std::ceil(size / tile[d]);
  }
  return mean;
}

}  // namespace

void evaluate_padded(const CostModel& model, const BasicMapping<double>& mapping, Evaluation& out) {
  BasicCounts<double> totals;
  CostModel unchecked = model;
  unchecked.options.stop_at_violation = false;
  count(unchecked, mean_passes(model, mapping), totals);
  price(model, out.counts, totals, out);
  totals.violations = out.counts.violations;
  totals.violation_count = out.counts.violation_count;
  out.counts = totals;
}

std::string describe(const CostModel& model, const BasicViolation<double>& violation) {
  constexpr std::string_view roles[] = {"inputs", "weights", "outputs"};
  const std::string& level = model.architecture.levels[static_cast<std::size_t>(violation.level)].name;
  const auto which = static_cast<std::size_t>(violation.which);
  switch (violation.constraint) {
    case Constraint::capacity:
      return fmt::format("level {} would hold {} bit, its capacity is {} bit", level, violation.used, violation.limit);
    case Constraint::partition:
      return fmt::format("level {} would hold {} bit of {}, its part for them is {} bit", level, violation.used,
                         roles[which], violation.limit);
    case Constraint::fan_out_x:
    case Constraint::fan_out_y:
      return fmt::format("level {} would feed {} {}, there are {}", level, violation.used,
                         violation.constraint == Constraint::fan_out_x ? "columns" : "rows", violation.limit);
    case Constraint::shares:
      return fmt::format("level {} cannot run {} side by side", level, model.problem.dims[which].name);
    case Constraint::keeps:
      return fmt::format("level {} cannot keep {}", level, model.problem.operands[which].name);
    case Constraint::uncovered:
      return fmt::format("the loops over {} make {} passes, its size is {}", model.problem.dims[which].name,
                         violation.used, violation.limit);
  }
  fail_check("constraint", __FILE__, __LINE__, "an unknown constraint");
}

double power_mw(double energy_pj, double cycles, double clock_mhz) {
  return energy_pj / cycles * clock_mhz / 1000;  // pJ * MHz = uW
}

double power_mw(const CostModel& model, const Evaluation& evaluation) {
  return power_mw(evaluation.energy_pj, evaluation.cycles, model.architecture.clock_mhz);
}

std::vector<LevelRow> level_rows(const CostModel& model, const Evaluation& evaluation) {
  std::vector<LevelRow> rows;
  for (int i = evaluation.counts.count; i-- > 0;) {
    const BasicCount<double>& entry = evaluation.counts.entries[static_cast<std::size_t>(i)];
    const auto l = static_cast<std::size_t>(entry.level);
    const FlatLevel& level = model.level[l];
    const Traffic<double> traffic = traffic_of(model, evaluation.counts, entry);
    LevelRow row;
    row.level = model.architecture.levels[l].name;
    row.operand = model.problem.operands[static_cast<std::size_t>(entry.operand)].name;
    row.instances = evaluation.counts.instances[l];
    row.footprint = entry.footprint;
    row.bits = entry.bits;
    row.reads = entry.reads;
    row.fills = entry.fills;
    row.updates = entry.updates;
    row.energy_pj =
        row.instances * (traffic.reads * level.read_pj + traffic.writes * level.write_pj +
                         traffic.read_bits * level.read_pj_per_bit + traffic.write_bits * level.write_pj_per_bit);
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

std::string count_text(double count) { return grouped(static_cast<std::int64_t>(std::llround(count))); }

std::string rows_text(const CostModel& model, const Evaluation& evaluation) {
  Table table({{"level", "", Table::Align::left},
               {"operand", "", Table::Align::left},
               {"instances", ""},
               {"kept", ""},
               {"width", "bit"},
               {"reads", ""},
               {"fills", ""},
               {"updates", ""},
               {"energy", "nJ"}});
  for (const LevelRow& row : level_rows(model, evaluation))
    table.row({row.level, row.operand, count_text(row.instances), count_text(row.footprint), si(row.bits),
               count_text(row.reads), count_text(row.fills), count_text(row.updates),
               fmt::format("{:.2f}", row.energy_pj / 1000)});
  return table.str();
}

std::string totals_text(const CostModel& model, const Evaluation& evaluation) {
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&](std::string name, std::string value) { lines.emplace_back(std::move(name), std::move(value)); };
  const auto cycles = [&](std::string name, double value) { add(std::move(name), count_text(value)); };
  const auto nanojoules = [&](std::string name, double pj) { add(std::move(name), fmt::format("{:.2f}", pj / 1000)); };
  cycles("cycles", evaluation.cycles);
  cycles("  compute", evaluation.compute_cycles);
  cycles("  waiting", evaluation.stall_cycles());
  if (model.cycles_per_pj > 0) cycles("  waiting for power", evaluation.pause_cycles);
  for (std::size_t l = 0; l < model.architecture.levels.size(); ++l)
    cycles(fmt::format("  {} is busy", model.architecture.levels[l].name), evaluation.level_cycles[l]);
  add("utilization %", fmt::format("{:.1f}", 100 * evaluation.utilization));
  nanojoules("energy nJ", evaluation.energy_pj);
  nanojoules("  compute", evaluation.compute_pj);
  nanojoules("  links", evaluation.hop_pj);
  nanojoules("  leakage", evaluation.leakage_pj);
  add("power mW", fmt::format("{:.4g}", power_mw(model, evaluation)));
  add("area mm2", fmt::format("{:.4f}", evaluation.area_um2 / 1e6));
  std::size_t left = 0;
  std::size_t right = 0;
  for (const auto& [name, value] : lines) {
    left = std::max(left, name.size());
    right = std::max(right, value.size());
  }
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:<{}}  {:>{}}\n", name, left, value, right);
  return text;
}

}  // namespace

std::string report_text(const CostModel& model, const Evaluation& evaluation) {
  std::string text;
  if (evaluation.finished) text = rows_text(model, evaluation) + "\n" + totals_text(model, evaluation);
  for (int i = 0; i < evaluation.counts.violation_count; ++i)
    text +=
        fmt::format("does not fit: {}\n", describe(model, evaluation.counts.violations[static_cast<std::size_t>(i)]));
  return text;
}

double evaluations_per_second(const CostModel& model, const std::vector<Mapping>& mappings, double seconds) {
  KASIMIR_CHECK(!mappings.empty(), "no mappings");
  Evaluation out;
  double done = 0;
  double sum = 0;
  const Stopwatch watch;
  do {
    for (const Mapping& mapping : mappings) {
      evaluate_into(model, mapping, out);
      sum += out.energy_pj;
    }
    done += static_cast<double>(mappings.size());
  } while (watch.seconds() < seconds);
  KASIMIR_CHECK(sum >= 0, "the energies add up to {}", sum);
  return done / watch.seconds();
}

}  // namespace kasimir
