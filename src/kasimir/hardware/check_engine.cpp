// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/check_engine.h"

#include "kasimir/base/files.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/evaluate.h"
#include "kasimir/hardware/pipeline/csv.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace kasimir {
namespace {

/// Timeloop's rules; see SOURCES-engine.md.
EvaluationOptions timeloop_rules(bool first_fill_elided) {
  EvaluationOptions options;
  options.footprint = FootprintRule::bounding_box;
  options.halo = HaloRule::innermost;
  options.first_fill_elided = first_fill_elided;
  return options;
}

MemoryLevel word_level(std::string name, RoleSet keeps, double words_per_cycle, double access_pj) {
  MemoryLevel level;
  level.name = std::move(name);
  level.keeps = keeps;
  if (words_per_cycle > 0) level.bandwidth = 8 * words_per_cycle;
  level.read_pj = level.write_pj = access_pj;
  return level;
}

/// The machine of the DOSA data, in words of 8 bits.
Architecture dosa_architecture(double mesh, double accumulator_words, double scratchpad_words,
                               double accumulator_bandwidth, double scratchpad_bandwidth) {
  const RoleSet weight = role_bit(OperandRole::weight);
  const RoleSet input = role_bit(OperandRole::input);
  const double bank_kib = accumulator_words * 4 / 1024 / mesh;
  const double scratchpad_kib = scratchpad_words / 1024;
  Architecture architecture;
  architecture.name = "dosa";
  architecture.levels = {
      word_level("dram", all_roles, 8, 100),
      word_level("scratchpad", static_cast<RoleSet>(weight | input), scratchpad_bandwidth,
                 0.02513 * scratchpad_kib + 0.49),
      word_level("accumulator", role_bit(OperandRole::output), accumulator_bandwidth, 0.1005 * bank_kib + 1.94),
      word_level("register", weight, 0, 0.48746)};
  for (const std::size_t l : {std::size_t{1}, std::size_t{2}})
    architecture.levels[l].x.size = static_cast<std::int64_t>(mesh);
  architecture.compute.energy_pj = 0.5608;
  return architecture;
}

constexpr OperandBits words{.input = 8, .weight = 8, .output = 8, .partial = 8};

/// A row by the names of its columns.
class NamedRow {
 public:
  NamedRow(const CsvRow& header, const CsvRow& row) : row_(row) {
    for (std::size_t i = 0; i < header.cells.size(); ++i) column_[header.cells[i]] = i;
  }
  [[nodiscard]] bool has(const std::string& name) const {
    const auto found = column_.find(name);
    return found != column_.end() && found->second < row_.cells.size() && !row_.cells[found->second].empty();
  }
  [[nodiscard]] const std::string& text(const std::string& name) const { return row_.cells[at(name)]; }
  [[nodiscard]] double number(const std::string& name) const { return number_cell(row_, at(name), name); }
  [[nodiscard]] std::int64_t whole(const std::string& name) const { return whole_cell(row_, at(name), name); }

 private:
  [[nodiscard]] std::size_t at(const std::string& name) const {
    if (!has(name)) throw input_error("there is no column {} here", name).note(row_.where());
    return column_.at(name);
  }
  const CsvRow& row_;
  std::map<std::string, std::size_t> column_;
};

DosaRun dosa_run(const NamedRow& row) {
  ConvolutionShape shape;
  shape.batch = row.whole("N");
  shape.out_channels = row.whole("K");
  shape.in_channels = row.whole("C");
  shape.out_height = row.whole("P");
  shape.out_width = row.whole("Q");
  shape.kernel_height = row.whole("R");
  shape.kernel_width = row.whole("S");
  shape.stride_height = row.whole("strideP");
  shape.stride_width = row.whole("strideQ");
  const Problem problem = convolution(shape, words);
  const Architecture architecture =
      dosa_architecture(row.number("mesh"), row.number("acc_entries_total"), row.number("spad_entries"),
                        row.number("acc_bw_words"), row.number("spad_bw_words"));
  const bool rtl = row.has("set");
  return {.set = rtl ? row.text("set") : "",
          .model = CostModel(problem, architecture, timeloop_rules(false)),
          .mapping = parse_mapping(row.text("mapping"), problem, architecture),
          .cycles = row.number(rtl ? "rtl_cycle" : "timeloop_cycle"),
          .energy_uj = rtl ? 0 : row.number("timeloop_energy_uJ")};
}

}  // namespace

