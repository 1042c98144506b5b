// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accel.h"
#include "kasimir/options.h"
#include "kasimir/stop.h"

#include "kasimir/base/error.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/format/evaluation_text.h"
#include "kasimir/hardware/search/search.h"
#include "kasimir/report/accelerator_page.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

struct MapCommand {
  AccelInput input;
  std::string arch = "gemmini";
  std::string engine = "branch_and_bound";
  std::string objective = "edp";
  double pj_per_cycle = 0;
  std::string time = "10s";
  std::uint64_t evaluations = 0;
  double gap = 0.005;
  double max_cycles = Goal::unlimited;
  std::string max_power = "none";
  std::uint64_t seed = 1;
  std::string bypass = "auto";
  bool fill_and_drain = false;
  bool verbose = false;
  bool json = false;
  bool csv = false;
  std::string html;
};

/// The answers of a command, one for each different layer.
struct Mapped {
  std::vector<AccelLayer> layers;
  std::vector<CostModel> models;
  std::vector<SearchAnswer> answers;
  SearchOptions options;
  NetworkAnswer whole;
  bool widened = false;  ///< nothing fitted until operands could pass levels by
  bool stopped = false;  ///< by Ctrl-C
};

SearchOptions search_options(const MapCommand& command) {
  SearchOptions options;
  options.goal.objective = parse_objective(command.objective);
  options.goal.pj_per_cycle = command.pj_per_cycle;
  options.goal.max_cycles = command.max_cycles;
  set_bypass(command.bypass, options);
  options.evaluations = command.evaluations;
  options.seconds = command.time == "none" ? 0 : parse_seconds(command.time);
  options.seed = command.seed;
  options.gap = command.gap;
  options.should_stop = [&stop = catch_interrupts()] { return stop.load() != study::go_on; };
  if (isatty(STDERR_FILENO) != 0)
    options.progress = [](const SearchProgress& progress) {
      fmt::print(stderr, "\r{:>8} evaluations, {:>6}, best {:.4g}, bound {:.4g}   ",
                 si(static_cast<double>(progress.evaluations)), duration_text(progress.seconds), progress.best,
                 progress.lower_bound);
    };
  return options;
}

Mapped map_layers(const MapCommand& command) {
  Mapped mapped;
  mapped.layers = layers_of(command.input);
  mapped.options = search_options(command);
  EvaluationOptions how;
  how.fill_and_drain = command.fill_and_drain;
  how.max_power_mw = parse_power(command.max_power);
  const Architecture architecture = architecture_of(command.arch, mapped.layers[0].problem);
  std::vector<Problem> all;
  std::vector<std::size_t> first;
  for (const AccelLayer& layer : mapped.layers) {
    mapped.models.emplace_back(layer.problem, architecture, how);
    first.push_back(all.size());
    for (std::int64_t i = 0; i < layer.times; ++i) all.push_back(layer.problem);
  }
  mapped.whole = search_network(all, architecture, how, command.engine, mapped.options);
  mapped.stopped = mapped.options.should_stop();
  mapped.widened = std::ranges::any_of(mapped.whole.layers, &SearchAnswer::widened);
  if (mapped.options.progress) fmt::print(stderr, "\r{:70}\r", "");
  for (const std::size_t i : first) mapped.answers.push_back(mapped.whole.layers[i]);
  return mapped;
}

std::string layer_table(const Mapped& mapped) {
  Table table({{"layer", "", Table::Align::left},
               {"times", ""},
               {"cycles", ""},
               {"of all", "%"},
               {"waiting", "%"},
               {"energy", "uJ"},
               {"utilization", "%"},
               {"certificate", "", Table::Align::left}});
  for (std::size_t i = 0; i < mapped.layers.size(); ++i) {
    const AccelLayer& layer = mapped.layers[i];
    const SearchAnswer& answer = mapped.answers[i];
    if (!answer.found) {
      table.row({layer.name, std::to_string(layer.times), "", "", "", "", "",
                 mapped.stopped ? "stopped before one was found" : "nothing fits"});
      continue;
    }
    const Evaluation& e = answer.evaluation;
    table.row({layer.name, std::to_string(layer.times), grouped(std::llround(e.cycles)),
               mapped.whole.found
                   ? fmt::format("{:.1f}", 100 * static_cast<double>(layer.times) * e.cycles / mapped.whole.cycles)
                   : "",
               fmt::format("{:.1f}", 100 * e.stall_cycles() / e.cycles), fmt::format("{:.2f}", 1e-6 * e.energy_pj),
               fmt::format("{:.1f}", 100 * e.utilization), how_sure(answer.gap())});
  }
  return table.str();
}

