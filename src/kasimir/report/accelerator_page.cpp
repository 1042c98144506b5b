// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/accelerator_page.h"

#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/report/bars.h"
#include "kasimir/report/chart.h"
#include "kasimir/report/frame.h"
#include "kasimir/report/html.h"
#include "kasimir/report/parts.h"

#include <algorithm>
#include <cmath>

namespace kasimir::report {
namespace {

std::string count_text(double value) { return grouped(std::llround(value)); }
/// "2.76 uJ".
std::string with_unit(double value, std::string_view unit) {
  std::string text = si(value);
  const std::size_t end = text.find_first_not_of("-+.0123456789");
  text.insert(end == std::string::npos ? text.size() : end, " ");
  return text.append(unit);
}
std::string joules(double pj) { return with_unit(1e-12 * pj, "J"); }
Cell number(const std::string& text, double value) { return {text, value}; }

struct Totals {
  double cycles = 0, compute = 0, energy = 0, operations = 0;
};

Totals totals_of(const AcceleratorPage& page) {
  Totals sum;
  for (const AcceleratorLayer& layer : page.layers) {
    sum.cycles += layer.times * layer.evaluation.cycles;
    sum.compute += layer.times * layer.evaluation.compute_cycles;
    sum.energy += layer.times * layer.evaluation.energy_pj;
    sum.operations += layer.times * layer.model.problem.total_operations();
  }
  return sum;
}

Html headline(const AcceleratorPage& page) {
  const Architecture& machine = page.layers.front().model.architecture;
  const Totals sum = totals_of(page);
  const double seconds = sum.cycles / (machine.clock_mhz * 1e6);
  double busy = 0;
  for (const AcceleratorLayer& layer : page.layers)
    busy += layer.times * layer.evaluation.cycles * layer.evaluation.utilization / sum.cycles;
  Html tiles;
  tiles += tile(count_text(sum.cycles), "cycles");
  tiles += tile(duration_text(seconds), fmt::format("at {:.0f} MHz", machine.clock_mhz));
  tiles += tile(joules(sum.energy), "energy");
  tiles += tile(percent(busy), "of the compute units in use");
  tiles += tile(with_unit(sum.operations / seconds, "OP/s"), "operations per second, a MAC is one");
  return element("h1", page.title) + element("p", {{"class", "lead"}}, page.certificate) +
         element("div", {{"class", "tiles"}}, tiles) +
         element("p", {{"class", "note"}}, fmt::format("{}: {}", page.program, page.command));
}

Html design_chart(const AcceleratorPage& page) {
  Chart chart;
  chart.title = "Cycles and energy of the machines that no other beats";
  chart.x = {"cycles of all layers", [](double x) { return si(std::exp2(x)); }, false};
  chart.y = {"energy of all layers", [](double y) { return joules(std::exp2(y)); }, false};
  for (std::size_t i = 0; i < page.designs.size(); ++i) {
    const AcceleratorDesign& design = page.designs[i];
    Point point{.x = std::log2(design.cycles), .y = std::log2(design.energy_pj)};
    point.marker = design.shown ? Marker::star : Marker::ring;
    point.tone = design.shown ? "rung-full" : "original";
    point.large = design.shown;
    point.detail = fmt::format("{}: {} cycles, {}, {:.3g} mm2", join(design.values, ", "), count_text(design.cycles),
                               joules(design.energy_pj), 1e-6 * design.area_um2);
    chart.points.push_back(std::move(point));
  }
  chart.note =
      "Both axes are logarithmic. The star is the machine of this page. A machine that looks beaten is smaller.";
  return draw(chart);
}

/// Nothing for a page without a search.
Html design_section(const AcceleratorPage& page) {
  if (page.designs.empty()) return {};
  std::vector<std::string> header = page.varied;
  for (const char* name : {"cycles", "energy", "power mW", "area mm2", "certificate", ""}) header.emplace_back(name);
  std::vector<Row> rows;
  for (const AcceleratorDesign& design : page.designs) {
    Row row;
    for (const std::string& value : design.values) row.cells.emplace_back(value);
    row.cells.push_back(number(count_text(design.cycles), design.cycles));
    row.cells.push_back(number(joules(design.energy_pj), design.energy_pj));
    row.cells.push_back(number(fmt::format("{:.3g}", design.power_mw), design.power_mw));
    row.cells.push_back(number(fmt::format("{:.4g}", 1e-6 * design.area_um2), design.area_um2));
    row.cells.emplace_back(design.certificate);
    row.cells.emplace_back(design.shown ? "this page" : "");
    rows.push_back(std::move(row));
  }
  return element("section", {{"id", "machines"}},
                 element("h2", "Machines that were searched") + design_chart(page) +
                     table(header, rows, TableStyle::sortable) + element("p", {{"class", "note"}}, page.designs_note));
}

Html link_to(std::size_t i, const std::string& name) {
  return element("a", {{"href", fmt::format("#mapping-{}", i)}}, name);
}

Html layer_table(const AcceleratorPage& page) {
  const Totals sum = totals_of(page);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < page.layers.size(); ++i) {
    const AcceleratorLayer& layer = page.layers[i];
    const Evaluation& e = layer.evaluation;
    const double share = layer.times * e.cycles / sum.cycles;
    rows.push_back(
        {{number(std::to_string(i + 1), static_cast<double>(i)), link_to(i, layer.name),
          number(count_text(layer.times), layer.times), number(count_text(e.cycles), e.cycles),
          number(percent(share), share), number(percent(e.stall_cycles() / e.cycles), e.stall_cycles() / e.cycles),
          number(percent(e.utilization), e.utilization), number(joules(e.energy_pj), e.energy_pj), layer.certificate},
         ""});
  }
  return table({"", "layer", "times", "cycles", "of all", "waiting", "utilization", "energy", "certificate"}, rows,
               TableStyle::sortable) +
         element("p", {{"class", "note"}},
                 "Cycles, waiting and energy are of one run of the layer. Waiting: the share of cycles in which the "
                 "compute units could work but a memory is too slow.");
}

/// Bytes that cross the outermost level in one run.
double outer_bytes(const AcceleratorLayer& layer) {
  double bits = 0;
  for (int i = 0; i < layer.evaluation.counts.count; ++i) {
    const auto& entry = layer.evaluation.counts.entries[static_cast<std::size_t>(i)];
    if (entry.level != 0) continue;
    const auto traffic = traffic_of(layer.model, layer.evaluation.counts, entry);
    bits += traffic.read_bits + traffic.write_bits;
  }
  return bits / 8;
}

/// Bytes per cycle that the outermost level gives, or infinity.
double outer_rate(const MemoryLevel& level) {
  const double split = level.read_bandwidth + level.write_bandwidth;
  return std::min(level.bandwidth, split) / 8;
}

Html roofline(const AcceleratorPage& page) {
  const CostModel& model = page.layers.front().model;
  const double rate = outer_rate(model.architecture.levels.front());
  Chart chart;
  chart.title = "Operations per cycle, beside what compute units and the outermost memory allow";
  chart.x = {"operations per byte of " + model.architecture.levels.front().name,
             [](double x) { return si(std::exp2(x)); }, false};
  chart.y = {"operations per cycle", [](double y) { return si(std::exp2(y)); }, false};
  double low = INFINITY;
  double high = -INFINITY;
  double peak = 0;
  for (std::size_t i = 0; i < page.layers.size(); ++i) {
    const AcceleratorLayer& layer = page.layers[i];
    const double operations = layer.model.problem.total_operations();
    const double x = std::log2(operations / std::max(outer_bytes(layer), 1.0));
    const double reached = operations / layer.evaluation.cycles;
    peak = std::max(peak, layer.model.units * layer.model.mac.operations_per_cycle);
    low = std::min(low, x);
    high = std::max(high, x);
    Point point{x, std::log2(reached), 0, Marker::diamond, "rung-full", "", fmt::format("#mapping-{}", i)};
    point.detail = fmt::format("{}: {} operations per byte, {} per cycle", layer.name, si(std::exp2(x)), si(reached));
    chart.points.push_back(std::move(point));
  }
  const double ridge = std::isinf(rate) ? -INFINITY : std::log2(peak / rate);
  const double left = std::min(low, ridge) - 0.3;
  const double right = std::max(high, std::isinf(ridge) ? high : ridge) + 0.3;
  Polyline roof{{}, "original"};
  if (std::isinf(rate)) {
    roof.points = {{low - 0.3, std::log2(peak)}, {right, std::log2(peak)}};
  } else {
    roof.points = {{left, left + std::log2(rate)}, {ridge, std::log2(peak)}, {right, std::log2(peak)}};
  }
  chart.lines.push_back(std::move(roof));
  chart.note =
      std::isinf(rate)
          ? "The description gives no bandwidth for the outermost memory: only the compute units bound a layer."
          : "Both axes are logarithmic. Below the slope the outermost memory decides, below the flat part the "
            "compute units; a layer below both waits for a memory in between, or its loops do not fill the "
            "grid.";
  return draw(chart);
}

Html time_bars(const AcceleratorPage& page) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < page.layers.size(); ++i) {
    const AcceleratorLayer& layer = page.layers[i];
    const Evaluation& e = layer.evaluation;
    std::string busiest = "compute units";
    double most = e.compute_cycles;
    for (std::size_t l = 0; l < layer.model.architecture.levels.size(); ++l) {
      if (e.level_cycles[l] <= most) continue;
      most = e.level_cycles[l];
      busiest = layer.model.architecture.levels[l].name;
    }
    const double working = e.utilization * e.cycles;
    const double idle = std::max(0.0, e.compute_cycles - working);
    rows.push_back({{link_to(i, layer.name),
                     stacked({{"all units at work", working},
                              {"units without work", idle},
                              {"waiting for memories", e.stall_cycles()}},
                             e.cycles),
                     busiest},
                    ""});
  }
  return legend({"as if all units were at work", "units without work", "waiting for memories"}) +
         table({"layer", "share of its cycles", "what bounds it"}, rows, TableStyle::compact);
}

