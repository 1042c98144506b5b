// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_strategies.h"

#include "kasimir/search_spec.h"
#include "kasimir/sites.h"
#include "kasimir/strategy_table.h"

#include "kasimir/base/files.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/base/threads.h"
#include "kasimir/network/sites.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/machine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kasimir {
namespace {

/// Tries of a strategy until it names a row.
constexpr int most_tries = 200;

/// What the rows were drawn from, so that kernels can be bred from them.
struct Place {
  SearchSpec spec;
  Network network;
  Selection selection;
  HostCosts host;
  Sampler sampler;

  explicit Place(const nlohmann::json& json)
      : spec(SearchSpec::from_json(json)),
        network(network_for(spec.network, spec.width,
                            {json.at("input").at(0).get<std::int64_t>(), json.at("input").at(1).get<std::int64_t>(),
                             json.at("input").at(2).get<std::int64_t>()},
                            json.at("classes").get<std::int64_t>())),
        selection(select_sites(network, {spec.replace, spec.keep})),
        host(network, selection.replaced),
        sampler(catalog(), site_loads(selection.replaced), spec.sample_options(), spec.seed) {}
};

/// The share of the whole table's hypervolume after each trial.
using Curve = std::vector<double>;

struct Bench {
  const StrategyTable& table;
  const BenchStrategies& options;
  const Place& place;
  study::Point reference;
  double whole = 1;

  Curve run(const Strategy& strategy, int repeat, SampleMemory& memory, TrainedKernels& trained) const {
    SamplerSource breed(place.sampler, memory, trained, table.facts());
    const std::uint64_t seed = mix_bits(options.seed * 1'000'003 + static_cast<std::uint64_t>(repeat));
    TableSource source(table, breed, seed);
    History history;
    history.original = table.original;
    std::vector<study::Point> points;
    Curve curve;
    std::uint64_t attempt = static_cast<std::uint64_t>(repeat) << 32U;
    for (int trial = 1; trial <= options.trials; ++trial) {
      std::optional<Idea> idea;
      for (int i = 0; i < most_tries && !idea; ++i)
        if (auto tried = strategy.propose({source, seed, trial, attempt++, history}); tried.ok())
          idea = *std::move(tried);
      if (!idea) {
        const auto any = source.drawn(attempt++);
        KASIMIR_CHECK(any.ok(), "the table has {} rows, and none is left", table.rows.size());
        idea = *any;
      }
      const StrategyTable::Row& row = source.row(*idea);
      source.take(*idea);
      points.push_back(row.point);
      const auto at = std::ranges::upper_bound(history.parents, row.point.accuracy, std::ranges::greater{},
                                               [](const Parent& parent) { return parent.point.accuracy; });
      history.parents.insert(at, {row.trial, row.point});
      curve.push_back(study::hypervolume(points, reference) / whole);
    }
    return curve;
  }
};

/// Mean and the half of its 95 % interval, by the normal distribution.
struct MeanOf {
  double mean = 0, half = 0;
};

MeanOf mean_at(const std::vector<Curve>& curves, std::size_t trial) {
  MeanOf found;
  for (const Curve& curve : curves) found.mean += curve[trial] / static_cast<double>(curves.size());
  double squares = 0;
  for (const Curve& curve : curves) squares += (curve[trial] - found.mean) * (curve[trial] - found.mean);
  if (curves.size() > 1)
    found.half =
        1.96 * std::sqrt(squares / static_cast<double>(curves.size() - 1) / static_cast<double>(curves.size()));
  return found;
}

/// The first trial by which the mean over repetitions reaches a share; 0: none does.
int first_with(const std::vector<Curve>& curves, double share) {
  for (std::size_t trial = 0; trial < curves.front().size(); ++trial)
    if (mean_at(curves, trial).mean >= share) return static_cast<int>(trial) + 1;
  return 0;
}

std::vector<const Strategy*> chosen_strategies(const std::vector<std::string>& names) {
  std::vector<const Strategy*> chosen;
  for (const std::string& name : names) chosen.push_back(&strategy_named(name));
  if (names.empty())
    for (const Strategy& strategy : strategies()) chosen.push_back(&strategy);
  // What the others are measured by.
  const Strategy& random = strategy_named("random");
  std::erase_if(chosen, [&](const Strategy* one) { return one->name == random.name; });
  chosen.insert(chosen.begin(), &random);
  return chosen;
}

void print(const BenchStrategies& options, const StrategyTable& table, const std::vector<const Strategy*>& chosen,
           const std::vector<std::vector<Curve>>& curves) {
  const double goal = mean_at(curves.front(), static_cast<std::size_t>(options.trials) - 1).mean;
  std::vector<int> marks;
  for (const int part : {6, 3, 2, 1}) marks.push_back(std::max(1, options.trials / part));
  std::vector<Table::Column> columns{{"strategy", ""}};
  for (const int mark : marks) columns.push_back({fmt::format("after {}", mark), "%"});
  columns.push_back({"as random", "trials"});
  Table rows(columns);
  for (std::size_t s = 0; s < chosen.size(); ++s) {
    const int reached = first_with(curves[s], goal);
    nlohmann::json json{{"strategy", chosen[s]->name},
                        {"repeats", options.repeats},
                        {"rows", table.rows.size()},
                        {"trials", options.trials},
                        {"trials_to_random", reached}};
    std::vector<std::string> cells{std::string(chosen[s]->name)};
    for (const int mark : marks) {
      const MeanOf at = mean_at(curves[s], static_cast<std::size_t>(mark) - 1);
      cells.push_back(fmt::format("{:.1f} ± {:.1f}", 100 * at.mean, 100 * at.half));
      json[fmt::format("hypervolume_{}", mark)] = {{"mean", at.mean}, {"half_interval", at.half}};
    }
    cells.push_back(reached > 0 ? fmt::format("{} ({:.2f})", reached, static_cast<double>(reached) / options.trials)
                                : fmt::format("> {}", options.trials));
    rows.row(cells);
    if (options.json) fmt::print("{}\n", json.dump());
  }
  if (options.json) return;
  fmt::print(
      "hypervolume of accuracy, MACs and parameters, share of that of all {} kernels, mean of {} repetitions\n\n{}",
      table.rows.size(), options.repeats, rows.str());
}

}  // namespace