/// What the reader of the table should know.
std::string notes(const Mapped& mapped) {
  std::string text;
  std::int64_t dropped = 0;
  for (const AccelLayer& layer : mapped.layers) dropped += layer.without_epilogue ? layer.times : 0;
  if (dropped > 0)
    text += fmt::format("not counted: element-wise work on the way out of {} sums (--count-epilogues counts it)\n",
                        dropped);
  if (mapped.widened && mapped.whole.found)
    text += "some layers only fit if operands pass levels by; for these, such choices were searched too\n";
  return text;
}

std::string totals(const Mapped& mapped) {
  const NetworkAnswer& whole = mapped.whole;
  const Architecture& machine = mapped.models[0].architecture;
  return fmt::format("{} cycles ({} at {:.0f} MHz), {}J, {:.3g} mW, {:.2f} mm2\n{}: {}\n{} evaluations in {}\n",
                     grouped(std::llround(whole.cycles)), duration_text(whole.cycles / (1e6 * machine.clock_mhz)),
                     machine.clock_mhz, si(1e-12 * whole.energy_pj),
                     power_mw(whole.energy_pj, whole.cycles, machine.clock_mhz), 1e-6 * mapped.models[0].area_um2,
                     name_of(mapped.options.goal.objective), how_sure(whole.gap()),
                     grouped(static_cast<std::int64_t>(whole.evaluations)), duration_text(whole.seconds));
}

void print_details(const Mapped& mapped) {
  for (std::size_t i = 0; i < mapped.layers.size(); ++i) {
    const CostModel& model = mapped.models[i];
    const SearchAnswer& answer = mapped.answers[i];
    fmt::print("\n{}: {}\n{}\n{}\n\n{}\n{}", mapped.layers[i].name, str(model.problem),
               explain(model, mapped.options, answer), str(answer.mapping, model.problem, model.architecture),
               nested_loops(answer.mapping, model.problem, model.architecture), report_text(model, answer.evaluation));
  }
}

void print_json(const Mapped& mapped) {
  for (std::size_t i = 0; i < mapped.layers.size(); ++i) {
    const SearchAnswer& answer = mapped.answers[i];
    nlohmann::json json = evaluation_json(mapped.models[i], answer.mapping, answer.evaluation);
    json["name"] = mapped.layers[i].name;
    json["times"] = mapped.layers[i].times;
    json["found"] = answer.found;
    json["optimal"] = answer.optimal();
    json["lower_bound"] = answer.lower_bound;
    json["value"] = answer.found ? nlohmann::json(answer.value) : nlohmann::json(nullptr);
    json["evaluations"] = answer.evaluations;
    fmt::print("{}\n", json.dump());
  }
  const NetworkAnswer& whole = mapped.whole;
  const bool proved = whole.found && whole.lower_bound > 0;
  fmt::print("{}\n", nlohmann::json{{"total", true},
                                    {"found", whole.found},
                                    {"objective", name_of(mapped.options.goal.objective)},
                                    {"cycles", whole.cycles},
                                    {"energy_pj", whole.energy_pj},
                                    {"value", whole.found ? nlohmann::json(whole.value) : nlohmann::json(nullptr)},
                                    {"lower_bound", whole.lower_bound},
                                    {"gap", proved ? nlohmann::json(whole.gap()) : nlohmann::json(nullptr)},
                                    {"evaluations", whole.evaluations},
                                    {"seconds", whole.seconds}}
                         .dump());
}

void print_csv(const Mapped& mapped) {
  fmt::print("{}", evaluation_csv_header());
  for (std::size_t i = 0; i < mapped.layers.size(); ++i)
    if (mapped.answers[i].found)
      fmt::print("{}", evaluation_csv(mapped.layers[i].name, mapped.models[i], mapped.answers[i].evaluation));
}

/// Why nothing fits, for each layer that has no mapping, or for all together.
void print_misfits(const Mapped& mapped) {
  double cycles = 0;
  for (const SearchAnswer& answer : mapped.whole.layers) cycles += answer.evaluation.cycles;
  if (!mapped.whole.found && std::ranges::all_of(mapped.answers, &SearchAnswer::found))
    fmt::print("\nall layers have mappings, but none was found that keeps the limit of {} cycles: these take {}\n",
               mapped.options.goal.max_cycles, grouped(std::llround(cycles)));
  for (std::size_t i = 0; i < mapped.layers.size(); ++i)
    if (!mapped.answers[i].found)
      fmt::print("\n{}: {}\n{}\n", mapped.layers[i].name, str(mapped.models[i].problem),
                 explain(mapped.models[i], mapped.options, mapped.answers[i]));
}

std::string title_of(const MapCommand& command) {
  const AccelInput& input = command.input;
  std::string what = input.network;
  if (what.empty()) what = input.layer.empty() ? input.problem : "a layer";
  return fmt::format("{} on {}", what, command.arch);
}

