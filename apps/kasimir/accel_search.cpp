// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accel.h"
#include "kasimir/options.h"
#include "kasimir/stop.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/quantity.h"
#include "kasimir/hardware/search/architectures.h"
#include "kasimir/report/accelerator_page.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

struct SearchCommand {
  AccelInput input;
  std::string arch = "gemmini";
  std::vector<std::string> vary;
  std::string space;
  std::string engine = "branch_and_bound";
  std::string objective = "edp";
  std::string time = "60s";
  std::uint64_t evaluations = 0;
  double gap = 0.01;
  double max_cycles = Goal::unlimited;
  std::string max_energy = "none";
  std::string max_area = "none";
  std::string max_power = "none";
  double max_dsp = Goal::unlimited;
  double max_lut = Goal::unlimited;
  double max_bram18 = Goal::unlimited;
  std::string bypass = "auto";
  std::uint64_t seed = 1;
  bool json = false;
  std::string html;
};

/// What was asked, and the answer.
struct Searched {
  std::vector<AccelLayer> layers;
  std::vector<Problem> problems;   ///< as often as they are computed
  std::vector<std::size_t> first;  ///< of each layer in `problems`
  Architecture base;
  std::vector<ArchitectureKnob> knobs;
  EvaluationOptions how;
  DesignOptions options;
  DesignAnswer answer;
  bool stopped = false;  ///< by Ctrl-C
};

double limit_of(const std::string& option, const std::string& text, Quantity quantity) {
  return parse_limit(text, quantity, fmt::format("{} is `{}`", option, text));
}

