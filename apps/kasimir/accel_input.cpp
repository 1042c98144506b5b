// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accel.h"
#include "kasimir/options.h"
#include "kasimir/search_spec.h"
#include "kasimir/sites.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/format/timeloop.h"
#include "kasimir/hardware/format/yaml.h"
#include "kasimir/hardware/format/zigzag.h"
#include "kasimir/hardware/from_nest.h"
#include "kasimir/hardware/pipeline/scale_sim.h"
#include "kasimir/hardware/quantity.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/schedule.h"
#include "kasimir/network/lower.h"

#include <algorithm>
#include <filesystem>

namespace kasimir {
namespace {

bool is_yaml(const std::string& file) { return file.ends_with(".yaml") || file.ends_with(".yml"); }

void add_layer(std::vector<AccelLayer>& layers, std::string name, Problem problem, bool without_epilogue = false) {
  auto known = std::ranges::find(layers, problem, &AccelLayer::problem);
  if (known == layers.end()) known = layers.insert(known, {std::move(name), std::move(problem), 0, false});
  ++known->times;
  known->without_epilogue = known->without_epilogue || without_epilogue;
}

std::vector<AccelLayer> network_layers(const AccelInput& input) {
  const Network network = network_for(input.network, input.width, parse_input(input.input), 0);
  NetworkPlan plan{&network, {}};
  if (!input.kernel.empty()) {
    const auto sites = find_sites(network, {input.replace, input.keep});
    plan = replace_with(network, sites, read_kernel(input.kernel, site_loads(sites)));
  }
  const auto layers = layers_of(plan, input.batch, parse_bits(input.bits), input.count_epilogues);
  if (!layers.ok()) throw input_error("{} has no problems: {}", input.network, layers.rejection().str());
  return *layers;
}

/// A header tells our own lists from the two kinds of SCALE-Sim.
std::vector<ConvLayer> csv_layers(const std::string& file) {
  const std::string text = read_file(file);
  const std::string header = lower_case(text.substr(0, text.find('\n')));
  if (header.find("ifmap") != std::string::npos) return parse_scale_sim_topology(text, file);
  if (header.find("cin") == std::string::npos && header.find('m') != std::string::npos &&
      std::ranges::count(header, ',') <= 4)
    return parse_scale_sim_gemms(text, file);
  return parse_layers(text, file);
}

std::vector<AccelLayer> file_layers(const AccelInput& input) {
  const std::string& file = input.problem;
  const OperandBits bits = parse_bits(input.bits);
  std::vector<AccelLayer> layers;
  if (is_yaml(file)) {
    const std::string text = read_file(file);
    if (!load_yaml(text, file).IsSequence())
      return {{std::filesystem::path(file).stem().string(), parse_timeloop_problem(text, file, bits), 1, false}};
    for (NamedProblem& one : parse_zigzag_workload(text, file))
      add_layer(layers, std::move(one.name), std::move(one.problem));
  } else if (file.ends_with(".csv")) {
    for (const ConvLayer& layer : csv_layers(file)) add_layer(layers, layer.name, problem_of(layer, bits, input.batch));
  } else {
    int line = 0;
    for (const std::string& text : split(read_file(file), '\n')) {
      ++line;
      if (trim(text).empty() || trim(text).starts_with('#')) continue;
      try {
        add_layer(layers, fmt::format("line {}", line), parse_problem(trim(text)));
      } catch (Error& error) {
        throw error.note(fmt::format("{}:{}", file, line));
      }
    }
  }
  if (layers.empty()) throw input_error("{} holds no problem", file);
  return layers;
}

}  // namespace

void add_input_options(CLI::App& app, AccelInput& input) {
  app.add_option("--network", input.network,
                 "a network of the zoo, such as resnet18, or an ONNX file: all its loop nests");
  app.add_option("--kernel", input.kernel, "with --network: replaces its convolutions by the kernel of this file");
  app.add_option("--replace", input.replace, "with --kernel: which convolutions, by name; * and ? match");
  app.add_option("--keep", input.keep, "with --kernel: convolutions to keep");
  app.add_option("--input", input.input, "with --network: image size such as 3x224x224");
  app.add_option("--width", input.width, "with --network: multiplies its channels")->capture_default_str();
  app.add_option("--batch", input.batch, "images")->capture_default_str();
  app.add_flag("--count-epilogues", input.count_epilogues,
               "with --network: count what follows a sum element by element as part of every operation (default: it is "
               "done on the way out and not counted)");
  app.add_option("--layer", input.layer, "an equation such as \"O[m,n] += I[m,k] * W[k,n] for m=64 n=64 k=64\"");
  app.add_option("--problem", input.problem,
                 "a file: YAML of Timeloop or ZigZag, CSV of layers (ours or SCALE-Sim's), or one equation a line");
  app.add_option("--bits", input.bits, "of inputs, weights, results and partial sums, where the file does not say")
      ->capture_default_str();
}

OperandBits parse_bits(const std::string& text) {
  std::vector<int> bits;
  for (const std::string& part : split(text, ',')) {
    const auto value = parse_integer(trim(part));
    if (!value || *value < 1 || *value > 64) throw input_error("`{}` is no list of bits; write 8 or 8,4,8,32", text);
    bits.push_back(static_cast<int>(*value));
  }
  if (bits.size() == 1) return {bits[0], bits[0], bits[0], std::max(32, bits[0])};
  if (bits.size() != 4) throw input_error("`{}` is no list of bits; write 8 or 8,4,8,32", text);
  return {bits[0], bits[1], bits[2], bits[3]};
}

double parse_limit(const std::string& text, Quantity quantity, const std::string& wrong) {
  if (text == "none") return Goal::unlimited;
  const auto value = parse_quantity(text, quantity, 1);
  if (!value || !(*value > 0))
    throw input_error("{}: write none, or a number above 0 and a unit: {}", wrong, unit_list(quantity));
  return *value;
}

double parse_power(const std::string& text) {
  return parse_limit(text, Quantity::power, fmt::format("`{}` is no power", text));
}

void add_bypass_option(CLI::App& app, std::string& bypass) {
  app.add_option("--bypass", bypass,
                 "operands may pass levels by that could keep them: never; search: all choices are tried; auto: if "
                 "nothing fits otherwise")
      ->capture_default_str();
}

void set_bypass(const std::string& bypass, SearchOptions& options) {
  if (bypass != "auto" && bypass != "never" && bypass != "search")
    throw input_error("--bypass is `{}`, there are auto, never and search", bypass);
  options.rules.search_keeps = bypass == "search";
  options.widen = bypass == "auto";
}

Outcome<std::vector<AccelLayer>> layers_of(const NetworkPlan& plan, std::int64_t batch, const OperandBits& bits,
                                           bool count_epilogues) {
  auto lowered = lower_network(plan, batch);
  if (!lowered.ok()) return lowered.rejection();
  const NestProgram program = schedule(simplify(lowered->graph));
  std::vector<AccelLayer> layers;
  for (Nest nest : program.run) {
    const bool drop = !count_epilogues && !nest.epilogue.empty();
    if (drop) nest.epilogue.clear();
    const auto problem = problem_of(program, nest, bits);
    if (!problem.ok())
      return Rejection{problem.rejection().rule, fmt::format("nest {}: {}", nest.name, problem.rejection().with)};
    add_layer(layers, nest.name, with_plain_names(*problem), drop);
  }
  return layers;
}

std::vector<AccelLayer> layers_of(const AccelInput& input) {
  const auto given = [](const std::string& text) { return static_cast<int>(!text.empty()); };
  const int ways = given(input.network) + given(input.layer) + given(input.problem);
  if (ways != 1) throw input_error("{} of --network, --layer and --problem are given, one is needed", ways);
  if (!input.kernel.empty() && input.network.empty()) throw input_error("--kernel needs --network, for its sites");
  if (input.batch < 1) throw input_error("--batch is {}, at least 1 is needed", input.batch);
  if (!input.layer.empty()) return {{"layer", parse_problem(input.layer), 1, false}};
  return input.network.empty() ? file_layers(input) : network_layers(input);
}

Architecture architecture_of(const std::string& text, const Problem& problem) {
  if (is_yaml(text)) return parse_timeloop_architecture(read_file(text), text, problem).architecture;
  if (text.ends_with(".toml")) return parse_architecture(read_file(text), text);
  try {
    return preset(text);
  } catch (Error& error) {
    throw error.note("a file's name ends in .toml or, for Timeloop, in .yaml");
  }
}

Mapping mapping_of(const std::string& text, const std::string& architecture, const Problem& problem,
                   const Architecture& made) {
  if (is_yaml(text)) {
    TimeloopMachine machine{made, {}};
    if (is_yaml(architecture)) machine = parse_timeloop_architecture(read_file(architecture), architecture, problem);
    for (std::size_t l = 0; l < made.levels.size(); ++l) machine.grids.emplace(grid_name(made.levels[l]), l);
    return parse_timeloop_mapping(read_file(text), text, problem, machine);
  }
  const bool file = text.find('[') == std::string::npos;
  return parse_mapping(file ? read_file(text) : text, problem, made);
}

std::vector<ConvLayer> convolutions_of(const std::string& name, const std::string& file, const std::string& input,
                                       double width, const LayerBits& bits) {
  if (!file.empty()) return csv_layers(file);
  const Network network = network_for(name, width, parse_input(input), 0);
  std::vector<ConvLayer> layers;
  for (std::size_t i = 1; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    const Shape3 in = network.input_of(static_cast<int>(i));
    ConvLayer made;
    if (const auto* conv = std::get_if<layer::Conv>(&layer.op)) {
      if (conv->dilation != 1)
        throw input_error("{} is dilated by {}, which the template has not", layer.name, conv->dilation);
      made = {.name = {},
              .cin = static_cast<int>(conv->in),
              .cout = static_cast<int>(conv->out),
              .height = static_cast<int>(in.h),
              .width = static_cast<int>(in.w),
              .kernel_h = static_cast<int>(conv->kernel_h),
              .kernel_w = static_cast<int>(conv->kernel_w),
              .stride = static_cast<int>(conv->stride),
              .groups = static_cast<int>(conv->groups),
              .padding_h = static_cast<int>(2 * conv->pad_h),
              .padding_w = static_cast<int>(2 * conv->pad_w),
              .bits = bits};
    } else if (const auto* linear = std::get_if<layer::Linear>(&layer.op)) {
      made = fully_connected("", static_cast<int>(linear->in), static_cast<int>(linear->out));
    } else {
      continue;
    }
    made.name = layer.name;
    made.bits = bits;
    layers.push_back(std::move(made));
  }
  return layers;
}

}  // namespace kasimir
