// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/enumerate.h"
#include "kasimir/find.h"
#include "kasimir/options.h"
#include "kasimir/sampling.h"
#include "kasimir/search_spec.h"
#include "kasimir/sites.h"

#include "kasimir/base/files.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"

#include <ctime>
#include <filesystem>

namespace kasimir {
namespace {

struct SampleCommand {
  CommonOptions common;
  std::size_t count = 10;
  std::uint64_t most_attempts = 0;
  int threads = 1;
  bool stats = false;
  bool json = false;
  std::string out;
  FindOptions find;
  int enumerate = 0;
  std::size_t estimate = 0;
  double composites = GrowthLimits{}.composites;
  double successor_share = GrowthLimits{}.successor_share;
  std::string successors;
  std::string seen;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void print_seen(const SampleStats& stats, const SeenSet& seen) {
  const auto count = [&](Novelty novelty) {
    return grouped(static_cast<std::int64_t>(stats.seen[static_cast<std::size_t>(novelty)]));
  };
  fmt::print(
      "seen before, here or in earlier runs: {} by normal form, {} by function; {} more were cheaper than what "
      "was seen, {} seemed to compute the same and differ in real numbers; {} kernels are known now\n",
      count(Novelty::same_form), count(Novelty::same_function), count(Novelty::cheaper), count(Novelty::told_apart),
      grouped(static_cast<std::int64_t>(seen.records())));
}

/// A set in the file for kernels of the sampler; says what it has cut off.
std::unique_ptr<SeenSet> open_seen(const std::string& file, const Sampler& sampler) {
  if (file.empty()) return nullptr;
  auto seen = std::make_unique<SeenSet>(file, sampler.space());
  if (seen->dropped_bytes() > 0)
    fmt::print(stderr, "note: {} ended in {} bytes of a record that was not written whole; they were cut off\n", file,
               seen->dropped_bytes());
  return seen;
}

void print_stats(const SampleStats& stats, std::size_t kept, double seconds) {
  const auto share = [&](std::uint64_t n) {
    return stats.attempts == 0 ? 0.0 : 100.0 * static_cast<double>(n) / static_cast<double>(stats.attempts);
  };
  fmt::print("\n{} kernels with different texts in {} of processor time: {:.0f} legal per second\n", kept,
             duration_text(seconds), static_cast<double>(stats.legal) / std::max(seconds, 1e-9));
  fmt::print("{} attempts, {:.1f} % legal; {} texts met again, {} kernels compute the same as another one\n\n",
             stats.attempts, share(stats.legal), stats.same_text, stats.same_function);
  Table table({{"attempts ended by", "", Table::Align::left},
               {"count", ""},
               {"share", "%"},
               {"nearest miss", "", Table::Align::left}});
  for (const auto& [rule, count] : stats.rejected)
    table.row({rule, grouped(count), fmt::format("{:.1f}", share(static_cast<std::uint64_t>(count))),
               stats.nearest.at(rule)});
  fmt::print("{}", table.str());
}

int run(const SampleCommand& options) {
  const Network network =
      network_for(options.common.network, options.common.width, parse_input(options.common.input), 0);
  const auto loads = site_loads(find_sites(network, {options.common.replace, options.common.keep}));
  SampleOptions sampling;
  sampling.budget = sampling_budget(options.common.budget);
  if (!options.common.primitives.empty())
    std::tie(sampling.limits.min_primitives, sampling.limits.max_primitives) = parse_range(options.common.primitives);
  sampling.limits.max_width = options.common.max_width;
  sampling.limits.composites = options.composites;
  sampling.limits.successor_share = options.successor_share;
  if (!options.successors.empty())
    sampling.limits.successors = parse_successors(read_file(options.successors), catalog());
  sampling.limits.allow = options.common.allow;
  sampling.limits.forbid = options.common.forbid;
  sampling.limits.require = options.common.require;
  sampling.limits.weights_may_depend_on_resolution = options.common.allow_resolution;
  sampling.wanted.channel_mixing = !options.common.allow_unmixed;
  sampling.wanted.neighbourhood = !options.common.allow_pointwise;
  sampling.wanted.labels = parse_label_rules(options.common.want);
  if (!options.find.file.empty()) {
    FindOptions find = options.find;
    find.threads = options.threads;
    find.json = options.json;
    if (options.most_attempts > 0) find.most_attempts = options.most_attempts;
    return find_kernel(loads, sampling, options.common.primitives.empty(), options.common.seed, find);
  }
  const Sampler sampler(catalog(), loads, sampling, options.common.seed);
  if (options.enumerate > 0) return enumerate_kernels(sampler, options.enumerate, options.estimate, options.json);
  if (!options.out.empty()) make_folder(options.out);

  const auto seen = open_seen(options.seen, sampler);
  std::size_t kept = 0;
  const double start = cpu_seconds();
  const std::uint64_t most = options.most_attempts > 0 ? options.most_attempts : 2000 * options.count + 20000;
  const auto print = [&](const Sampled& sampled) {
    ++kept;
    const std::string text = str(sampled.kernel);
    if (!options.out.empty()) {
      write_file(std::filesystem::path(options.out) / (sampled.kernel.name + ".txt"), text);
    } else if (options.json) {
      fmt::print("{}\n", nlohmann::json{{"kernel", text},
                                        {"attempt", sampled.attempt},
                                        {"macs", sampled.cost.macs},
                                        {"params", sampled.cost.params}}
                             .dump());
    } else if (!options.stats || options.count <= 20) {
      fmt::print("{}\n", text);
    }
  };
  const SampleStats stats = sample(sampler, options.count, most, options.threads, print, seen.get());
  if (options.stats) print_stats(stats, kept, cpu_seconds() - start);
  if (options.stats && seen) print_seen(stats, *seen);
  if (kept == options.count) return 0;
  throw nothing_found(sampler, stats, kept, options.count);
}

}  // namespace

void add_sample(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("sample", "draws random kernels that fit a network and a budget");
  auto options = std::make_shared<SampleCommand>();
  add_network_options(*command, options->common);
  add_kernel_options(*command, options->common);
  command->add_option("--input", options->common.input,
                      "image size such as 3x224x224 (default: what the network was published for)");
  command->add_option("--count", options->count, "how many kernels")->capture_default_str();
  command->add_option("--attempts", options->most_attempts, "give up after so many attempts");
  command->add_option("--threads", options->threads, "changes the speed only, never the kernels")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command->add_flag("--stats", options->stats, "speed, share of attempts that are legal, and what ended the others");
  command->add_flag("--json", options->json, "one object per line");
  command
      ->add_option("--composites", options->composites,
                   "how often each composite (gate, attention, bottleneck, ..) is tried as one draw, if a primitive of "
                   "weight 1 is tried once; 0: never")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1000.0));
  CLI::Option* share = command
                           ->add_option("--successor-share", options->successor_share,
                                        "share of the draws that choose a tensor first, then a primitive that follows "
                                        "what made it in known kernels")
                           ->capture_default_str()
                           ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--successors", options->successors,
                   "file with lines of PRODUCER CONSUMER WEIGHT in place of those of examples/kernels")
      ->needs(share);
  command->add_option("--out", options->out, "write each kernel to a file in this folder");
  command->add_option("--find", options->find.file,
                      "draw until a kernel computes the same as the one in this file; 1,000,000 attempts at most, or "
                      "--attempts");
  command->add_option("--hits", options->find.hits, "with --find: go on until so many are found")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--enumerate", options->enumerate,
                   "count all kernels of up to so many primitives instead, without a budget; more than two take "
                   "long unless --allow or --forbid leave few kinds")
      ->check(CLI::Range(1, 8));
  command
      ->add_option("--estimate", options->estimate,
                   "with --enumerate: estimate the last length from so many kernels without their last step, drawn at "
                   "random")
      ->check(CLI::Range(2, 100'000'000))
      ->needs("--enumerate");
  command
      ->add_option("--seen", options->seen,
                   "file of kernels that were seen in earlier runs: those, and others that compute the same, are "
                   "left out unless they are cheaper; new ones are added to it")
      ->excludes("--find")
      ->excludes("--enumerate");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
