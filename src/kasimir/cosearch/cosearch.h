// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/archive.h"
#include "kasimir/cosearch/cost_form.h"
#include "kasimir/cosearch/decode.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The joint search of operators, bits and accelerator.
///
///     CosearchOptions options{.target = 2e6, .seed = 7};
///     const CosearchResult result = cosearch(trainer, hardware, options);
///     for (const Finalist& one : result.finalists) ...
namespace kasimir {

/// What is not searched.
struct FixedChoices {
  std::optional<std::vector<std::size_t>> ops;   ///< of each block
  std::optional<std::vector<std::size_t>> bits;  ///< of each block
  bool operator==(const FixedChoices&) const = default;
};

/// For people and logs.
struct CosearchProgress {
  std::string_view phase;  ///< "warm-up", "search", "validation"
  std::size_t step = 0, steps = 0;
  double loss = 0;          ///< of the last choice step (warm-up: weight step)
  double mean_cost = 0;     ///< over the probabilities, by the target
  double derived_cost = 0;  ///< of the likeliest network on its accelerator, by the target
  double control = 0;       ///< multiplier or weight
  double entropy = 0;       ///< mean, in nats
  double best_score = 0;    ///< in the archive, within the target
  double seconds = 0, accelerator_seconds = 0;
};

/// Everything that a search needs to go on, besides what the trainer keeps.
struct CosearchState {
  std::size_t weight_steps = 0, choice_steps = 0;  ///< done
  ChoiceNumbers logits, first_moment, second_moment;
  double control = 0;
  ChoiceDesign accelerator_of;  ///< what the accelerator was made for; empty: none yet
  double derived_cost = 0;      ///< at the last look, by the target
  ChoiceArchive archive;
  double spent = 0;  ///< in the trainer's unit
  double seconds = 0, accelerator_seconds = 0;
};
/// As JSON; parse_state reads it back equal. `space` gives the names.
std::string state_text(const CosearchState& state, const ChoiceSpace& space);
/// @throws Error (input) for text that is no state of this space.
CosearchState parse_state(std::string_view text, const ChoiceSpace& space);

struct CosearchOptions {
  SamplingMode mode = sampling_mode("heterogeneous");
  std::optional<CostForm> form;  ///< nothing: the one that suits, see suited_form
  ControlOptions control{};
  double target = 0;               ///< cost, in the unit of the hardware
  double tau = 0.1;                ///< of the smooth maximum
  std::size_t warmup_steps = 200;  ///< of the weights, with all choices equally likely
  std::size_t choice_steps = 600;  ///< each after one weight step
  /// Choice steps between optimisations of the accelerator for the likeliest network; 0: made once, then it stays.
  std::size_t optimise_every = 10;
  std::size_t look_every = 5;      ///< choice steps between looks at the likeliest network's cost
  std::size_t validate_every = 0;  ///< choice steps between validations of the best decoded network; 0: at the end only
  DecodeOptions decode{};          ///< `best` networks are validated at the end
  FixedChoices fixed{};
  std::optional<Accelerator> accelerator;  ///< hardware that stays, if optimise_every is 0
  std::uint64_t seed = 1;
  std::size_t save_every = 0;  ///< choice steps between calls of `save`; 0: none
  /// Called with the state; the caller writes it, and lets the trainer save what belongs to it.
  std::function<void(const CosearchState&)> save;
  /// Called between the warm-up and the first choice step, also by a run that was broken off there; false: stop.
  std::function<bool()> warmed_up;
  std::function<void(const CosearchProgress&)> progress;  ///< after each step
  std::function<bool()> should_stop;  ///< asked after each step; networks are decoded and validated all the same
};

struct Finalist {
  ChoiceDesign design;
  double score = 0;  ///< validated
  double cost = 0;
  double log_probability = 0;
};

struct CosearchResult {
  std::vector<Finalist> finalists;  ///< within the target, by falling score
  ChoiceDesign likeliest;           ///< whatever it costs
  double likeliest_cost = 0;
  bool decoded_exactly = false;
  bool finished = true;  ///< false: stopped before the last step
  CosearchState state;
  /// Of the time, what went into costs, accelerators and decoding.
  [[nodiscard]] double accelerator_share() const;
};

/// The duals where the accelerator is made anew and more than one part matters, else the smooth maximum; for one part,
/// sums and products these are the same.
CostForm suited_form(const Accelerator& accelerator, bool optimised_again);

/// Runs a search, from `resume` on if there is one. Equal for equal seeds, if the trainer is; a resumed run ends like
/// one that was not broken off. @throws Error (input) for a target or counts that make no sense.
CosearchResult cosearch(const ChoiceTrainer& trainer, HardwareTarget& hardware, const CosearchOptions& options,
                        std::optional<CosearchState> resume = std::nullopt);

}  // namespace kasimir
