// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_check.h"
#include "kasimir/bench_cosearch.h"
#include "kasimir/bench_evaluator.h"
#include "kasimir/bench_int8.h"
#include "kasimir/bench_integers.h"
#include "kasimir/bench_kernels.h"
#include "kasimir/bench_nests.h"
#include "kasimir/bench_roofline.h"
#include "kasimir/bench_store.h"
#include "kasimir/bench_strategies.h"
#include "kasimir/bench_training.h"
#include "kasimir/command.h"
#include "kasimir/options.h"
#include "kasimir/sampling.h"

#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler_bench.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace kasimir {
namespace {

struct BenchCommand {
  std::string what = "sampler";
  std::uint64_t attempts = 100'000;
  std::uint64_t seed = 1;
  std::string sites;
  std::string primitives;
  std::string budget;
  double composites = GrowthLimits{}.composites;
  bool json = false;
  bool plans = false;
  int count = 50;
  int batch = 1;
  int threads = 1;
  double seconds = 0.3;
  std::string kernel;
  std::vector<std::string> networks{"resnet20", "resnet18"};
  double tune = 0;
  int samples = 50;
  int bits = 8;
  std::string out;
  std::uint64_t check = 0;
  std::uint64_t from = 0;
  BenchIntegers integers;
  BenchStore store;
  BenchStrategies strategies;
  std::string study;
  int trials = 0;
};

SiteLoad conv(std::int64_t ci, std::int64_t co, std::int64_t side, std::int64_t stride, std::int64_t count) {
  return conv_load({ci, co, side, side, stride}, count);
}

/// The sites at which Canvas's sampler was measured, and others. Sources: He et al., ResNet (arXiv 1512.03385), table
/// 1; Guo et al., VAN (arXiv 2202.09741), table 2, "tiny".
std::vector<std::pair<std::string, std::vector<SiteLoad>>> site_sets() {
  const std::vector<SiteLoad> resnet18{conv(64, 64, 56, 1, 4), conv(128, 128, 28, 1, 3), conv(256, 256, 14, 1, 3),
                                       conv(512, 512, 7, 1, 3)};
  std::vector<SiteLoad> strided = resnet18;
  for (const SiteLoad& load : {conv(64, 128, 28, 2, 1), conv(128, 256, 14, 2, 1), conv(256, 512, 7, 2, 1)})
    strided.push_back(load);
  return {
      {"resnet18", resnet18},
      {"resnet18-32x32",
       {conv(64, 64, 32, 1, 4), conv(128, 128, 16, 1, 3), conv(256, 256, 8, 1, 3), conv(512, 512, 4, 1, 3)}},
      {"van-tiny", {conv(32, 32, 56, 1, 3), conv(64, 64, 28, 1, 3), conv(160, 160, 14, 1, 5), conv(256, 256, 7, 1, 2)}},
      {"resnet18-strided", strided}};
}

nlohmann::json to_json(const std::string& sites, const std::string& primitives, const std::string& budget,
                       const SamplerBench& bench) {
  nlohmann::json shares = nlohmann::json::object();
  const auto kinds = bench.spectrum.kind_shares();
  for (std::size_t i = 0; i < kinds.size(); ++i) shares[std::string(catalog()[i]->name)] = kinds[i];
  nlohmann::json lengths = nlohmann::json::object();
  for (const auto& [length, count] : bench.spectrum.lengths())
    lengths[std::to_string(length)] = static_cast<double>(count) / static_cast<double>(bench.spectrum.kernels());
  return {{"sites", sites},
          {"primitives", primitives},
          {"budget", budget},
          {"attempts", bench.attempts},
          {"legal", bench.legal},
          {"legal_per_cpu_second", bench.legal_per_cpu_second},
          {"legal_per_cpu_second_warm", bench.legal_per_cpu_second_warm},
          {"identified_per_cpu_second", bench.identified_per_cpu_second},
          {"two_threads_speedup", bench.two_threads_speedup},
          {"share_legal", bench.share_legal()},
          {"share_distinct", bench.share_distinct()},
          {"duplicates_by_form", bench.same_form},
          {"duplicates_by_fingerprint", bench.same_function},
          {"told_apart_in_reals", bench.told_apart},
          {"without_fingerprint", bench.unidentified},
          {"yielded_per_cpu_second", bench.yielded_per_cpu_second},
          {"share_yielded",
           static_cast<double>(bench.yielded) / static_cast<double>(std::max<std::uint64_t>(bench.yielded_of, 1))},
          {"yielded_labelled", bench.yielded_labelled},
          {"share_yielded_blind", bench.share_yielded_blind},
          {"share_yielded_idle", bench.share_yielded_idle},
          {"use_p1", bench.use_p1},
          {"use_p10", bench.use_p10},
          {"use_p50", bench.use_p50},
          {"width_ratio_p90", bench.width_ratio_p90},
          {"share_with_free_symbols", bench.share_with_free_symbols},
          {"share_forced_steps", bench.share_forced_steps},
          {"share_composite_steps", bench.share_composite_steps},
          {"mutated_per_cpu_second", bench.mutated_per_cpu_second},
          {"share_mutated", bench.share_mutated},
          {"crossed_per_cpu_second", bench.crossed_per_cpu_second},
          {"share_crossed", bench.share_crossed},
          {"shapes", bench.shapes},
          {"moves", bench.moves},
          {"mean_primitives", bench.spectrum.mean_length()},
          {"entropy_kinds", bench.spectrum.kind_entropy()},
          {"entropy_pairs", bench.spectrum.pair_entropy()},
          {"effective_skeletons", bench.effective_skeletons},
          {"skeletons_of", bench.skeletons_of},
          {"labelled", bench.labelled},
          {"share_blind", bench.share_blind},
          {"share_mixing", bench.share_mixing},
          {"share_neighbourhood", bench.share_neighbourhood},
          {"share_global", bench.share_global},
          {"share_linear", bench.share_linear},
          {"share_idle", bench.share_idle},
          {"kinds", shares},
          {"lengths", lengths},
          {"seed", bench.seed}};
}

std::vector<std::string> row(const std::string& sites, const std::string& primitives, const std::string& budget,
                             const SamplerBench& bench) {
  const auto percent = [](double share) { return fmt::format("{:.1f}", 100.0 * share); };
  return {sites,
          primitives,
          budget,
          grouped(static_cast<std::int64_t>(bench.legal_per_cpu_second)),
          grouped(static_cast<std::int64_t>(bench.legal_per_cpu_second_warm)),
          grouped(static_cast<std::int64_t>(bench.identified_per_cpu_second)),
          percent(bench.share_legal()),
          percent(bench.share_distinct()),
          budget == "none" ? "-" : fmt::format("{:.2f}", bench.use_p10),
          fmt::format("{:.2f}", bench.spectrum.kind_entropy()),
          grouped(static_cast<std::int64_t>(bench.effective_skeletons)),
          percent(bench.share_neighbourhood),
          percent(bench.share_global),
          percent(bench.share_linear),
          percent(bench.share_idle),
          percent(bench.share_blind)};
}

/// What `kernels` and `nests` have in common.
template <typename Bench>
Bench sampled_bench(const BenchCommand& options) {
  Bench bench;
  const std::string sites = options.sites.empty() ? "resnet18-32x32" : options.sites;
  for (auto& [name, loads] : site_sets())
    if (name == sites) bench.loads = std::move(loads);
  std::tie(bench.sampling.limits.min_primitives, bench.sampling.limits.max_primitives) =
      parse_range(options.primitives.empty() ? "3..8" : options.primitives);
  bench.sampling.limits.composites = options.composites;
  bench.sampling.budget = sampling_budget(options.budget);
  bench.seed = options.seed;
  bench.count = options.count;
  bench.batch = options.batch;
  bench.kernel = options.kernel;
  bench.json = options.json;
  return bench;
}

int run_kernels(const BenchCommand& options) {
  auto bench = sampled_bench<BenchKernels>(options);
  bench.threads = options.threads;
  bench.seconds = options.seconds;
  return bench_kernels(bench);
}

int run_nests(const BenchCommand& options) {
  auto bench = sampled_bench<BenchNests>(options);
  bench.samples = options.samples;
  return bench_nests(bench);
}

int run_training(const BenchCommand& options) {
  const auto sampled = sampled_bench<BenchKernels>(options);
  BenchTraining bench;
  bench.network = options.networks.front();
  bench.sampling = sampled.sampling;
  bench.seed = options.seed;
  bench.count = options.count;
  bench.batch = options.batch > 1 ? options.batch : bench.batch;
  bench.seconds = options.seconds;
  bench.kernel = options.kernel;
  bench.plans = options.plans;
  bench.json = options.json;
  return bench_training(bench);
}

int run_sampler(const BenchCommand& options) {
  const auto sets = site_sets();
  Table table({{"sites", "", Table::Align::left},
               {"primitives", "", Table::Align::left},
               {"budget", "", Table::Align::left},
               {"legal", "1/CPU s"},
               {"warm", "1/CPU s"},
               {"identified", "1/CPU s"},
               {"legal", "%"},
               {"distinct", "%"},
               {"use p10", ""},
               {"kinds", "bit"},
               {"skeletons", ""},
               {"neighbours", "%"},
               {"global", "%"},
               {"linear", "%"},
               {"idle", "%"},
               {"blind", "%"}});
  std::vector<std::string> examples;
  const std::vector<std::string> lengths =
      options.primitives.empty() ? std::vector<std::string>{"5..25", "3..6"} : std::vector{options.primitives};
  const std::vector<std::string> budgets = options.budget.empty()
                                               ? std::vector<std::string>{"macs=0.1..0.5,params=0.1..0.5", "none"}
                                               : std::vector{options.budget};
  for (const auto& [sites, loads] : sets) {
    if (!options.sites.empty() && sites != options.sites) continue;
    for (const std::string& primitives : lengths) {
      for (const std::string& budget : budgets) {
        SampleOptions sampling;
        std::tie(sampling.limits.min_primitives, sampling.limits.max_primitives) = parse_range(primitives);
        sampling.limits.composites = options.composites;
        sampling.budget = sampling_budget(budget);
        const Sampler sampler(catalog(), loads, sampling, options.seed);
        if (options.check > 0) {
          const std::string name = fmt::format("{} {} {}", sites, primitives, budget);
          const int code = bench_check(sampler, {name, options.from, options.check, options.threads, options.json});
          if (code != 0) return code;
          continue;
        }
        const SamplerBench bench = bench_sampler(sampler, options.attempts);
        if (options.json) {
          fmt::print("{}\n", to_json(sites, primitives, budget, bench).dump());
          std::fflush(stdout);
        } else {
          table.row(row(sites, primitives, budget, bench));
        }
        if (examples.empty()) examples = bench.examples;
      }
    }
  }
  if (options.json || options.check > 0) return 0;
  fmt::print("{}", table.str());
  for (const std::string& text : examples) fmt::print("\n{}", text);
  return 0;
}

struct Benchmark {
  std::string_view name;
  int (*run)(const BenchCommand& options);
};

constexpr std::array benchmarks{
    Benchmark{"sampler", run_sampler},
    Benchmark{"kernels", run_kernels},
    Benchmark{"nests", run_nests},
    Benchmark{"training", run_training},
    Benchmark{
        "roofline",
        [](const BenchCommand& of) { return bench_roofline({of.networks, of.batch, of.tune, of.samples, of.json}); }},
    Benchmark{"int8",
              [](const BenchCommand& of) {
                return bench_int8({of.networks, {of.batch}, of.bits, of.seconds, of.tune, of.out, of.json});
              }},
    Benchmark{"integers",
              [](const BenchCommand& of) {
                BenchIntegers bench = of.integers;
                bench.network = of.networks.front();
                bench.folder = of.out;
                bench.seed = of.seed;
                bench.json = of.json;
                return bench_integers(bench);
              }},
    Benchmark{"cosearch", [](const BenchCommand& of) { return bench_cosearch(of.seed); }},
    Benchmark{"store",
              [](const BenchCommand& of) {
                BenchStore bench = of.store;
                bench.study = of.study;
                if (of.trials > 0) bench.trials = of.trials;
                bench.json = of.json;
                return bench_store(bench);
              }},
    Benchmark{"strategies",
              [](const BenchCommand& of) {
                BenchStrategies bench = of.strategies;
                bench.study = of.study;
                if (of.trials > 0) bench.trials = of.trials;
                bench.threads = of.threads;
                bench.seed = of.seed;
                bench.json = of.json;
                return bench_strategies(bench);
              }},
    Benchmark{"evaluator", [](const BenchCommand& of) { return bench_evaluator({of.seconds, of.json}); }}};

int run(const BenchCommand& options) {
  std::vector<std::string> sites;
  for (const auto& [name, loads] : site_sets()) sites.push_back(name);
  if (!options.sites.empty() && std::ranges::find(sites, options.sites) == sites.end())
    throw input_error("unknown sites `{}`, {}", options.sites, suggestion(options.sites, sites));
  std::string known;
  for (const Benchmark& benchmark : benchmarks) {
    if (benchmark.name == options.what) return benchmark.run(options);
    const bool last = &benchmark == &benchmarks.back();
    known += fmt::format("{}`{}`", known.empty() ? "" : last ? " and " : ", ", benchmark.name);
  }
  throw input_error("unknown benchmark `{}`, there are {}", options.what, known);
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("bench", "measures the sampler, or generated C");
  auto options = std::make_shared<BenchCommand>();
  command
      ->add_option("what", options->what,
                   "sampler; kernels: speed as generated C, in eager PyTorch, and beside the convolution; nests: "
                   "what their loop nests take beside what a core can do; training: steps through kernels as "
                   "compiled C beside ATen; roofline: "
                   "contractions of networks against what a core can do; int8: quantised networks beside floats; "
                   "integers: inference in integers beside the same rules in double precision; "
                   "cosearch: the joint search where the optimum is known; store: a study of many trials; "
                   "strategies: how many trials each strategy of a search takes, on a table of trained kernels; "
                   "evaluator: mappings that the accelerator engine "
                   "costs in a second")
      ->capture_default_str();
  command->add_option("--attempts", options->attempts, "for each row of the table")->capture_default_str();
  command->add_option("--sites", options->sites, "only this row: resnet18, resnet18-32x32, van-tiny, resnet18-strided");
  command->add_option("--primitives", options->primitives, "range such as 5..25 (default: 5..25 and 3..6)");
  command->add_option("--budget", options->budget, "or `none` (default: macs=0.1..0.5,params=0.1..0.5, and none)");
  command->add_option("--composites", options->composites, "weight of each composite, against primitives; 0: none")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "first seed")->capture_default_str();
  command->add_option("--count", options->count, "kernels, nests, training: how many")->capture_default_str();
  command->add_option("--kernel", options->kernel,
                      "kernels, nests, training: the one of this file instead of sampled ones");
  command
      ->add_option("--batch", options->batch,
                   "kernels, nests, roofline, int8: images per run; training: per step, 1 stands for 128")
      ->capture_default_str();
  command->add_option("--bits", options->bits, "int8: of weights and activations, 2 to 8")->capture_default_str();
  command->add_option("--out", options->out,
                      "int8: a folder for the quantised programs, one for each network; integers: a folder of what is "
                      "done, where the same command goes on");
  command->add_option("--data", options->integers.data, "integers: as for `kasimir search`")->capture_default_str();
  command->add_option("--weights", options->integers.weights, "integers: of the first of --networks; default: random");
  command->add_option("--images", options->integers.images, "integers: test images for each network")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--kernels", options->integers.kernels,
                   "integers: networks with a sampled kernel in place of the convolutions")
      ->capture_default_str();
  command
      ->add_option("--threads", options->threads,
                   "kernels: threads of both; sampler --check, strategies: the speed only")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command->add_option("--check", options->check,
                      "sampler: instead of measuring, check so many kernels of each row by their stages, in whole "
                      "numbers and apart from what sampled them; exit code 70 if one is not what was claimed");
  command->add_option("--from", options->from, "sampler --check: the attempt to begin with")->capture_default_str();
  command
      ->add_option(
          "--seconds", options->seconds,
          "kernels, training: time for samples, for each kernel and site; evaluator: for each number; int8: for each "
          "row")
      ->capture_default_str();
  command
      ->add_option("--networks", options->networks,
                   "roofline, int8, integers and training (the first): of the zoo; int8: also with a size, "
                   "resnet18-32x32")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--tune", options->tune, "roofline, int8: seconds of tuning for each network")
      ->capture_default_str();
  command->add_option("--samples", options->samples, "nests, roofline: runs, the fastest of each nest counts")
      ->capture_default_str();
  command->add_option("--study", options->study,
                      "store: a new one, kept (default: a file that is removed); strategies: whose candidates are the "
                      "table");
  command
      ->add_option("--trials", options->trials,
                   fmt::format("store: how many (default {}); strategies: of each search (default {})",
                               BenchStore{}.trials, BenchStrategies{}.trials))
      ->check(CLI::Range(10, 100'000'000));
  command->add_option("--table", options->strategies.table, "strategies: a file of kernels that were trained alike");
  command->add_option("--write", options->strategies.write, "strategies: a file for the table of --study, no more");
  command->add_option("--strategies", options->strategies.strategies, "strategies: these, and random (default: all)")
      ->delimiter(',');
  command->add_flag("--without-scores", options->strategies.without_scores,
                    "strategies: they are not told of zero-cost scores");
  command->add_option("--repeats", options->strategies.repeats, "strategies: searches of each")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_flag("--plans", options->plans, "training: print the loop nests of both passes");
  command->add_flag("--json", options->json, "one object per row and line");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