/// Names and energies of one run, levels first.
std::vector<std::pair<std::string, double>> energies(const AcceleratorLayer& layer) {
  std::vector<std::pair<std::string, double>> parts{{"compute", layer.evaluation.compute_pj}};
  for (std::size_t l = 0; l < layer.model.architecture.levels.size(); ++l)
    parts.emplace_back(layer.model.architecture.levels[l].name, layer.evaluation.level_pj[l]);
  if (layer.model.hops) parts.emplace_back("links", layer.evaluation.hop_pj);
  if (layer.model.leakage_pj_per_cycle > 0) parts.emplace_back("leakage", layer.evaluation.leakage_pj);
  return parts;
}

Html energy_bars(const AcceleratorPage& page) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, double>> sums;
  for (const auto& [name, pj] : energies(page.layers.front())) {
    names.push_back(name);
    sums.emplace_back(name, 0);
  }
  std::vector<Row> rows;
  double whole = 0;
  for (std::size_t i = 0; i < page.layers.size(); ++i) {
    const AcceleratorLayer& layer = page.layers[i];
    const auto parts = energies(layer);
    for (std::size_t k = 0; k < parts.size(); ++k) sums[k].second += layer.times * parts[k].second;
    whole += layer.times * layer.evaluation.energy_pj;
    rows.push_back({{link_to(i, layer.name), stacked(parts, layer.evaluation.energy_pj),
                     number(joules(layer.evaluation.energy_pj), layer.evaluation.energy_pj)},
                    ""});
  }
  rows.insert(rows.begin(), Row{{"all layers", stacked(sums, whole), number(joules(whole), whole)}, ""});
  return legend(names) + table({"layer", "share of its energy", "energy of a run"}, rows, TableStyle::compact);
}

