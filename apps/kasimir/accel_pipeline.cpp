// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accel.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/pipeline/assignment.h"
#include "kasimir/hardware/pipeline/layer_traits.h"
#include "kasimir/hardware/pipeline/nba_search.h"
#include "kasimir/hardware/pipeline/pipeline_toml.h"
#include "kasimir/hardware/pipeline/shape_search.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace kasimir {
namespace {

struct PipelineCommand {
  std::string board = "zc706";
  std::string network, layers, input, nba, design;
  double width = 1;
  std::string mode = "sound";
  std::string bits = "8,8";
  std::size_t chunks = 6;
  std::size_t evaluations = 300;
  double clock_mhz = 0;
  std::uint64_t seed = 1;
  bool free_mode = false;
  bool compare = false;
  std::size_t designs = 2000;
  std::size_t seeds = 3;
  bool json = false;
};

LayerBits precision_of(const std::string& text) {
  const auto parts = split(text, ',');
  const auto weight = parse_integer(parts[0]);
  const auto activation = parts.size() == 1 ? weight : parse_integer(parts[1]);
  if (!weight || !activation || parts.size() > 2 || *weight < 1 || *activation < 1 || *weight > 64 || *activation > 64)
    throw input_error("`{}` are no bits of weights and activations; write 8 or 4,8", text);
  return {static_cast<int>(*weight), static_cast<int>(*activation)};
}

/// What is shared by the answers of both solvers.
struct PipelineResult {
  bool found = false;
  double cycles = 0, lower_bound = 0;
  bool optimal = false;
  std::vector<AssignedChunk> chunks;
  std::vector<std::string> names;  ///< of the chunks; empty: numbers
  std::vector<std::vector<std::string>> layers;
  Resources resources;
  std::vector<Violation> violated;
  std::vector<Relaxation> relaxed;
  std::vector<double> by_chunks;
  std::size_t evaluations = 0;
};

std::string certificate(const PipelineResult& result) {
  if (!result.found) return "no design meets all constraints; below is the nearest one";
  if (result.optimal) return "optimal: no design within the limits is faster";
  if (result.lower_bound <= 0) return "no bound is proved";
  return fmt::format("at most {:.1f} % above the optimum (proved bound: {} cycles)",
                     100 * (result.cycles / result.lower_bound - 1),
                     grouped(static_cast<std::int64_t>(std::floor(result.lower_bound))));
}

std::string shape_text(const AssignedChunk& chunk) {
  const ChunkShape& s = chunk.shape;
  return fmt::format("mode {}, tile {}x{}x{}x{}, unrolled {}x{}x{}x{}", s.mode, s.tile_rows, s.tile_cols, s.tile_out,
                     s.tile_in, s.rows, s.cols, s.out, s.in);
}

std::string chunk_name(const PipelineResult& result, std::size_t c) {
  return c < result.names.size() ? result.names[c] : std::to_string(c + 1);
}

std::string chunk_table(const PipelineResult& result) {
  Table table({{"chunk", "", Table::Align::left},
               {"kind", "", Table::Align::left},
               {"bits", ""},
               {"layers", ""},
               {"cycles", ""},
               {"busy", "%"},
               {"DSP", ""},
               {"BRAM18", ""},
               {"LUT", ""},
               {"shape: rows x columns x out x in", "", Table::Align::left}});
  for (std::size_t c = 0; c < result.chunks.size(); ++c) {
    const AssignedChunk& chunk = result.chunks[c];
    table.row({chunk_name(result, c), chunk.depthwise ? "depthwise" : "standard", std::to_string(chunk.bits),
               std::to_string(result.layers[c].size()), grouped(std::llround(chunk.cycles)),
               fmt::format("{:.1f}", 100 * chunk.cycles / result.cycles), fmt::format("{:.0f}", chunk.resources.dsp),
               fmt::format("{:.0f}", chunk.resources.bram18), fmt::format("{:.0f}", chunk.resources.lut),
               shape_text(chunk)});
  }
  return table.str();
}

std::string budget_lines(const PipelineResult& result, const ResourceBudget& budget) {
  std::string text;
  const auto line = [&](std::string_view name, double used, double limit) {
    const std::string of = std::isinf(limit) ? "no limit" : fmt::format("of {:.0f}", limit);
    text += fmt::format("{:<20} {:>9.0f}  {}\n", name, used, of);
  };
  line("DSP", result.resources.dsp, budget.dsp);
  line("BRAM18", result.resources.bram18, budget.bram18);
  line("LUT", result.resources.lut, budget.lut);
  line("DRAM bit per cycle", result.cycles > 0 ? result.resources.dram_bits / result.cycles : 0,
       budget.dram_bits_per_cycle);
  return text;
}

void print_text(const PipelineResult& result, const ResourceBudget& budget, double clock_mhz) {
  fmt::print("{}\n", chunk_table(result));
  fmt::print("{} cycles per frame, {:.1f} frames per second at {:.0f} MHz\n{}\n\n{}",
             grouped(std::llround(result.cycles)), 1e6 * clock_mhz / result.cycles, clock_mhz, certificate(result),
             budget_lines(result, budget));
  for (const Violation& violation : result.violated) fmt::print("does not fit: {}\n", violation.str());
  for (const Relaxation& one : result.relaxed)
    if (std::isfinite(one.cycles))
      fmt::print("without the limit on {}: {} cycles\n", one.constraint, grouped(std::llround(one.cycles)));
  std::vector<std::string> seen;
  for (std::size_t n = 0; n < result.by_chunks.size(); ++n)
    if (std::isfinite(result.by_chunks[n]))
      seen.push_back(fmt::format("{}: {}", n + 1, grouped(std::llround(result.by_chunks[n]))));
  if (!seen.empty()) fmt::print("\nfewest cycles seen with each number of chunks: {}\n", join(seen, ", "));
  for (std::size_t c = 0; c < result.layers.size(); ++c)
    fmt::print("{}chunk {}: {}\n", c == 0 ? "\n" : "", chunk_name(result, c), join(result.layers[c], ", "));
}

nlohmann::json to_json(const PipelineResult& result, double clock_mhz) {
  nlohmann::json chunks = nlohmann::json::array();
  for (std::size_t c = 0; c < result.chunks.size(); ++c) {
    const AssignedChunk& chunk = result.chunks[c];
    const ChunkShape& s = chunk.shape;
    chunks.push_back({{"name", chunk_name(result, c)},
                      {"depthwise", chunk.depthwise},
                      {"bits", chunk.bits},
                      {"layers", result.layers[c]},
                      {"cycles", chunk.cycles},
                      {"dsp", chunk.resources.dsp},
                      {"bram18", chunk.resources.bram18},
                      {"lut", chunk.resources.lut},
                      {"mode", s.mode},
                      {"tile", {s.tile_rows, s.tile_cols, s.tile_out, s.tile_in}},
                      {"unrolled", {s.rows, s.cols, s.out, s.in}}});
  }
  nlohmann::json broken = nlohmann::json::array();
  for (const Violation& violation : result.violated)
    broken.push_back({{"constraint", violation.constraint}, {"used", violation.used}, {"limit", violation.limit}});
  return {{"found", result.found},
          {"cycles", result.cycles},
          {"lower_bound", result.lower_bound},
          {"optimal", result.optimal},
          {"fps", 1e6 * clock_mhz / result.cycles},
          {"clock_mhz", clock_mhz},
          {"chunks", chunks},
          {"dsp", result.resources.dsp},
          {"bram18", result.resources.bram18},
          {"lut", result.resources.lut},
          {"dram_bits_per_frame", result.resources.dram_bits},
          {"violations", broken},
          {"evaluations", result.evaluations}};
}

PipelineResult from_assignment(const AssignmentAnswer& answer, const std::vector<std::string>& names) {
  PipelineResult result;
  result.found = answer.found;
  result.lower_bound = answer.lower_bound;
  result.optimal = answer.found && answer.cycles <= answer.lower_bound * (1 + 1e-9);
  result.chunks = answer.chunks;
  result.resources = answer.resources;
  result.violated = answer.violated;
  result.by_chunks = answer.by_chunks;
  result.evaluations = answer.evaluations;
  for (const AssignedChunk& chunk : answer.chunks) {
    result.cycles = std::max(result.cycles, chunk.cycles);
    std::vector<std::string>& of = result.layers.emplace_back();
    for (const std::size_t layer : chunk.layers) of.push_back(names[layer]);
  }
  if (answer.found) result.cycles = answer.cycles;
  return result;
}

/// Convolutions as the released code of Auto-NBA would describe them.
std::vector<Placed<PaperLayer>> paper_layers_of(const std::vector<ConvLayer>& layers) {
  std::vector<Placed<PaperLayer>> made;
  for (const ConvLayer& layer : layers)
    made.push_back(
        {{.cin = layer.depthwise() ? 1.0 : static_cast<double>(layer.cin) / layer.groups,
          .cout = layer.depthwise() ? static_cast<double>(layer.cout) : static_cast<double>(layer.cout) / layer.groups,
          .size = static_cast<double>(layer.out_h()),
          .kernel = static_cast<double>(layer.kernel_h),
          .depthwise = layer.depthwise()},
         layer.bits.widest(),
         -1});
  return made;
}

PipelineResult assigned(const PipelineCommand& options, const ResourceBudget& budget) {
  const std::vector<ConvLayer> layers =
      convolutions_of(options.network, options.layers, options.input, options.width, precision_of(options.bits));
  const AssignmentLimits limits{.max_chunks = options.chunks, .evaluations = options.evaluations, .seed = options.seed};
  std::vector<std::string> names;
  for (const ConvLayer& layer : layers) names.push_back(layer.name);
  const AssignmentAnswer answer = options.mode == "paper"
                                      ? assign_layers(paper_layers_of(layers), general_spaces(), budget, limits)
                                      : assign_layers(placed_layers(layers), general_spaces(), budget, limits);
  return from_assignment(answer, names);
}

/// Names of the layers that the released rule puts on each chunk.
template <typename L>
std::map<std::string, std::vector<std::string>> on_chunks(const std::vector<Placed<L>>& layers, NbaInput input) {
  std::map<std::string, std::vector<std::string>> found;
  std::size_t place = 0;
  for (const Placed<L>& one : layers) {
    const std::string name = one.block < 0 ? "outside the blocks" : fmt::format("block {}", one.block + 1);
    found[nba_chunk(is_depthwise(one.layer), out_rows(one.layer), one.bits, input)].push_back(
        fmt::format("{}: {}", ++place, name));
  }
  return found;
}

NbaQuestion question_of(const PipelineCommand& options, const ResourceBudget& budget) {
  if (options.nba != "cifar" && options.nba != "imagenet")
    throw input_error("unknown example `{}`, there are `cifar` and `imagenet`", options.nba);
  NbaQuestion question;
  question.network = nba_example(options.nba == "cifar" ? NbaInput::cifar : NbaInput::imagenet);
  question.mode = options.mode == "paper" ? CostMode::paper : CostMode::sound;
  question.free_mode = options.free_mode;
  question.budget = budget;
  return question;
}

/// Searches by samples beside the exact solver, each with the same number of designs that are costed.
int compare(const PipelineCommand& options, const ResourceBudget& budget) {
  const NbaQuestion question = question_of(options, budget);
  const NbaSolution exact = solve_nba(question, {.relax = false});
  if (!exact.answer.found) throw unsolved_error("no design is within the limits, so there is nothing to compare with");
  Table table({{"search", "", Table::Align::left},
               {"cycles", "mean"},
               {"cycles", "best"},
               {"cycles", "worst"},
               {"of the optimum", "mean"},
               {"failed", "runs"},
               {"designs costed", ""}});
  const auto line = [&](std::string_view name, const std::vector<double>& cycles, std::size_t failed,
                        std::size_t cost) {
    double sum = 0;
    for (const double one : cycles) sum += one;
    // where all runs failed there is no number, which is null in JSON
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const auto [best, worst] = std::ranges::minmax(cycles.empty() ? std::vector<double>{none} : cycles);
    const double mean = cycles.empty() ? none : sum / static_cast<double>(cycles.size());
    const auto whole = [](double value) { return std::isnan(value) ? "-" : grouped(std::llround(value)); };
    if (options.json)
      fmt::print("{}\n", nlohmann::json{{"search", name},
                                        {"mean_cycles", mean},
                                        {"best_cycles", best},
                                        {"worst_cycles", worst},
                                        {"mean_over_optimum", mean / exact.answer.cycles},
                                        {"failed", failed},
                                        {"designs", cost}}
                             .dump());
    table.row({std::string(name), whole(mean), whole(best), whole(worst),
               cycles.empty() ? "-" : fmt::format("{:.2f}", mean / exact.answer.cycles), std::to_string(failed),
               grouped(static_cast<std::int64_t>(cost))});
  };
  for (const ShapeSearch method :
       {ShapeSearch::random, ShapeSearch::das_published, ShapeSearch::das_faster, ShapeSearch::das_repaired}) {
    std::vector<double> cycles;
    std::size_t failed = 0;
    for (std::uint64_t seed = options.seed; seed < options.seed + options.seeds; ++seed) {
      const ShapeSearchResult found = search_shapes(question, {method, options.designs, seed});
      if (found.found)
        cycles.push_back(found.bottleneck);
      else
        ++failed;
    }
    line(name_of(method), cycles, failed, options.designs);
  }
  // the solver costs each shape of each chunk once; what it then puts together is not costed again
  line("exact solver", {exact.answer.cycles}, 0, exact.evaluations);
  if (!options.json)
    fmt::print("{}\nthe exact solver's count is of single chunks, a design of the others has {} of them\n", table.str(),
               nba_chunks(question).size());
  return 0;
}

/// A network of Auto-NBA's space with the released rule for which layer runs on which chunk.
PipelineResult released(const PipelineCommand& options, const ResourceBudget& budget) {
  const NbaQuestion question = question_of(options, budget);
  const NbaSolution solved = solve_nba(question, {.relax = false});
  const NbaNetwork& network = question.network;
  const auto layers = question.mode == CostMode::paper
                          ? on_chunks(paper_layers(network), network.input)
                          : on_chunks(sound_layers(network, question.frame), network.input);
  PipelineResult result;
  result.found = solved.answer.found;
  result.cycles = solved.answer.cycles;
  result.lower_bound = solved.answer.lower_bound;
  result.optimal = solved.answer.optimal();
  result.resources = solved.answer.resources;
  result.violated = solved.answer.violated;
  result.relaxed = solved.answer.relaxed;
  result.evaluations = solved.evaluations;
  for (std::size_t c = 0; c < solved.answer.choice.size(); ++c) {
    const std::string& name = solved.problem.names[c];
    const ChunkOption& option = solved.problem.options[c][solved.answer.choice[c]];
    const auto bits = parse_integer(name.substr(name.find('q') + 1));
    result.names.push_back(name);
    result.layers.push_back(layers.contains(name) ? layers.at(name) : std::vector<std::string>{});
    result.chunks.push_back({.depthwise = name.starts_with("dw"),
                             .bits = static_cast<int>(bits.value_or(0)),
                             .shape = solved.design.at(name),
                             .cycles = option.cycles,
                             .resources = option.resources,
                             .layers = {}});
  }
  return result;
}

PipelineResult from_description(const PipelineDescription& pipeline) {
  PipelineResult result;
  result.cycles = cycles_of(pipeline);
  for (const DescribedChunk& chunk : pipeline.chunks) {
    const ChunkCost cost = cost_of(chunk);
    result.names.push_back(chunk.name);
    std::vector<std::string>& of = result.layers.emplace_back();
    for (const SoundLayer& layer : chunk.layers) of.push_back(layer.layer.name);
    result.chunks.push_back({.depthwise = chunk.depthwise,
                             .bits = chunk.bits,
                             .shape = chunk.shape,
                             .cycles = cost.cycles(),
                             .resources = cost.resources(),
                             .layers = {}});
    result.resources = result.resources + cost.resources();
  }
  result.violated = violations(result.resources, result.cycles, pipeline.budget);
  result.found = result.violated.empty();
  return result;
}

/// A pipeline of a file, as it is.
int run_design(const PipelineCommand& options) {
  const PipelineDescription pipeline = parse_pipeline(read_file(options.design), options.design);
  const PipelineResult result = from_description(pipeline);
  const double clock = options.clock_mhz > 0 ? options.clock_mhz : pipeline.clock_mhz;
  if (options.json) {
    fmt::print("{}\n", to_json(result, clock).dump());
  } else {
    fmt::print("{}, cost mode sound\n\n", pipeline.name);
    print_text(result, pipeline.budget, clock);
  }
  return result.found ? 0 : static_cast<int>(Fault::unsolved);
}

int run(const PipelineCommand& options) {
  const int ways = static_cast<int>(!options.network.empty()) + static_cast<int>(!options.layers.empty()) +
                   static_cast<int>(!options.nba.empty()) + static_cast<int>(!options.design.empty());
  if (ways != 1) throw input_error("{} of --network, --layers, --nba and --design are given, one is needed", ways);
  if (!options.design.empty()) return run_design(options);
  if (options.mode != "paper" && options.mode != "sound")
    throw input_error("unknown cost mode `{}`, there are `paper` and `sound`", options.mode);
  if (options.free_mode && options.nba.empty()) throw input_error("--free-mode is for --nba");
  if (options.compare && options.nba.empty()) throw input_error("--compare is for --nba");
  if (options.seeds < 1) throw input_error("--seeds is 0, at least 1 is needed");
  if (options.chunks < 1) throw input_error("--chunks is 0, at least 1 is needed");
  const Board& board = board_named(options.board);
  const double clock = options.clock_mhz > 0 ? options.clock_mhz : board.clock.value;
  // The released code knows DSP and BRAM only, and fewer BRAM than the board has.
  const ResourceBudget budget = options.mode == "paper" ? auto_nba_budget() : budget_of(board, clock);
  if (options.compare) return compare(options, budget);
  const PipelineResult result = options.nba.empty() ? assigned(options, budget) : released(options, budget);
  if (options.json) {
    fmt::print("{}\n", to_json(result, clock).dump());
  } else {
    fmt::print("{} ({}), cost mode {}{}\n\n", board.name, board.part, options.mode,
               options.mode == "paper" ? ", limits of the released code" : "");
    print_text(result, budget, clock);
  }
  return result.found ? 0 : static_cast<int>(Fault::unsolved);
}

}  // namespace