std::vector<DosaRun> read_dosa_runs(const std::filesystem::path& file) {
  const std::vector<CsvRow> rows = csv_rows(read_file(file), file.string());
  std::vector<DosaRun> runs;
  for (std::size_t i = 1; i < rows.size(); ++i) runs.push_back(dosa_run(NamedRow(rows[0], rows[i])));
  return runs;
}

namespace {

/// The numbers and words of timeloop_golden_counts.txt, one after another.
class GoldenReader {
 public:
  GoldenReader(const std::string& text, std::string file) : stream_(text), file_(std::move(file)) {}

  std::vector<TimeloopCase> read() {
    std::vector<TimeloopCase> cases;
    std::string line;
    while (std::getline(stream_, line))
      if (line.starts_with("CASE ")) cases.push_back(read_case(line.substr(5)));
    return cases;
  }

 private:
  template <typename T>
  T next() {
    T value;
    if (!(stream_ >> value)) throw input_error("a case of Timeloop's counts is not complete").note(file_);
    return value;
  }

  TimeloopCase read_case(const std::string& name) {
    const auto stride = next<std::int64_t>();
    const auto level_count = next<std::size_t>();
    const auto loop_count = next<int>();
    Architecture architecture;
    architecture.name = "timeloop";
    std::vector<unsigned> keeps;  // 1 weights, 2 inputs, 4 outputs
    for (std::size_t l = 0; l < level_count; ++l) {
      MemoryLevel level;
      level.name = next<std::string>();
      level.x.size = level.y.size = 1 << 20;
      architecture.levels.push_back(level);
      keeps.push_back(next<unsigned>());
    }
    std::vector<std::int64_t> sizes(7, 1);
    Mapping mapping;
    for (int i = 0; i < loop_count; ++i) {
      const auto dim = next<int>();
      const auto bound = next<std::int64_t>();
      const auto spatial = next<int>();
      const auto level = next<int>();
      mapping.add(dim, bound, level, spatial != 0 ? LoopKind::spatial_x : LoopKind::temporal);
      sizes.at(static_cast<std::size_t>(dim)) *= bound;
    }
    const Problem problem = convolution(shape_of(sizes, stride), words);
    constexpr std::size_t operand_of[] = {2, 1, 0};  // their order W I O, ours O I W
    for (std::size_t l = 0; l < level_count; ++l)
      for (std::size_t t = 0; t < 3; ++t)
        if ((keeps[l] >> t & 1U) != 0)
          mapping.keeps[operand_of[t]] = static_cast<std::uint16_t>(mapping.keeps[operand_of[t]] | 1U << l);
    check_mapping(problem, architecture, mapping);
    TimeloopCase made{name, CostModel(problem, architecture, timeloop_rules(true)), mapping, {}};
    const auto lines = next<int>();
    for (int i = 0; i < lines; ++i) {
      TimeloopCount count;
      count.level = static_cast<std::size_t>(architecture.find_level(next<std::string>()));
      count.operand = operand_of[next<std::size_t>()];
      count.reads = next<double>();
      count.fills = next<double>();
      count.updates = next<double>();
      count.capacity = next<double>();
      count.instances = next<double>();
      made.counts.push_back(count);
    }
    return made;
  }

  static ConvolutionShape shape_of(const std::vector<std::int64_t>& sizes, std::int64_t stride) {
    ConvolutionShape shape;
    shape.kernel_height = sizes[0];
    shape.kernel_width = sizes[1];
    shape.out_height = sizes[2];
    shape.out_width = sizes[3];
    shape.in_channels = sizes[4];
    shape.out_channels = sizes[5];
    shape.batch = sizes[6];
    shape.stride_height = shape.stride_width = stride;
    return shape;
  }

  std::istringstream stream_;
  std::string file_;
};

}  // namespace