std::vector<ArchitectureKnob> knobs_of(const SearchCommand& command, const Architecture& base) {
  std::vector<ArchitectureKnob> knobs;
  if (!command.space.empty()) knobs = parse_knobs(read_file(command.space), command.space, base);
  for (const std::string& text : command.vary) knobs.push_back(parse_knob(text, base));
  for (std::size_t a = 0; a < knobs.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (str(knobs[a], base) == str(knobs[b], base)) throw input_error("the {} vary twice", str(knobs[a], base));
  if (knobs.empty())
    throw input_error("nothing of {} may vary", base.name)
        .note(
            fmt::format("give --vary {}.capacity=64..256 KiB, or --space FILE; `kasimir accel map` maps on one machine",
                        base.levels.back().name));
  return knobs;
}

void show_progress(const DesignProgress& progress) {
  fmt::print(stderr, "\r{} of {} designs, {:>6} evaluations, best {:.4g}   ", progress.done, progress.designs,
             si(static_cast<double>(progress.evaluations)), progress.best);
}

DesignOptions options_of(const SearchCommand& command) {
  DesignOptions options;
  options.engine = command.engine;
  set_bypass(command.bypass, options.mapping);
  options.mapping.goal = {.objective = parse_objective(command.objective),
                          .max_cycles = command.max_cycles,
                          .max_energy_pj = limit_of("--max-energy", command.max_energy, Quantity::energy)};
  if (options.mapping.goal.objective == Objective::weighted)
    throw input_error("--objective is `weighted`, machines are searched for latency, energy or edp");
  options.mapping.evaluations = command.evaluations;
  options.mapping.seconds = command.time == "none" ? 0 : parse_seconds(command.time);
  options.mapping.seed = command.seed;
  options.mapping.gap = command.gap;
  options.budget = {.area_um2 = limit_of("--max-area", command.max_area, Quantity::area),
                    .dsp = command.max_dsp,
                    .lut = command.max_lut,
                    .bram18 = command.max_bram18};
  const std::atomic<int>& stop = catch_interrupts();
  options.mapping.should_stop = [&stop] { return stop.load() != study::go_on; };
  if (isatty(STDERR_FILENO) != 0) options.progress = show_progress;
  return options;
}

Searched search(const SearchCommand& command) {
  Searched searched;
  searched.layers = layers_of(command.input);
  searched.base = architecture_of(command.arch, searched.layers[0].problem);
  searched.knobs = knobs_of(command, searched.base);
  searched.how.max_power_mw = parse_power(command.max_power);
  searched.options = options_of(command);
  for (const AccelLayer& layer : searched.layers) {
    searched.first.push_back(searched.problems.size());
    for (std::int64_t i = 0; i < layer.times; ++i) searched.problems.push_back(layer.problem);
  }
  searched.answer =
      search_architecture(searched.problems, searched.base, searched.knobs, searched.how, searched.options);
  if (searched.options.progress) fmt::print(stderr, "\r{:70}\r", "");
  searched.stopped = searched.options.mapping.should_stop();
  return searched;
}

/// "edp: within 0.3 %", what the mappings of a design were searched for and how good they are in that.
std::string certificate_of(const DesignPoint& point) {
  return fmt::format("{}: {}", name_of(point.aim.objective), how_sure(point.gap));
}

bool is_best(const DesignAnswer& answer, const DesignPoint& point) {
  return answer.found && point.values == answer.best.values && point.cycles == answer.best.cycles &&
         point.energy_pj == answer.best.energy_pj;
}

std::string short_name(const ArchitectureKnob& knob, const Architecture& base) {
  std::string name = str(knob, base);
  const std::string of = " of " + base.levels[knob.level].name;
  const std::size_t at = name.find(of);
  return at == std::string::npos ? name : name.erase(at, of.size());
}

std::string front_table(const Searched& searched) {
  const std::vector<DesignPoint>& front = searched.answer.front;
  std::vector<Table::Column> columns;
  for (const ArchitectureKnob& knob : searched.knobs)
    columns.push_back({searched.base.levels[knob.level].name, short_name(knob, searched.base)});
  for (const auto& [name, unit] : {std::pair{"cycles", ""}, {"energy", "uJ"}, {"power", "mW"}, {"area", "mm2"}})
    columns.push_back({name, unit});
  struct Block {
    const char* name;
    double DesignPoint::* amount;
  };
  std::vector<Block> blocks;
  for (const Block& block :
       {Block{"DSP", &DesignPoint::dsp}, {"LUT", &DesignPoint::lut}, {"BRAM18", &DesignPoint::bram18}})
    if (std::ranges::any_of(front, [&](const DesignPoint& point) { return point.*block.amount > 0; }))
      blocks.push_back(block);
  for (const Block& block : blocks) columns.push_back({block.name, ""});
  columns.push_back({"its mappings", "", Table::Align::left});
  columns.push_back({"", "", Table::Align::left});
  Table table(columns);
  for (const DesignPoint& point : front) {
    std::vector<std::string> row;
    for (std::size_t k = 0; k < searched.knobs.size(); ++k)
      row.push_back(value_text(searched.knobs[k], point.values[k]));
    row.push_back(grouped(std::llround(point.cycles)));
    row.push_back(fmt::format("{:.2f}", 1e-6 * point.energy_pj));
    row.push_back(fmt::format("{:.3g}", point.power_mw));
    row.push_back(fmt::format("{:.4f}", 1e-6 * point.area_um2));
    for (const Block& block : blocks) row.push_back(fmt::format("{:.0f}", std::ceil(point.*block.amount)));
    row.push_back(certificate_of(point));
    row.push_back(is_best(searched.answer, point)
                      ? fmt::format("best {}", name_of(searched.options.mapping.goal.objective))
                      : "");
    table.row(std::move(row));
  }
  return table.str();
}

std::string counts_text(const DesignAnswer& answer) {
  return fmt::format("{} designs: {} over the budget, {} beaten by a bound, {} searched{}", answer.designs,
                     answer.over_budget, answer.beaten, answer.searched,
                     answer.complete ? "" : "; stopped before the others");
}

std::string proofs_text(const Searched& searched) {
  const DesignAnswer& answer = searched.answer;
  const std::string sure = how_sure(answer.gap());
  return fmt::format(
      "{}: {}\nno design takes fewer than {} cycles, none less than {:.2f} uJ",
      name_of(searched.options.mapping.goal.objective),
      sure == "optimal" ? "proved the best of all designs and mappings" : sure + " of the best design and mappings",
      grouped(std::llround(answer.least_cycles)), 1e-6 * answer.least_energy_pj);
}

void print_text(const Searched& searched) {
  const DesignAnswer& answer = searched.answer;
  if (!answer.front.empty()) fmt::print("{}\n", front_table(searched));
  fmt::print("{}\n", counts_text(answer));
  if (!answer.found) {
    fmt::print("{}\n", answer.misfit);
    return;
  }
  fmt::print("{}\n{} evaluations in {}\n", proofs_text(searched),
             grouped(static_cast<std::int64_t>(answer.evaluations)), duration_text(answer.seconds));
}

nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::json point_json(const Searched& searched, const DesignPoint& point) {
  nlohmann::json values = nlohmann::json::object();
  for (std::size_t k = 0; k < searched.knobs.size(); ++k)
    values[str(searched.knobs[k], searched.base)] = point.values[k];
  const Architecture machine = with_knobs(searched.base, searched.knobs, point.values);
  nlohmann::json mappings = nlohmann::json::object();
  for (std::size_t i = 0; i < searched.layers.size(); ++i)
    mappings[searched.layers[i].name] = str(point.mappings[searched.first[i]], searched.layers[i].problem, machine);
  return {{"values", values},
          {"cycles", point.cycles},
          {"energy_pj", point.energy_pj},
          {"power_mw", point.power_mw},
          {"area_um2", point.area_um2},
          {"dsp", point.dsp},
          {"lut", point.lut},
          {"bram18", point.bram18},
          {"aim", name_of(point.aim.objective)},
          {"gap", number_or_null(point.gap)},
          {"best", is_best(searched.answer, point)},
          {"mappings", mappings}};
}

void print_json(const Searched& searched) {
  const DesignAnswer& answer = searched.answer;
  for (const DesignPoint& point : answer.front) fmt::print("{}\n", point_json(searched, point).dump());
  fmt::print("{}\n", nlohmann::json{{"total", true},
                                    {"found", answer.found},
                                    {"objective", name_of(searched.options.mapping.goal.objective)},
                                    {"value", number_or_null(answer.value)},
                                    {"lower_bound", number_or_null(answer.lower_bound)},
                                    {"gap", answer.found ? number_or_null(answer.gap()) : nlohmann::json(nullptr)},
                                    {"least_cycles", number_or_null(answer.least_cycles)},
                                    {"least_energy_pj", number_or_null(answer.least_energy_pj)},
                                    {"designs", answer.designs},
                                    {"over_budget", answer.over_budget},
                                    {"beaten", answer.beaten},
                                    {"searched", answer.searched},
                                    {"complete", answer.complete},
                                    {"misfit", answer.misfit},
                                    {"evaluations", answer.evaluations},
                                    {"seconds", answer.seconds}}
                         .dump());
}

/// The best design with its mappings, and the front around it.
void write_page(const SearchCommand& command, const Searched& searched) {
  const DesignAnswer& answer = searched.answer;
  if (!answer.found) throw unsolved_error("no page is written: no design was found");
  const Architecture machine = with_knobs(searched.base, searched.knobs, answer.best.values);
  report::AcceleratorPage page;
  page.title = fmt::format("{} on the best {}", command.input.network.empty() ? "layers" : command.input.network,
                           searched.base.name);
  page.certificate = fmt::format("{}. {}.", counts_text(answer), proofs_text(searched));
  page.program = "kasimir " KASIMIR_VERSION;
  page.command = fmt::format("accel search, engine {}, seed {}, {} evaluations", command.engine, command.seed,
                             grouped(static_cast<std::int64_t>(answer.evaluations)));
  for (std::size_t i = 0; i < searched.layers.size(); ++i) {
    const CostModel model(searched.layers[i].problem, machine, searched.how);
    const Mapping& mapping = answer.best.mappings[searched.first[i]];
    page.layers.push_back({searched.layers[i].name, static_cast<double>(searched.layers[i].times), model, mapping,
                           evaluate(model, mapping), how_sure(answer.best.mapping_gap[searched.first[i]])});
  }
  for (const ArchitectureKnob& knob : searched.knobs) page.varied.push_back(str(knob, searched.base));
  for (const DesignPoint& point : answer.front) {
    report::AcceleratorDesign design{.values = {},
                                     .cycles = point.cycles,
                                     .energy_pj = point.energy_pj,
                                     .power_mw = point.power_mw,
                                     .area_um2 = point.area_um2,
                                     .certificate = certificate_of(point),
                                     .shown = is_best(answer, point)};
    for (std::size_t k = 0; k < searched.knobs.size(); ++k)
      design.values.push_back(value_text(searched.knobs[k], point.values[k]));
    page.designs.push_back(std::move(design));
  }
  page.designs_note = counts_text(answer) + ".";
  report::write_accelerator_page(page, command.html);
  fmt::print(stderr, "wrote {}\n", command.html);
}

int run(const SearchCommand& command) {
  const Searched searched = search(command);
  if (command.json)
    print_json(searched);
  else
    print_text(searched);
  if (!command.html.empty() && (searched.answer.found || !searched.stopped)) write_page(command, searched);
  if (searched.stopped) {
    fmt::print(stderr, "stopped; the same command starts anew\n");
    return 130;
  }
  return searched.answer.found ? 0 : static_cast<int>(Fault::unsolved);
}

void add_budget_options(CLI::App& command, SearchCommand& options) {
  command.add_option("--max-cycles", options.max_cycles, "of all layers together");
  command.add_option("--max-energy", options.max_energy, "of all layers together, such as 90 uJ")
      ->capture_default_str();
  command.add_option("--max-area", options.max_area, "such as 2 mm2")->capture_default_str();
  command
      .add_option("--max-power", options.max_power,
                  "of each layer, such as 200 mW: energy / time; a machine waits where it would be more")
      ->capture_default_str();
  command.add_option("--max-dsp", options.max_dsp, "DSP blocks of the compute units");
  command.add_option("--max-lut", options.max_lut, "look-up tables of the compute units");
  command.add_option("--max-bram18", options.max_bram18, "block RAMs of levels with `block_ram = true`");
}

}  // namespace

