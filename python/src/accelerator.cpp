// SPDX-License-Identifier: Apache-2.0
#include "bindings.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/hardware/format/evaluation_text.h"
#include "kasimir/hardware/from_nest.h"
#include "kasimir/hardware/search/search.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/schedule.h"

#include <algorithm>

namespace nb = nanobind;

namespace kasimir::python {
namespace {

Architecture architecture_named(const std::string& name) {
  return name.ends_with(".toml") ? parse_architecture(read_file(name), name) : preset(name);
}

/// One layer as an einsum: "O[M,N] += I[M,K] * W[K,N] : M=4 N=8 K=2" in the text that parse_problem reads.
struct MappedLayer {
  bool found = false;
  double cycles = 0;
  double energy_pj = 0;
  double utilization = 0;
  double value = 0;
  double lower_bound = 0;
  double gap = 0;
  std::string explanation;
  std::string mapping;  ///< one line
  std::string loops;    ///< the same as nested loops
  std::string report;
};

struct MappedNetwork {
  std::vector<MappedLayer> layers;
  bool found = false;
  std::string misfit;
  double cycles = 0;
  double energy_pj = 0;
  double clock_mhz = 0;
  double area_um2 = 0;
  double value = 0;
  double lower_bound = 0;
  double gap = 0;
  std::uint64_t evaluations = 0;
};

MappedLayer described(const CostModel& model, const SearchOptions& options, const SearchAnswer& answer) {
  MappedLayer layer;
  layer.found = answer.found;
  layer.value = answer.value;
  layer.lower_bound = answer.lower_bound;
  layer.gap = answer.gap();
  layer.explanation = explain(model, options, answer);
  if (!answer.found) return layer;
  layer.cycles = answer.evaluation.cycles;
  layer.energy_pj = answer.evaluation.energy_pj;
  layer.utilization = answer.evaluation.utilization;
  layer.mapping = str(answer.mapping, model.problem, model.architecture);
  layer.loops = nested_loops(answer.mapping, model.problem, model.architecture);
  layer.report = report_text(model, answer.evaluation);
  return layer;
}

MappedNetwork map_layers(const std::vector<std::string>& texts, const std::string& arch, const std::string& objective,
                         const std::string& engine, double seconds, std::uint64_t evaluations, std::uint64_t seed,
                         double gap) {
  if (texts.empty()) throw input_error("there is no layer to map, at least one is needed");
  std::vector<Problem> problems;
  for (const std::string& text : texts) problems.push_back(parse_problem(text));
  const Architecture architecture = architecture_named(arch);
  SearchOptions options;
  options.goal.objective = parse_objective(objective);
  options.widen = true;
  options.seconds = seconds;
  options.evaluations = evaluations;
  options.seed = seed;
  options.gap = gap;
  bool interrupted = false;
  options.should_stop = [&interrupted] {
    if (interrupted) return true;
    const nb::gil_scoped_acquire held;
    return interrupted = PyErr_CheckSignals() != 0;
  };
  const NetworkAnswer whole = search_network(problems, architecture, {}, engine, options);
  if (interrupted) {
    const nb::gil_scoped_acquire held;
    throw nb::python_error();
  }
  MappedNetwork mapped;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const CostModel model(problems[i], architecture, {});
    mapped.layers.push_back(described(model, options, whole.layers[i]));
    mapped.area_um2 = model.area_um2;
  }
  mapped.found = whole.found;
  mapped.misfit = whole.misfit;
  mapped.cycles = whole.cycles;
  mapped.energy_pj = whole.energy_pj;
  mapped.clock_mhz = architecture.clock_mhz;
  mapped.value = whole.value;
  mapped.lower_bound = whole.lower_bound;
  mapped.gap = whole.gap();
  mapped.evaluations = whole.evaluations;
  return mapped;
}

OperandBits operand_bits(int bits) { return {.input = bits, .weight = bits, .output = bits, .partial = 32}; }

/// The einsum of a convolution, as text. Zeros around the map are part of the input, unless its height and width are
/// given, and how many zeros stand above and on the left.
std::string convolution_text(const std::map<std::string, std::int64_t>& numbers, int bits) {
  const auto get = [&](const char* key) { return numbers.at(key); };
  const ConvolutionShape shape{.batch = get("batch"),
                               .out_channels = get("out_channels"),
                               .in_channels = get("in_channels"),
                               .out_height = get("out_height"),
                               .out_width = get("out_width"),
                               .kernel_height = get("kernel_height"),
                               .kernel_width = get("kernel_width"),
                               .stride_height = get("stride"),
                               .stride_width = get("stride"),
                               .groups = get("groups")};
  Problem problem = convolution(shape, operand_bits(bits));
  if (numbers.contains("in_height")) {
    auto& ranks = problem.operands[1].ranks;
    OperandRank& row = ranks[ranks.size() - 2];
    row.offset = -get("pad_above");
    row.extent = get("in_height");
    ranks.back().offset = -get("pad_left");
    ranks.back().extent = get("in_width");
  }
  return str(problem);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> nest_problems(const BoundGraph& graph, int bits,
                                                               const std::string& what) {
  const NestProgram program = schedule(simplify(graph));
  std::vector<std::pair<std::string, std::string>> all;
  for (Nest nest : program.run) {
    nest.epilogue.clear();
    const auto problem = problem_of(program, nest, operand_bits(bits));
    if (!problem.ok()) throw input_error("nest {} of {}: {}", nest.name, what, problem.rejection().str());
    all.emplace_back(nest.name, str(with_plain_names(*problem)));
  }
  return all;
}

void add_accelerator(nb::module_& module) {
  nb::class_<MappedLayer>(module, "MappedLayer")
      .def_ro("found", &MappedLayer::found)
      .def_ro("cycles", &MappedLayer::cycles)
      .def_ro("energy_pj", &MappedLayer::energy_pj)
      .def_ro("utilization", &MappedLayer::utilization)
      .def_ro("value", &MappedLayer::value)
      .def_ro("lower_bound", &MappedLayer::lower_bound)
      .def_ro("gap", &MappedLayer::gap)
      .def_ro("explanation", &MappedLayer::explanation)
      .def_ro("mapping", &MappedLayer::mapping)
      .def_ro("loops", &MappedLayer::loops)
      .def_ro("report", &MappedLayer::report);
  nb::class_<MappedNetwork>(module, "MappedNetwork")
      .def_ro("layers", &MappedNetwork::layers)
      .def_ro("found", &MappedNetwork::found)
      .def_ro("misfit", &MappedNetwork::misfit)
      .def_ro("cycles", &MappedNetwork::cycles)
      .def_ro("energy_pj", &MappedNetwork::energy_pj)
      .def_ro("clock_mhz", &MappedNetwork::clock_mhz)
      .def_ro("area_um2", &MappedNetwork::area_um2)
      .def_ro("value", &MappedNetwork::value)
      .def_ro("lower_bound", &MappedNetwork::lower_bound)
      .def_ro("gap", &MappedNetwork::gap)
      .def_ro("evaluations", &MappedNetwork::evaluations);
  module.def("map_layers", &map_layers, nb::call_guard<nb::gil_scoped_release>());
  module.def("convolution_text", &convolution_text);
  module.def("preset_names", &preset_names);
  module.def("preset_toml", [](const std::string& name) { return to_toml(architecture_named(name)); });
}

}  // namespace kasimir::python
