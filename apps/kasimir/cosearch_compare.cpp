// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch_compare.h"

#include "kasimir/stop.h"

#include "kasimir/base/files.h"
#include "kasimir/base/statistics.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/cosearch/baselines.h"

#include <algorithm>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

/// One finished run, as its file has it.
struct Run {
  std::string method, goal;
  std::uint64_t seed = 0;
  nlohmann::ordered_json record;
};

/// Mean and standard deviation over seeds.
std::string spread_text(const std::vector<double>& values, double factor) {
  if (values.size() < 2) return fmt::format("{:.3f}", factor * mean(values));
  return fmt::format("{:.3f} ± {:.3f}", factor * mean(values), factor * standard_deviation(values));
}

class Comparison {
 public:
  Comparison(const CosearchSpec& spec, const CompareWishes& wishes, fs::path folder)
      : spec_(spec), wishes_(wishes), folder_(std::move(folder)) {
    for (const std::string& name : wishes.methods) methods_.push_back(parse_search_method(name));
    if (methods_.empty()) methods_ = search_methods();
    goals_ = wishes.goals.empty() ? std::vector{spec.goal} : wishes.goals;
    make_folder(folder_);
  }

  int run(bool json) {
    const std::size_t all = methods_.size() * wishes_.seeds.size() * goals_.size();
    for (const std::uint64_t seed : wishes_.seeds) {
      for (const std::string& goal : goals_) {
        for (const SearchMethod method : methods_) {
          auto done = run_one(method, seed, goal);
          if (!done) {
            fmt::print(stderr, "stopped after {} of {} runs; the same command goes on\n", runs_.size(), all);
            return 130;
          }
          runs_.push_back(*std::move(done));
        }
      }
    }
    json ? print_json() : print_table();
    return 0;
  }

 private:
  CosearchSpec spec_of(std::uint64_t seed, const std::string& goal) const {
    CosearchSpec one = spec_;
    one.seed = seed;
    one.goal = goal;
    return one;
  }

  /// Nothing if it was stopped.
  std::optional<Run> run_one(SearchMethod method, std::uint64_t seed, const std::string& goal) {
    Run run{std::string(name_of(method)), goal, seed, {}};
    const fs::path file = folder_ / fmt::format("{}-{}-{}.json", run.method, seed, goal);
    const CosearchSpec spec = spec_of(seed, goal);
    if (fs::exists(file)) {
      run.record = nlohmann::ordered_json::parse(read_file(file), nullptr, false);
      if (!run.record.is_object() || run.record.value("spec", nlohmann::ordered_json()) != spec.to_json())
        throw input_error("{} is of a run with other options", file.string())
            .note("give the same options to go on, or another folder");
      return run;
    }
    CosearchSubject subject = make_subject(spec, folder_);
    MethodOptions options{.search = cosearch_options(spec, subject)};
    options.search.decode.best = static_cast<std::size_t>(std::max(spec.finalists, 8));
    options.search.should_stop = [this] { return stop_.load() != study::go_on; };
    const TrainerFactory factory = [&](std::uint64_t of) {
      SupernetOptions made = supernet_options(spec);
      made.seed = of;
      return supernet_trainer(std::make_shared<Supernet>(subject.space, subject.data.train, subject.parts, made));
    };
    const MethodResult result = run_method(method, factory, *subject.hardware, options);
    if (stop_.load() != study::go_on) return std::nullopt;
    run.record = {{"spec", spec.to_json()},
                  {"method", run.method},
                  {"unit", subject.hardware->unit()},
                  {"target", subject.goal},
                  {"reference_cost", subject.reference_cost},
                  {"spent", result.spent},
                  {"seconds", result.seconds},
                  {"accelerator_seconds", result.accelerator_seconds},
                  {"finalists", nlohmann::ordered_json::array()}};
    if (!train_finalists(spec, subject, result, run.record)) return std::nullopt;
    write_file(file, run.record.dump(1) + "\n");
    print_progress(run);
    return run;
  }

  bool train_finalists(const CosearchSpec& spec, const CosearchSubject& subject, const MethodResult& result,
                       nlohmann::ordered_json& record) {
    TrainObserver watch;
    watch.should_stop = [this] { return stop_.load() != study::go_on; };
    for (const Finalist& finalist : result.finalists) {
      if (std::ssize(record["finalists"]) == spec.finalists) break;
      const FinalScore score = train_fresh(spec, subject, fresh_network(spec, subject, finalist.design), watch);
      if (!score.model) return false;
      record["finalists"].push_back({{"design", str(finalist.design, subject.choices)},
                                     {"cost", finalist.cost},
                                     {"shared_validation", finalist.score},
                                     {"validation", score.validation.accuracy},
                                     {"test", score.test.accuracy}});
    }
    return true;
  }

