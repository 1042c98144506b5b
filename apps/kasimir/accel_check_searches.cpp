// SPDX-License-Identifier: Apache-2.0
#include "kasimir/accel.h"

#include "kasimir/base/rng.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/pipeline/auto_nba.h"
#include "kasimir/hardware/pipeline/nba_search.h"
#include "kasimir/hardware/search/space.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr const char* machine = "gemmini";
constexpr const char* timed_here = "timed on this machine, one thread";

/// The most frequent layer of ResNet-18 (arXiv 1512.03385, table 1).
CostModel usual_layer() {
  return {convolution({.out_channels = 64,
                       .in_channels = 64,
                       .out_height = 56,
                       .out_width = 56,
                       .kernel_height = 3,
                       .kernel_width = 3}),
          preset(machine)};
}

CheckRow rate_row(const std::string& what, double asked, double found) {
  return {fmt::format("{}, {}", what, machine),
          1,
          fmt::format("{:.0f} million/s", 1e-6 * asked),
          fmt::format("{:.2f} million/s", 1e-6 * found),
          found >= asked,
          timed_here};
}

std::vector<CheckRow> evaluator_rates(double seconds) {
  constexpr int mappings_count = 1000;  // costed one after the other, so that no answer can be remembered
  const CostModel model = usual_layer();
  const MappingSpace space(model, {});
  Rng rng(1);
  std::vector<Mapping> mappings;
  for (int i = 0; i < mappings_count; ++i) mappings.push_back(space.random(rng));
  return {rate_row("Evaluations, any mapping", 3e6, evaluations_per_second(model, mappings, seconds)),
          rate_row("Evaluations, products", 30e6, fast_evaluations_per_second(model, seconds))};
}

CheckRow network_mapping() {
  constexpr double limit_s = 10;
  AccelInput input;
  input.network = "resnet18";
  std::vector<Problem> layers;
  for (const AccelLayer& layer : layers_of(input))
    layers.insert(layers.end(), static_cast<std::size_t>(layer.times), layer.problem);
  SearchOptions options;
  set_bypass("auto", options);
  options.gap = 0.005;
  options.seconds = limit_s;
  const NetworkAnswer answer = search_network(layers, preset(machine), {}, "branch_and_bound", options);
  return {fmt::format("ResNet-18 on {}, energy * delay", machine),
          layers.size(),
          fmt::format("within 1 % of the optimum in {:.0f} s", limit_s),
          fmt::format("{} in {:.1f} s", how_sure(answer.gap()), answer.seconds),
          answer.found && answer.gap() <= 0.01 && answer.seconds <= limit_s,
          "proved by branch and bound"};
}

CheckRow gradient_gap(std::size_t seeds) {
  constexpr double share = 0.01;
  const std::vector<EngineGap> gaps = compare_engines(compared_spaces(), share, seeds, "gradient");
  double worst = 0, of_all = 0;
  std::size_t runs = 0, optimal = 0;
  for (const EngineGap& gap : gaps) {
    worst = std::max(worst, gap.mean);
    of_all = std::max(of_all, gap.evaluations / gap.space_evaluations);
    runs += gap.runs;
    optimal += gap.optimal;
  }
  // An engine looks at its budget between evaluations of whole groups, so the share is rounded as it is printed.
  return {"Gradient engine, 3 GEMM and 3 convolutions",
          runs,
          "mean / optimum 1.02 each, 1 % of the evaluations",
          fmt::format("worst mean {:.4f}, {} of {} optimal, {:.2f} %", worst, optimal, runs, 100 * of_all),
          worst <= 1.02 && of_all <= share * 1.005,
          "optima proved by branch and bound"};
}

CheckRow pipeline_time() {
  constexpr double limit_s = 0.1;
  double slowest = 0;
  std::vector<double> cycles;
  for (const bool free_mode : {false, true}) {
    NbaQuestion question;
    question.network = nba_example(NbaInput::cifar);
    question.free_mode = free_mode;
    const Stopwatch watch;
    const NbaSolution solution = solve_nba(question);
    slowest = std::max(slowest, watch.seconds());
    cycles.push_back(solution.answer.optimal() ? solution.answer.cycles : 0);
  }
  return {"Auto-NBA's example, exact solver",
          cycles.size(),
          "1,131,204 and 490,968 cycles in 0.1 s each",
          fmt::format("{} and {} cycles, at most {:.3f} s", grouped(std::llround(cycles[0])),
                      grouped(std::llround(cycles[1])), slowest),
          cycles[0] == 1131204 && cycles[1] == 490968 && slowest <= limit_s,
          "enumeration of the released problem"};
}

}  // namespace

std::vector<CheckRow> check_searches() {
  constexpr double rate_seconds = 1;
  constexpr std::size_t seeds = 3;
  std::vector<CheckRow> rows = evaluator_rates(rate_seconds);
  rows.push_back(network_mapping());
  rows.push_back(gradient_gap(seeds));
  rows.push_back(pipeline_time());
  return rows;
}

}  // namespace kasimir
