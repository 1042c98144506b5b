// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accel.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/hardware/format/evaluation_text.h"
#include "kasimir/hardware/format/timeloop.h"
#include "kasimir/report/accelerator_page.h"

#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

struct EvalCommand {
  AccelInput input;
  std::string arch = "gemmini";
  std::string mapping;
  std::string max_power = "none";
  bool fill_and_drain = false;
  bool json = false;
  bool csv = false;
  std::string html;
  std::string timeloop;
};

/// Problem, machine and mapping in one file, to be evaluated by Timeloop.
void write_timeloop(const std::string& file, const CostModel& model, const Mapping& mapping) {
  const FormatText problem = timeloop_problem_text(model.problem);
  const FormatText machine = timeloop_architecture_text(model.architecture, model.problem);
  write_file(file, problem.text + machine.text + timeloop_mapping_text(mapping, model.problem, model.architecture));
  for (const FormatText* part : {&problem, &machine})
    for (const std::string& lost : part->lost) fmt::print(stderr, "{} does not say: {}\n", file, lost);
}

int run(const EvalCommand& options) {
  const std::vector<AccelLayer> layers = layers_of(options.input);
  if (layers.size() != 1)
    throw input_error("there are {} different problems, a mapping is for one", layers.size())
        .note("`kasimir accel map` finds a mapping for each; or give one with --layer or --problem");
  const Problem& problem = layers[0].problem;
  const Architecture architecture = architecture_of(options.arch, problem);
  EvaluationOptions how;
  how.fill_and_drain = options.fill_and_drain;
  how.max_power_mw = parse_power(options.max_power);
  const CostModel model(problem, architecture, how);
  const Mapping mapping = mapping_of(options.mapping, options.arch, problem, architecture);
  const Evaluation evaluation = evaluate(model, mapping);
  if (options.json) {
    fmt::print("{}\n", evaluation_json(model, mapping, evaluation).dump(2));
  } else if (options.csv) {
    fmt::print("{}{}", evaluation_csv_header(), evaluation_csv(layers[0].name, model, evaluation));
  } else {
    fmt::print("{}\non {}: {}\n\n{}\n{}", str(problem), architecture.name, str(mapping, problem, architecture),
               nested_loops(mapping, problem, architecture), report_text(model, evaluation));
  }
  if (!options.timeloop.empty()) write_timeloop(options.timeloop, model, mapping);
  if (!options.html.empty()) {
    report::AcceleratorPage page{
        .title = fmt::format("{} on {}", layers[0].name, options.arch),
        .certificate = evaluation.fits() ? "The mapping was given." : "The mapping does not fit.",
        .command = "accel eval",
        .program = "kasimir " KASIMIR_VERSION,
        .layers = {},
        .varied = {},
        .designs = {},
        .designs_note = {}};
    page.layers.push_back({layers[0].name, 1, model, mapping, evaluation, "given"});
    report::write_accelerator_page(page, options.html);
  }
  return 0;
}

}  // namespace

void add_accel_eval(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("eval", "what a layer costs under a mapping: counts, cycles, energy, what does not fit");
  auto options = std::make_shared<EvalCommand>();
  add_input_options(*command, options->input);
  command->add_option("--arch", options->arch, "a preset (`kasimir accel presets`), a TOML file, or YAML of Timeloop")
      ->capture_default_str();
  command
      ->add_option(
          "--mapping", options->mapping,
          "a line such as \"L3[OIW] M8 - L2[IW] N16X - L1[O] K4X - L0[W]\", a file with one, or YAML of Timeloop")
      ->required();
  command
      ->add_option("--max-power", options->max_power,
                   "such as 200 mW: energy / time; the machine waits where it would be more")
      ->capture_default_str();
  command->add_flag("--fill-and-drain", options->fill_and_drain,
                    "count the time of the first tiles in and the last out");
  command->add_flag("--json", options->json, "all counts and totals as one object");
  command->add_flag("--csv", options->csv, "one line per level and operand, and one of totals");
  command->add_option("--timeloop", options->timeloop, "write problem, machine and mapping as YAML of Timeloop");
  command->add_option("--html", options->html, "write a page with roofline, utilization and energy");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
