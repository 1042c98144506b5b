// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/site_costs.h"
#include "kasimir/stop.h"
#include "kasimir/study_work.h"
#include "kasimir/trial_plan.h"

#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/study/ladder.h"
#include "kasimir/train/machine.h"

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

struct AssignCommand {
  std::string study;
  SiteTuning tuning;
  std::vector<double> latency;
  std::vector<std::string> sites;
  int workers = 0;
  bool only_plan = false;
};

/// The trials whose kernels are offered: those that were trained in full, in the order of finalists.
std::vector<int> offered(const study::Store& store, const std::string& study) {
  std::vector<study::RungResult> results = store.results(study::Rung::full);
  std::erase_if(results, [&](const study::RungResult& result) {
    return result.trial == 0 || study::is_assignment(store.trial(result.trial).kernel);
  });
  if (results.empty())
    throw input_error("study {} has no finalist whose kernel could stand anywhere", study)
        .note("`kasimir study show` says what became of its candidates");
  return study::rank(results, results.size());
}

void check_finished(const study::Store& store, const std::string& study) {
  const int phase = store.info().phase;
  const bool assigning = std::ranges::any_of(store.trials(), [](const study::Trial& trial) {
    return trial.state == study::TrialState::running && study::is_assignment(trial.kernel);
  });
  if (phase < study::rung_count && !assigning)
    throw input_error("study {} is not finished: it works on {}", study, study::phase_text(phase))
        .note("let the `kasimir search` that made it go on to its end first");
}

std::string share(double value) { return fmt::format("{:+.1f}", 100 * value); }

std::string table_of(const std::vector<SiteChoices>& sites, const std::vector<int>& trials) {
  std::vector<Table::Column> columns = {{"site", "", Table::Align::left}};
  for (const int trial : trials) {
    columns.push_back({fmt::format("trial {}", trial), "latency %"});
    columns.push_back({"", "accuracy %"});
  }
  Table table(columns);
  for (const SiteChoices& site : sites) {
    std::vector<std::string> cells = {site.site};
    for (const int trial : trials) {
      const auto found = std::ranges::find(site.trials, trial);
      const bool fits = found != site.trials.end();
      const auto& option = site.options[fits ? static_cast<std::size_t>(found - site.trials.begin()) : 0];
      cells.push_back(fits ? share(option.latency) : "refused");
      cells.push_back(fits ? share(0 - option.drop) : "");
    }
    table.row(std::move(cells));
  }
  return table.str();
}

/// The latency that a kernel has at every site, by the sum; nothing if it cannot stand at one of them.
std::optional<double> everywhere(const std::vector<SiteChoices>& sites, int trial) {
  double latency = 0;
  for (const SiteChoices& site : sites) {
    const auto found = std::ranges::find(site.trials, trial);
    if (found == site.trials.end()) return std::nullopt;
    latency += site.options[static_cast<std::size_t>(found - site.trials.begin())].latency;
  }
  return latency;
}

/// A point of the front as what is trained.
struct Chosen {
  study::Assignment assignment;
  double latency = 0;  ///< predicted, of the original's; 0: chosen by hand
  double drop = 0;     ///< predicted

  /// Other kernels at different sites: anything else is a trial already.
  [[nodiscard]] bool is_mixed() const {
    return std::ranges::any_of(assignment, [this](const auto& at) { return at.second != assignment[0].second; });
  }
};

Chosen chosen_of(const std::vector<SiteChoices>& sites, const study::AssignmentPoint& point) {
  Chosen chosen{{}, 1 + point.latency, point.drop};
  for (std::size_t i = 0; i < sites.size(); ++i)
    chosen.assignment.emplace_back(sites[i].site, sites[i].trials[static_cast<std::size_t>(point.options[i])]);
  return chosen;
}