  static void print_progress(const Run& run) {
    const auto* best = best_of(run);
    fmt::print(stderr, "{}, seed {}, {}: {} finalists, test accuracy of the best by validation {}, {}\n", run.method,
               run.seed, run.goal, run.record["finalists"].size(),
               best == nullptr ? "none" : fmt::format("{:.2f} %", 100 * (*best)["test"].get<double>()),
               duration_text(run.record["seconds"].get<double>()));
  }

  /// The finalist with the best validation; null if there is none.
  static const nlohmann::ordered_json* best_of(const Run& run) {
    const nlohmann::ordered_json* best = nullptr;
    for (const auto& finalist : run.record["finalists"])
      if (best == nullptr || finalist["validation"] > (*best)["validation"]) best = &finalist;
    return best;
  }

  /// Of one method and seed over all goals; finalists are chosen by validation, the area is that of the test scores.
  [[nodiscard]] double hypervolume_of(const std::string& method, std::uint64_t seed) const {
    std::vector<ArchiveEntry> entries;
    double largest = 0;
    for (const Run& run : runs_) {
      largest = std::max(largest, run.record["target"].get<double>());
      if (run.method != method || run.seed != seed) continue;
      if (const auto* best = best_of(run))
        entries.push_back({{}, (*best)["test"].get<double>(), (*best)["cost"].get<double>(), 0});
    }
    return hypervolume(entries, wishes_.reference_accuracy, 2 * largest);
  }

  struct Row {
    std::string method;
    std::vector<double> volumes, best, spent;
    double met = 0;
    int larger = 0;  ///< seeds where the first method's hypervolume is larger
  };

  [[nodiscard]] std::vector<Row> rows() const {
    std::vector<Row> all;
    for (const SearchMethod method : methods_) {
      Row row{std::string(name_of(method)), {}, {}, {}, 0, 0};
      for (const std::uint64_t seed : wishes_.seeds) {
        row.volumes.push_back(hypervolume_of(row.method, seed));
        if (!all.empty() && all.front().volumes[row.volumes.size() - 1] > row.volumes.back()) ++row.larger;
      }
      for (const Run& run : runs_) {
        if (run.method != row.method) continue;
        const auto& finalists = run.record["finalists"];
        row.met += finalists.empty() ? 0.0 : 1.0 / static_cast<double>(wishes_.seeds.size() * goals_.size());
        row.spent.push_back(run.record["spent"].get<double>());
        if (const auto* best = best_of(run)) row.best.push_back((*best)["test"].get<double>());
      }
      all.push_back(std::move(row));
    }
    return all;
  }

  void print_table() const {
    const std::vector<Row> all = rows();
    Table table({{"method", "", Table::Align::left},
                 {"hypervolume", ""},
                 {"first is larger", "seeds"},
                 {"test accuracy", "%"},
                 {"goal met", "%"},
                 {"budget", ""}});
    for (const Row& row : all)
      table.row({row.method, spread_text(row.volumes, 1),
                 &row == &all.front() ? "" : fmt::format("{} of {}", row.larger, wishes_.seeds.size()),
                 row.best.empty() ? "none" : spread_text(row.best, 100), fmt::format("{:.0f}", 100 * row.met),
                 fmt::format("{:.3g}", row.spent.empty() ? 0 : *std::ranges::max_element(row.spent))});
    fmt::print(
        "{}\nhypervolume: test accuracy above {:g} times the logarithm of cost below twice the largest goal; "
        "{} seeds, goals {}\n",
        table.str(), wishes_.reference_accuracy, wishes_.seeds.size(), fmt::join(goals_, ", "));
  }

  void print_json() const {
    for (const Row& row : rows())
      fmt::print("{}\n", nlohmann::ordered_json{{"method", row.method},
                                                {"hypervolumes", row.volumes},
                                                {"test_accuracy", row.best},
                                                {"goal_met", row.met},
                                                {"first_is_larger", row.larger}}
                             .dump());
  }

  CosearchSpec spec_;
  CompareWishes wishes_;
  fs::path folder_;
  std::vector<SearchMethod> methods_;
  std::vector<std::string> goals_;
  std::vector<Run> runs_;
  const std::atomic<int>& stop_ = catch_interrupts();
};

}  // namespace

int compare_searches(const CosearchSpec& spec, const CompareWishes& wishes, const std::string& folder, bool json) {
  return Comparison(spec, wishes, folder).run(json);
}

}  // namespace kasimir