void add_accel_pipeline(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "pipeline", "the fastest pipeline of chunks on an FPGA, with the proof of how good it is (Auto-NBA's template)");
  auto options = std::make_shared<PipelineCommand>();
  command->add_option("--board", options->board, "zc706, zcu104, ultra96")->capture_default_str();
  command->add_option("--network", options->network,
                      "a network of the zoo or an ONNX file: its convolutions and fully connected layers");
  command->add_option("--layers", options->layers, "a CSV file of layers, ours or SCALE-Sim's");
  command->add_option("--nba", options->nba, "Auto-NBA's example network, cifar or imagenet, on the released chunks");
  command->add_option("--design", options->design,
                      "a pipeline as `kasimir cosearch` writes it, accelerator.toml: what it costs as it is");
  command->add_option("--input", options->input, "with --network: image size such as 3x224x224");
  command->add_option("--width", options->width, "with --network: multiplies its channels")->capture_default_str();
  command->add_option("--mode", options->mode, "sound, or paper: the equations of the released code, faults included")
      ->capture_default_str();
  command->add_option("--bits", options->bits, "of weights and activations")->capture_default_str();
  command->add_option("--chunks", options->chunks, "at most so many")->capture_default_str();
  command->add_option("--evaluations", options->evaluations, "assignments of layers to chunks that are judged")
      ->capture_default_str();
  command->add_flag("--free-mode", options->free_mode, "with --nba: also search what each chunk unrolls");
  command->add_flag("--compare", options->compare,
                    "with --nba: Auto-NBA's differentiable search (DAS) as published and as repaired, and random "
                    "designs, beside the exact solver");
  command->add_option("--designs", options->designs, "with --compare: that each search may cost")
      ->capture_default_str();
  command->add_option("--seeds", options->seeds, "with --compare: runs of each search")->capture_default_str();
  command->add_option("--clock", options->clock_mhz, "MHz (default: the board's)");
  command->add_option("--seed", options->seed, "the same seed gives the same design")->capture_default_str();
  command->add_flag("--json", options->json, "one object");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