std::string counted(const study::Assignment& assignment) {
  std::map<int, int> counts;
  for (const auto& [site, trial] : assignment) ++counts[trial];
  std::vector<std::string> parts;
  for (const auto& [trial, count] : counts)
    parts.push_back(trial == 0 ? fmt::format("the original at {}", count)
                               : fmt::format("trial {} at {}", trial, count));
  return join(parts, ", ");
}

/// For each latency the assignment of the front with the least drop that is no slower.
std::vector<Chosen> choose(const std::vector<SiteChoices>& sites, const std::vector<double>& targets) {
  std::vector<std::vector<study::SiteOption>> options;
  for (const SiteChoices& site : sites) options.push_back(site.options);
  const auto front = study::assignment_front(options);
  fmt::print("{} assignments are beaten by none in the sums of both\n\n", front.size());
  std::vector<Chosen> all;
  std::set<std::string> seen;
  for (const double target : targets) {
    const auto after =
        std::ranges::find_if(front, [&](const auto& point) { return 1 + point.latency > target + 1e-9; });
    if (after == front.begin()) {
      fmt::print("at most {:.2f} of the latency: none; the fastest is predicted at {:.2f}\n", target,
                 1 + front.front().latency);
      continue;
    }
    const Chosen chosen = chosen_of(sites, *std::prev(after));
    fmt::print("at most {:.2f} of the latency: {}; predicted {:.2f}, accuracy {} points{}\n", target,
               counted(chosen.assignment), chosen.latency, share(0 - chosen.drop),
               chosen.is_mixed() ? "" : " (a trial already)");
    if (chosen.is_mixed() && seen.insert(study::str(chosen.assignment)).second) all.push_back(chosen);
  }
  return all;
}

/// An assignment by hand: "SITE=TRIAL" each, the original at all other sites.
Chosen chosen_by_hand(const std::vector<std::string>& words, const std::vector<SiteRef>& sites,
                      const std::vector<int>& trials) {
  std::vector<std::string> names;
  for (const SiteRef& site : sites) names.push_back(site.name);
  std::map<std::string, int> wanted;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    const auto number = equals == std::string::npos ? std::nullopt : parse_integer(word.substr(equals + 1));
    if (!number) throw input_error("--sites has `{}`, needed is SITE=TRIAL, such as {}={}", word, names[0], trials[0]);
    const std::string name = word.substr(0, equals);
    if (std::ranges::find(names, name) == names.end())
      throw input_error("--sites names `{}`, which is no site of the search, {}", name, suggestion(name, names));
    if (*number != 0 && std::ranges::find(trials, static_cast<int>(*number)) == trials.end())
      throw input_error("--sites names trial {}, which is no finalist", *number)
          .note(fmt::format("finalists with a kernel are {}; 0 is the original", fmt::join(trials, ", ")));
    wanted[name] = static_cast<int>(*number);
  }
  Chosen chosen;
  for (const std::string& name : names) chosen.assignment.emplace_back(name, wanted.contains(name) ? wanted[name] : 0);
  return chosen;
}

/// By measured costs. Nothing if it was stopped.
std::optional<std::vector<Chosen>> chosen_by_costs(const AssignCommand& options, const Evaluator& evaluator,
                                                   const std::vector<int>& trials, const std::atomic<int>& stop) {
  SiteCosts costs(options.study, evaluator, options.tuning, stop);
  if (!costs.measure(trials)) return std::nullopt;
  const std::vector<SiteChoices> sites = costs.choices(trials);
  fmt::print("\nof the original's latency and accuracy, one site replaced\n\n{}\n", table_of(sites, trials));
  std::vector<double> targets = options.latency;
  if (targets.empty())
    for (const int trial : trials)
      if (const auto latency = everywhere(sites, trial)) targets.push_back(1 + *latency);
  return choose(sites, targets);
}

