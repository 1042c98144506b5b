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
/// Choice steps between looks that Auto-NBA's release takes, one look an epoch.
std::size_t original_look_every(std::size_t choice_steps);

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

}  // namespace kasimir