std::vector<TimeloopCase> read_timeloop_cases(const std::filesystem::path& file) {
  return GoldenReader(read_file(file), file.string()).read();
}

namespace {

CheckRow timeloop_counts(const std::filesystem::path& file) {
  std::size_t points = 0;
  std::size_t equal = 0;
  for (const TimeloopCase& one : read_timeloop_cases(file)) {
    const Evaluation result = evaluate(one.model, one.mapping);
    for (const TimeloopCount& count : one.counts) {
      points += 4;
      for (int i = 0; i < result.counts.count; ++i) {
        const auto& entry = result.counts.entries[static_cast<std::size_t>(i)];
        if (entry.level != static_cast<int>(count.level) || entry.operand != static_cast<int>(count.operand)) continue;
        equal += static_cast<std::size_t>(entry.reads == count.reads) +
                 static_cast<std::size_t>(entry.fills == count.fills) +
                 static_cast<std::size_t>(entry.updates == count.updates) +
                 static_cast<std::size_t>(entry.footprint == count.capacity &&
                                          result.counts.instances[count.level] == count.instances);
      }
    }
  }
  return {"Timeloop counts",
          points,
          "all equal",
          fmt::format("{} equal", equal),
          equal == points && points > 0,
          "reference outputs of timeloop-accelergy-exercises 2d55108"};
}

/// A row that asks for a property of some share of the points.
CheckRow share_row(const std::string& set, std::size_t points, std::size_t good, double asked,
                   const std::string& what) {
  const double share = points == 0 ? 0 : 100.0 * static_cast<double>(good) / static_cast<double>(points);
  return {set,
          points,
          fmt::format("{} for {} %", what, asked),
          fmt::format("{} for {:.1f} %", what, share),
          share >= asked,
          "DOSA (MICRO 2023), data set of Timeloop runs"};
}

std::vector<CheckRow> timeloop_runs(const std::filesystem::path& file) {
  const std::vector<DosaRun> runs = read_dosa_runs(file);
  std::size_t equal = 0;
  std::size_t near = 0;
  std::size_t energy = 0;
  for (const DosaRun& run : runs) {
    const Evaluation result = evaluate(run.model, run.mapping);
    equal += static_cast<std::size_t>(result.cycles == run.cycles);
    near += static_cast<std::size_t>(std::abs(result.cycles - run.cycles) <= 0.01 * run.cycles);
    energy += static_cast<std::size_t>(std::abs(result.energy_pj / 1e6 - run.energy_uj) <= 0.01 * run.energy_uj);
  }
  return {share_row("Timeloop cycles", runs.size(), equal, 92, "equal"),
          share_row("Timeloop cycles", runs.size(), near, 99.9, "within 1 %"),
          share_row("Timeloop energies", runs.size(), energy, 98, "within 1 %")};
}

CheckRow gemmini_ranks(const std::vector<DosaRun>& runs, const std::string& set, const std::string& name) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const DosaRun& run : runs) {
    if (run.set != set) continue;
    predicted.push_back(evaluate(run.model, run.mapping).cycles);
    measured.push_back(run.cycles);
  }
  const double correlation = rank_correlation(predicted, measured);
  return {name,
          predicted.size(),
          "rank correlation 0.97",
          fmt::format("rank correlation {:.3f}", correlation),
          correlation >= 0.97,
          "DOSA (MICRO 2023), Gemmini RTL in FireSim"};
}

}  // namespace

std::vector<CheckRow> check_engine(const std::filesystem::path& reference) {
  std::vector<CheckRow> rows{timeloop_counts(reference / "timeloop_golden_counts.txt")};
  for (CheckRow& row : timeloop_runs(reference / "dosa_timeloop_sample.csv")) rows.push_back(std::move(row));
  const std::vector<DosaRun> runs = read_dosa_runs(reference / "gemmini_firesim.csv");
  rows.push_back(gemmini_ranks(runs, "test_dataset", "Gemmini RTL, given mappings"));
  rows.push_back(gemmini_ranks(runs, "test_analytical", "Gemmini RTL, mappings of a model"));
  return rows;
}

}  // namespace kasimir