study::Proposal proposal_of(const Chosen& chosen, const Evaluator& evaluator) {
  study::Trial trial;
  trial.number = 1;
  study::Proposal proposal;
  trial.kernel = proposal.kernel = study::str(chosen.assignment);
  std::vector<std::string> trials;
  for (const auto& [site, number] : chosen.assignment) trials.push_back(std::to_string(number));
  proposal.hash = "sites:" + join(trials, ",");
  proposal.origin = {{"strategy", "assign"}};
  if (chosen.latency > 0)
    proposal.origin.update({{"predicted latency", chosen.latency}, {"predicted drop of accuracy", chosen.drop}});
  const auto& sites = evaluator.selection().replaced;
  const HostCosts host(evaluator.network(), sites);
  proposal.replaced = counts_at(evaluator.plan_of(trial), sites);
  proposal.network = host.with(proposal.replaced);
  proposal.budget_use = {
      {"macs", static_cast<double>(proposal.replaced.macs) / static_cast<double>(host.replaced.macs)},
      {"params", static_cast<double>(proposal.replaced.params) / static_cast<double>(host.replaced.params)}};
  return proposal;
}

/// Its trials begin as finalists. False: there is nothing to train.
bool add_trials(study::Store& store, const std::vector<Chosen>& chosen, const Evaluator& evaluator) {
  for (const Chosen& one : chosen) {
    const auto number =
        store.add_finalist(proposal_of(one, evaluator), evaluator.spec().ladder.finalist_seeds, study::wall_clock());
    if (number) fmt::print("trial {}: {}\n", *number, counted(one.assignment));
  }
  return store.info().phase < study::rung_count;
}

int run(const AssignCommand& options) {
  const std::atomic<int>& stop = catch_interrupts();
  set_threads(1);
  auto store = study::Store::join(options.study);
  const SearchSpec spec = SearchSpec::from_json(store.info().spec);
  check_finished(store, options.study);
  const std::vector<int> trials = offered(store, options.study);
  Evaluator evaluator(spec);
  evaluator.belongs_to(options.study);
  const auto stopped = [] {
    fmt::print("stopped; the same command goes on from here\n");
    return 0;
  };
  const auto chosen = options.sites.empty()
                          ? chosen_by_costs(options, evaluator, trials, stop)
                          : std::vector{chosen_by_hand(options.sites, evaluator.selection().replaced, trials)};
  if (!chosen) return stopped();
  if (options.only_plan) return 0;
  if (!add_trials(store, *chosen, evaluator)) {
    fmt::print("nothing to train: all of these are trials already\n");
    return 0;
  }
  const int workers = options.workers > 0 ? options.workers : spec.ladder.workers;
  if (work_and_report(options.study, {workers, false, ""}, stop) == study::WorkerEnd::stopped) return stopped();
  return 0;
}

}  // namespace

void add_assign(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("assign", "different kernels at different sites: a second stage after a search");
  auto options = std::make_shared<AssignCommand>();
  command->footer(
      "Puts each finalist's kernel, or the original, at each site alone: measures the network's latency and, after a\n"
      "short training from the trained original, what accuracy it costs. Of all assignments the exact front of both\n"
      "sums is found; the best for each latency is trained like a finalist and becomes a trial of the study. Stop at\n"
      "any time with Ctrl-C: the same command goes on.");
  command->add_option("study", options->study, study_help)->required();
  command
      ->add_option("--latency", options->latency,
                   "latencies to hold, as shares of the original's, such as 0.5,0.7 (default: those that the finalists "
                   "are predicted to have everywhere)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--sites", options->sites,
                   "an assignment by hand, without any measuring: SITE=TRIAL,SITE=TRIAL; the original at all others")
      ->delimiter(',');
  command->add_option("--tune-images", options->tuning.images, "training images of a short training, 0 for all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--tune-epochs", options->tuning.epochs, "its epochs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--tune-rate", options->tuning.rate, "its highest rate, as a share of the search's")
      ->check(CLI::Range(1e-6, 10.0))
      ->capture_default_str();
  command->add_flag("--only-plan", options->only_plan, "measure and print, but train nothing");
  command->add_option("--workers", options->workers, "worker processes of one thread (default: as the search had)");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
