// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/moves.h"
#include "kasimir/synth/replay.h"

#include <algorithm>

namespace kasimir {
namespace {

/// Begins with the first steps of the parent; `no_id`, or the rule against one of them.
std::int32_t begin_with(Growth& growth, std::span<const GrownStep> steps, int choice) {
  growth.begin(choice);
  for (const GrownStep& step : steps)
    if (!growth.append(step.written, step.operands)) return growth.last_refusal();
  return no_id;
}

}  // namespace

std::optional<Rejection> regrow(const Sampler& sampler, const Kernel& parent, int kept, std::uint64_t number,
                                SampleMemory& memory, const MoveOptions& options) {
  sampler.bound(memory);
  Growth& growth = memory.growth();
  World& world = growth.world();
  int choice = 0;
  const auto steps = replay(world, parent, &choice);
  if (!steps.ok()) return steps.rejection();
  KASIMIR_CHECK(kept >= 0 && kept < std::ssize(*steps), "{} of {} steps are kept", kept, steps->size());
  const Identity own = memory.identity_of(*steps);
  const std::span<const GrownStep> first{steps->data(), static_cast<std::size_t>(kept)};
  constexpr std::uint64_t stream = 0x526567726F777468ULL;  // apart from those of kernels that come about in other ways
  Rng rng(sampler.seed() ^ stream, number);
  BrokenRules broken;
  for (int i = 0; i < options.most_tries; ++i) {
    if (const std::int32_t rule = begin_with(growth, first, choice); rule != no_id)
      return Rejection{world.rule(rule), ""};
    const int least = std::max(growth.limits().min_primitives, kept + std::max(growth.steps_to_end(), 1));
    if (least > growth.limits().max_primitives)
      return Rejection{"growth: the length is within its limits",
                       fmt::format("{} steps would be needed, {} are allowed", least, growth.limits().max_primitives)};
    const auto length = static_cast<int>(rng.between(least, growth.limits().max_primitives));
    if (!growth.complete(rng, length - kept)) {
      broken.add(world.rule(growth.last_refusal() == no_id ? growth.failure() : growth.last_refusal()));
    } else if (growth.has_idle_pair()) {
      broken.add("growth: no step is made idle by its neighbour");
    } else if (auto refused = refused_child(sampler, memory, {&own, 1})) {
      broken.add(std::move(refused->rule), std::move(refused->with));
    } else {
      return std::nullopt;
    }
  }
  return broken.most_frequent();
}

}  // namespace kasimir
