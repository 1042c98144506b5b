// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/record.h"

#include "kasimir/base/error.h"

#include <array>
#include <chrono>

namespace kasimir::study {
namespace {

constexpr std::array<std::string_view, rung_count> rungs = {"quick", "longer", "full", "latency"};
constexpr std::array<std::string_view, 6> trial_states = {"proposed", "running", "complete",
                                                          "rejected", "failed",  "stopped"};
constexpr std::array<std::string_view, 4> job_states = {"queued", "leased", "done", "failed"};

template <typename Enum, std::size_t n>
Enum find(const std::array<std::string_view, n>& names, std::string_view name) {
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  throw Error(Fault::bug, fmt::format("unknown state `{}` in a study", name));
}

}  // namespace

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string_view name_of(Rung rung) { return rungs.at(static_cast<std::size_t>(rung)); }
std::string_view name_of(TrialState state) { return trial_states.at(static_cast<std::size_t>(state)); }
std::string_view name_of(JobState state) { return job_states.at(static_cast<std::size_t>(state)); }
TrialState trial_state(std::string_view name) { return find<TrialState>(trial_states, name); }
JobState job_state(std::string_view name) { return find<JobState>(job_states, name); }

Json with_accelerator(Json budget_use, const Counts& network) {
  if (const auto& cost = network.accelerator)
    budget_use["accelerator"] = {{"cycles", cost->cycles}, {"energy_uj", cost->energy_uj}, {"value", cost->value}};
  return budget_use;
}

std::optional<AcceleratorCost> accelerator_in(const Json& budget_use) {
  const auto found = budget_use.find("accelerator");
  if (found == budget_use.end()) return std::nullopt;
  return AcceleratorCost{found->at("cycles"), found->at("energy_uj"), found->at("value")};
}

}  // namespace kasimir::study
