// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/options.h"
#include "kasimir/sampling.h"
#include "kasimir/search_spec.h"
#include "kasimir/sites.h"

#include "kasimir/base/files.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/codegen/dot.h"
#include "kasimir/kernel/binding_at.h"
#include "kasimir/kernel/cost.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/study/assignment.h"
#include "kasimir/study/store.h"
#include "kasimir/synth/solver.h"

namespace kasimir {
namespace {

struct ShowCommand {
  std::string kernel;
  CommonOptions common;
  std::string svg;
  bool stages = false;
  bool dot = false;
};

/// A file, or STUDY:NUMBER for a trial of a study.
std::string kernel_text(const std::string& where) {
  const auto colon = where.rfind(':');
  if (colon != std::string::npos) {
    if (const auto number = parse_integer(where.substr(colon + 1))) {
      const auto trial = study::Store::view(where.substr(0, colon)).trial(static_cast<int>(*number));
      if (trial.kernel.empty())
        throw input_error("trial {} of {} has no kernel: {}", *number, where.substr(0, colon),
                          *number == 0 ? "it is the original network" : trial.reason);
      if (study::is_assignment(trial.kernel))
        throw input_error("trial {} of {} has a kernel for each site", *number, where.substr(0, colon))
            .note(fmt::format("`kasimir show {}:NUMBER` shows the kernel of another trial; {}", where.substr(0, colon),
                              trial.kernel));
      return trial.kernel;
    }
  }
  return read_file(where);
}

void print_costs(Kernel kernel, const Graph& graph, const std::vector<SiteLoad>& loads, const Budget& budget) {
  // A kernel from a file may carry its own values; others are fitted to the budget here.
  const auto fits = kernel.fits;
  const bool complete = std::ranges::all_of(loads, [&](const SiteLoad& load) {
    const Binding fit = kernel.fit_at(load.site);
    return std::ranges::all_of(kernel.free_symbols(), [&](Symbol symbol) { return fit.has(symbol); });
  });
  if (!complete) {
    const auto fitted = fit(kernel, graph, loads, budget, {});
    if (!fitted.ok()) fmt::print("no values for the free symbols: {}\n", fitted.rejection().str());
  }
  const Cost total = cost(graph);
  Table table({{"site", "", Table::Align::left},
               {"count", ""},
               {"MACs", ""},
               {"of conv", "%"},
               {"params", ""},
               {"of conv", "%"},
               {"free sizes", "", Table::Align::left}});
  for (const SiteLoad& load : loads) {
    const auto binding = binding_at(kernel, load.site);
    if (!binding) {
      table.row({load.site.str(), std::to_string(load.count), "?", "?", "?", "?", "no value fits"});
      continue;
    }
    const double macs = total.macs.value_at(*binding);
    const double params = total.params.value_at(*binding);
    table.row({load.site.str(), std::to_string(load.count), si(macs), fmt::format("{:.1f}", 100 * macs / load.macs),
               si(params), fmt::format("{:.1f}", 100 * params / load.params), kernel.fit_at(load.site).str()});
  }
  fmt::print("MACs    {}\nparams  {}\n\n{}", total.macs.str(), total.params.str(), table.str());
}

int run(const ShowCommand& options) {
  const Network network =
      network_for(options.common.network, options.common.width, parse_input(options.common.input), 0);
  const auto loads = site_loads(find_sites(network, {options.common.replace, options.common.keep}));
  std::vector<Site> sites;
  for (const SiteLoad& load : loads) sites.push_back(load.site);
  const Kernel kernel = parse_and_check(kernel_text(options.kernel), catalog(), SiteSet(sites, {}), options.kernel);
  const SiteSet set(sites, kernel.choices);
  if (options.dot) {
    fmt::print("{}", to_dot(kernel, set));
    return 0;
  }
  const auto graph = lower(kernel, set);
  fmt::print("{}\n", str(kernel));
  if (options.stages) fmt::print("{}\n", str(*graph));
  const auto shapes = infer_shapes(kernel, set);
  for (std::size_t i = 0; i < shapes->size(); ++i)
    fmt::print("  {:<3} {:<28} {}\n", tensor_name(static_cast<int>(i)), str((*shapes)[i]),
               i == 0 ? "the input" : kernel.steps[i - 1].primitive->brief);
  fmt::print("\n");
  print_costs(kernel, *graph, loads, sampling_budget(options.common.budget));
  if (!options.svg.empty()) {
    write_file(options.svg, to_svg(to_dot(kernel, set)));
    fmt::print("\nwrote {}\n", options.svg);
  }
  return 0;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("show", "shows a kernel: text, shapes, cost at each site, picture");
  auto options = std::make_shared<ShowCommand>();
  command
      ->add_option("kernel", options->kernel,
                   "a file such as examples/kernels/involution.txt, or STUDY:NUMBER for a trial")
      ->required();
  add_network_options(*command, options->common);
  command->add_option("--input", options->common.input, "image size such as 3x224x224");
  command->add_option("--budget", options->common.budget, "budget to which free sizes without a value are fitted");
  command->add_option("--svg", options->svg, "draw the kernel's graph to this file");
  command->add_flag("--stages", options->stages, "print the equations that define it");
  command->add_flag("--dot", options->dot, "print the graph for Graphviz and nothing else");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