void add_accel_search(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "search", "the best machines: numbers of an architecture searched together with the mappings on it");
  auto options = std::make_shared<SearchCommand>();
  add_input_options(*command, options->input);
  command->add_option("--arch", options->arch, "where to begin: a preset, a TOML file, or YAML of Timeloop")
      ->capture_default_str();
  command->add_option(
      "--vary", options->vary,
      "what may vary, such as \"scratchpad.capacity=64..256 KiB\" (doubles) or scratchpad.columns=8,16; "
      "columns, rows, capacity, capacity_input, _weight, _output, bandwidth, read_bandwidth, "
      "write_bandwidth");
  command->add_option("--space", options->space, "a TOML file with such lines in a table [vary]");
  command->add_option("--objective", options->objective, "latency, energy, edp (energy times delay)")
      ->capture_default_str();
  add_budget_options(*command, *options);
  command->add_option("--engine", options->engine, "searches the mappings, as in `kasimir accel map`")
      ->capture_default_str();
  command->add_option("--time", options->time, "for everything, such as 60s; none: no limit")->capture_default_str();
  command->add_option("--evaluations", options->evaluations, "for each different layer on each design; 0: no limit")
      ->capture_default_str();
  command->add_option("--gap", options->gap, "branch_and_bound: proved within this share of the optimum is enough")
      ->capture_default_str();
  add_bypass_option(*command, options->bypass);
  command->add_option("--seed", options->seed, "the same seed gives the same designs")->capture_default_str();
  command->add_flag("--json", options->json, "one object per design of the front and line, and one of totals");
  command->add_option("--html", options->html, "write a page with the front, and the best design with its mappings");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