Html level_table(const AcceleratorLayer& layer) {
  std::vector<Row> rows;
  for (const LevelRow& row : level_rows(layer.model, layer.evaluation))
    rows.push_back({{row.level, row.operand, number(count_text(row.instances), row.instances),
                     number(count_text(row.footprint), row.footprint), number(count_text(row.reads), row.reads),
                     number(count_text(row.fills), row.fills), number(count_text(row.updates), row.updates),
                     number(joules(row.energy_pj), row.energy_pj)},
                    ""});
  return table({"level", "operand", "instances", "kept", "reads", "fills", "updates", "energy"}, rows,
               TableStyle::compact);
}

Html mapping_cards(const AcceleratorPage& page) {
  Html cards;
  for (std::size_t i = 0; i < page.layers.size(); ++i) {
    const AcceleratorLayer& layer = page.layers[i];
    const CostModel& model = layer.model;
    const Html loops = element("pre", nested_loops(layer.mapping, model.problem, model.architecture));
    const Html counts =
        level_table(layer) + element("p", {{"class", "note"}}, "Counts are of one instance, energies of all of them.");
    cards += element(
        "article", {{"id", fmt::format("mapping-{}", i)}},
        element("h3", layer.times > 1 ? fmt::format("{} ({} times)", layer.name, layer.times) : layer.name) +
            element("p", {{"class", "note"}}, element("code", str(model.problem))) +
            element("div", {{"class", "pair"}}, element("div", loops) + element("div", counts)) +
            element("details",
                    element("summary", "the mapping as one line, for `kasimir accel eval --mapping`") +
                        element("pre", {{"class", "copy"}}, str(layer.mapping, model.problem, model.architecture))));
  }
  return cards;
}

}  // namespace

std::string accelerator_html(const AcceleratorPage& page) {
  KASIMIR_CHECK(!page.layers.empty(), "no layers");
  const Architecture& machine = page.layers.front().model.architecture;
  return framed(page.title, headline(page) + design_section(page),
                {{"layers", "Layers", "Layers", layer_table(page)},
                 {"roofline", "Roofline", "Roofline", roofline(page)},
                 {"time", "Time", "Where the time goes", time_bars(page)},
                 {"energy", "Energy", "Where the energy goes", energy_bars(page)},
                 {"mappings", "Mappings", "Mappings as nested loops", mapping_cards(page)},
                 {"machine", "Machine", "The machine", element("pre", {{"class", "copy"}}, to_toml(machine))}});
}

void write_accelerator_page(const AcceleratorPage& page, const std::filesystem::path& path) {
  write_file(path, accelerator_html(page));
}

}  // namespace kasimir::report
