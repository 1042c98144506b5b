// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/cosearch.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// Ways to search, all with the same trainer, accelerators, decoder, number of validated networks and budget.
enum class SearchMethod : std::uint8_t {
  joint,             ///< cosearch as the options say
  operators_only,    ///< at the widest bits
  bits_only,         ///< with the operators that cost most
  accelerator_only,  ///< networks of one operator and width throughout, each on its best accelerator
  sequential,        ///< operators at the widest bits within a swept first target, then bits for them
  random,            ///< weights trained with equal chances, the best of N random networks within the target
  original           ///< Auto-NBA's sampling, cost and control
};
std::string_view name_of(SearchMethod method);
/// @throws Error (input) with the nearest names.
SearchMethod parse_search_method(std::string_view name);
const std::vector<SearchMethod>& search_methods();

struct MethodOptions {
  CosearchOptions search;                       ///< of the joint search; its steps set the budget of all
  std::vector<double> multiples{1, 1.5, 2, 3};  ///< first targets of `sequential`; they share the budget
};

/// What the joint search of these options spends, in the trainer's unit.
double budget_of(const CosearchOptions& options, const ChoiceTrainer& trainer);

struct MethodResult {
  std::vector<Finalist> finalists;  ///< as many as the joint search has, within the target, by falling score
  ChoiceArchive archive;            ///< all validated networks
  double spent = 0;                 ///< in the trainer's unit; at most the joint search's budget
  double seconds = 0, accelerator_seconds = 0;
};

/// Runs a method. Trainers come from the factory with the options' seed, so that methods start with equal weights and
/// data.
MethodResult run_method(SearchMethod method, const TrainerFactory& factory, HardwareTarget& hardware,
                        const MethodOptions& options);

/// A method over seeds and targets.
struct MethodRow {
  SearchMethod method = SearchMethod::joint;
  std::vector<double> hypervolumes;  ///< one for each seed, of the finalists for all targets
  std::vector<double> best_scores;   ///< one for each seed and target; where nothing met it, the reference score
  double met = 0;                    ///< share of seeds and targets where a finalist met the target
  double spent = 0;                  ///< mean of one run
};

struct ComparisonOptions {
  std::vector<double> targets;
  std::vector<std::uint64_t> seeds{1, 2, 3, 4, 5};
  std::vector<SearchMethod> methods = search_methods();
  double reference_score = 0;  ///< of the hypervolume, fixed beforehand
  double reference_cost = 0;   ///< 0: twice the largest target
  std::function<void(SearchMethod, std::uint64_t seed, double target, const MethodResult&)> done;  ///< after each run
};
/// Runs all methods for all seeds and targets. @throws Error (input) without targets, seeds or methods.
std::vector<MethodRow> compare_methods(const TrainerFactory& factory, HardwareTarget& hardware,
                                       const MethodOptions& options, const ComparisonOptions& comparison);
/// As a table: means with standard deviations over seeds, and how often the first row's hypervolume is larger, paired
/// by seed.
std::string str(const std::vector<MethodRow>& rows);

}  // namespace kasimir
