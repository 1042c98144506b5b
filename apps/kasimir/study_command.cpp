// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/cosearch_folder.h"
#include "kasimir/evaluate.h"
#include "kasimir/study_correlate.h"
#include "kasimir/study_watch.h"

#include "kasimir/base/error.h"
#include "kasimir/report/listing.h"
#include "kasimir/study/ladder_config.h"
#include "kasimir/study/store.h"

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

struct StudyCommand {
  std::string path;
  bool json = false;
  bool csv = false;
};

int show(const StudyCommand& options) {
  if (is_cosearch_folder(options.path)) {
    fmt::print("{}", cosearch_listing(options.path, options.json, options.csv));
    return 0;
  }
  const auto store = study::Store::view(options.path);
  if (options.json) {
    fmt::print("{}", report::study_json(store));
  } else if (options.csv) {
    fmt::print("{}", report::study_csv(store));
  } else {
    fmt::print("{}\n{}", report::study_table(store).str(), report::rejection_table(store).str());
  }
  return 0;
}

/// Files in the folder of weights that no finished job of the study has, and half-written ones that nobody writes.
std::vector<std::filesystem::path> stray_weights(const study::Store& store) {
  std::set<std::filesystem::path> kept;
  bool writing = false;
  for (const study::Job& job : store.jobs()) {
    if (job.rung != study::Rung::full) continue;
    writing = writing || job.state == study::JobState::leased;
    if (job.accuracy) kept.insert(weights_path(store.place(), job.trial, job.seed));
  }
  std::vector<std::filesystem::path> stray;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(store.place().beside(".weights"), none)) {
    const auto& file = entry.path();
    if (file.extension() == ".part" ? !writing : file.extension() == ".pt" && !kept.contains(file))
      stray.push_back(file);
  }
  std::ranges::sort(stray);
  return stray;
}

int collect_garbage(const std::string& path) {
  study::Store store = study::Store::join(path);
  const int max_lost = study::LadderConfig::from_json(store.info().spec.at("ladder")).max_lost;
  const double now = study::wall_clock();
  const int given_back = store.requeue_dead_local(now, max_lost) + store.requeue_expired(now, max_lost);
  fmt::print("jobs of vanished workers that went back to the queue: {}\n", given_back);
  std::uintmax_t bytes = 0;
  const auto stray = stray_weights(store);
  for (const auto& file : stray) {
    bytes += std::filesystem::file_size(file);
    std::filesystem::remove(file);
    fmt::print("removed {}\n", file.string());
  }
  fmt::print("files of weights removed: {}, {:.1f} MB\n", stray.size(), 1e-6 * static_cast<double>(bytes));
  return 0;
}

void add_correlate(CLI::App& command, Action& action) {
  auto* correlated = command.add_subcommand(
      "correlate", "how well scores, counts, rungs and epochs rank the candidates: Kendall's tau with the last rung");
  auto options = std::make_shared<StudyCorrelate>();
  correlated->add_option("study", options->path, study_help)->required();
  correlated->add_option("--with", options->with, "the rung to compare with (default: the highest that enough reached)")
      ->check(CLI::IsMember({"quick", "longer", "full"}));
  correlated->add_option("--least", options->least, "candidates that a row takes")
      ->check(CLI::Range(3, 1'000'000))
      ->capture_default_str();
  correlated->add_option("--repeats", options->repeats, "drawings of the bootstrap")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  correlated->add_option("--seed", options->seed, "of these drawings")->capture_default_str();
  correlated->add_flag("--json", options->json, "one object per row and line");
  correlated->callback([options, &action] { action = [options] { return correlate(*options); }; });
}

}  // namespace

void add_study(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("study", "looks into a study");
  command->require_subcommand(1);
  auto* shown = command->add_subcommand("show", "the trials as a table");
  auto options = std::make_shared<StudyCommand>();
  shown->add_option("study", options->path, study_help)->required();
  shown->add_flag("--json", options->json,
                  "one object per trial and line, with state, kernel, accuracy, latency_ms, macs, params, reason");
  shown->add_flag("--csv", options->csv, "comma-separated values with a header");
  shown->callback([options, &action] { action = [options] { return show(*options); }; });
  auto* watched = command->add_subcommand("watch", "a study in the terminal while it runs, until it ends or Ctrl-C");
  auto watching = std::make_shared<StudyWatch>();
  watched->add_option("study", watching->path, study_help)->required();
  watched->add_option("--every", watching->every,
                      "seconds between looks, such as 5s (default 2s; 60s where the output is no terminal)");
  watched->callback([watching, &action] { action = [watching] { return watch(*watching); }; });
  add_correlate(*command, action);
  auto* collected = command->add_subcommand(
      "gc", "gives back the jobs of vanished workers, and removes weights that no finished training of the study has");
  collected->add_option("study", options->path, study_help)->required();
  collected->callback([options, &action] { action = [options] { return collect_garbage(options->path); }; });
}

}  // namespace kasimir