void write_page(const MapCommand& command, const Mapped& mapped) {
  if (!mapped.whole.found) throw unsolved_error("no page is written: some layers have no mapping");
  report::AcceleratorPage page;
  page.title = title_of(command);
  page.certificate =
      fmt::format("Objective: {}. {}.", name_of(mapped.options.goal.objective),
                  how_sure(mapped.whole.gap()) == "optimal"
                      ? "Proved optimal for this machine"
                      : fmt::format("All layers together: {} of the optimum", how_sure(mapped.whole.gap())));
  page.program = "kasimir " KASIMIR_VERSION;
  page.command = fmt::format("engine {}, seed {}, {} evaluations", command.engine, command.seed,
                             grouped(static_cast<std::int64_t>(mapped.whole.evaluations)));
  for (std::size_t i = 0; i < mapped.layers.size(); ++i)
    page.layers.push_back({mapped.layers[i].name, static_cast<double>(mapped.layers[i].times), mapped.models[i],
                           mapped.answers[i].mapping, mapped.answers[i].evaluation, how_sure(mapped.answers[i].gap())});
  report::write_accelerator_page(page, command.html);
  fmt::print(stderr, "wrote {}\n", command.html);
}

int run(const MapCommand& command) {
  const Mapped mapped = map_layers(command);
  if (command.json) {
    print_json(mapped);
  } else if (command.csv) {
    print_csv(mapped);
  } else {
    fmt::print("{}\n", layer_table(mapped));
    if (mapped.whole.found) fmt::print("{}", totals(mapped));
    fmt::print("{}", notes(mapped));
    if (command.verbose && mapped.whole.found) print_details(mapped);
    if (!mapped.stopped) print_misfits(mapped);
  }
  if (!command.html.empty() && (mapped.whole.found || !mapped.stopped)) write_page(command, mapped);
  if (mapped.stopped) {
    fmt::print(stderr, "stopped; the same command starts anew\n");
    return 130;
  }
  return mapped.whole.found ? 0 : static_cast<int>(Fault::unsolved);
}

struct CompareCommand {
  double share = 0.01;
  std::size_t seeds = 3;
};

int compare(const CompareCommand& command) {
  fmt::print("{}", str(compare_engines(compared_spaces(), command.share, command.seeds)));
  return 0;
}

}  // namespace

std::string how_sure(double gap) {
  if (gap <= 1e-9) return "optimal";
  if (std::isinf(gap)) return "nothing proved";
  return fmt::format("within {} %", gap < 0.1 ? fmt::format("{:.2f}", 100 * gap) : fmt::format("{:.0f}", 100 * gap));
}

void add_accel_map(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("map", "the best mapping of each layer, with the proof of how good it is");
  auto options = std::make_shared<MapCommand>();
  add_input_options(*command, options->input);
  std::vector<std::string> engines;
  for (const SearchEngine& engine : search_engines()) engines.emplace_back(engine.name);
  command->add_option("--arch", options->arch, "a preset (`kasimir accel presets`), a TOML file, or YAML of Timeloop")
      ->capture_default_str();
  command->add_option("--engine", options->engine, join(engines, ", "))->capture_default_str();
  command->add_option("--objective", options->objective, "latency, energy, edp (energy times delay), weighted")
      ->capture_default_str();
  command->add_option("--pj-per-cycle", options->pj_per_cycle, "of the weighted sum: what a cycle is worth in pJ");
  command->add_option("--time", options->time, "for all layers together, such as 10s; none: no limit")
      ->capture_default_str();
  command->add_option("--evaluations", options->evaluations, "for each different layer; 0: no limit")
      ->capture_default_str();
  command->add_option("--gap", options->gap, "branch_and_bound: proved within this share of the optimum is enough")
      ->capture_default_str();
  command->add_option("--max-cycles", options->max_cycles, "of all layers together");
  command
      ->add_option("--max-power", options->max_power,
                   "of each layer, such as 200 mW: energy / time; the machine waits where it would be more")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "the same seed gives the same mappings")->capture_default_str();
  add_bypass_option(*command, options->bypass);
  command->add_flag("--fill-and-drain", options->fill_and_drain,
                    "count the time of the first tiles in and the last out");
  command->add_flag("-v,--verbose", options->verbose, "print each mapping as nested loops, with its counts");
  command->add_flag("--json", options->json, "one object per layer and line, and one of totals");
  command->add_flag("--csv", options->csv, "one line per layer, level and operand");
  command->add_option("--html", options->html, "write a page with roofline, utilization, energy and mappings");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

void add_accel_compare(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("compare", "search engines beside the proved optimum, on six spaces");
  auto options = std::make_shared<CompareCommand>();
  command
      ->add_option("--share", options->share,
                   "evaluations of engines without an end of their own, beside those of the exhaustive search")
      ->capture_default_str();
  command->add_option("--seeds", options->seeds, "runs of each engine on each space")->capture_default_str();
  command->callback([options, &action] { action = [options] { return compare(*options); }; });
}

}  // namespace kasimir