int bench_strategies(const BenchStrategies& options) {
  if (options.table.empty() == options.study.empty())
    throw input_error("a table or a study is needed, and only one of them").note("--table FILE, or --study STUDY");
  StrategyTable table = options.study.empty()
                            ? StrategyTable::read(options.table)
                            : StrategyTable::from_study(study::Store::view(study::StudyPlace(options.study)));
  if (!options.write.empty()) {
    write_file(options.write, table.str());
    fmt::print("{} kernels written to {}\n", table.rows.size(), options.write);
    return 0;
  }
  if (options.trials > std::ssize(table.rows))
    throw input_error("--trials is {}, but the table has {} kernels", options.trials, table.rows.size());
  if (options.without_scores) table.spec.erase("scores");
  set_threads(1);
  const Place place(table.spec);
  TrainedKernels trained(catalog(), place.selection.replaced.front().site, place.host);
  std::vector<study::Point> all;
  for (const StrategyTable::Row& row : table.rows) {
    trained.of(row.trial, table.facts());
    all.push_back(row.point);
  }
  Bench bench{table, options, place, front_reference(table.original)};
  bench.whole = study::hypervolume(all, bench.reference);
  if (bench.whole <= 0)
    throw input_error("no kernel of the table is within {:g} points of the original's accuracy", 100 * front_depth);
  const std::vector<const Strategy*> chosen = chosen_strategies(options.strategies);
  std::vector<std::vector<Curve>> curves(chosen.size(), std::vector<Curve>(static_cast<std::size_t>(options.repeats)));
  const auto threads = static_cast<std::size_t>(options.threads);
  on_threads(threads, [&](std::size_t thread) {
    SampleMemory memory(place.sampler);
    TrainedKernels own = trained;
    std::size_t job = 0;
    for (std::size_t s = 0; s < chosen.size(); ++s)
      for (std::size_t r = 0; r < curves[s].size(); ++r)
        if (job++ % threads == thread) {
          curves[s][r] = bench.run(*chosen[s], static_cast<int>(r), memory, own);
          if (thread == 0) fmt::print(stderr, "{}, repetition {}\n", chosen[s]->name, r + 1);
        }
  });
  print(options, table, chosen, curves);
  return 0;
}

}  // namespace kasimir
