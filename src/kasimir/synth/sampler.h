// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/growth.h"
#include "kasimir/synth/label_rules.h"
#include "kasimir/synth/normal_form.h"
#include "kasimir/synth/seen.h"
#include "kasimir/synth/semantics.h"
#include "kasimir/synth/small_site.h"

#include <functional>
#include <map>
#include <memory>
#include <unordered_set>

namespace kasimir {

/// What a sampled kernel must see. By default it mixes channels and sees a neighbourhood; it is never blind.
struct Wanted {
  bool channel_mixing = true;
  bool neighbourhood = true;  ///< other rows and other columns
  bool allow_global = true;   ///< kernels in which an output sees the whole image
  bool allow_waste = false;   ///< a step that may be left out, or an output channel that does not see the input
  /// What is asked beyond that, of the exact labels. A label that is forbidden here is not wanted above.
  std::vector<LabelRule> labels = {};
};

struct SampleOptions {
  GrowthLimits limits;
  Budget budget;
  SolverOptions solver;
  Wanted wanted;
};

/// A legal kernel with everything that is known of it before training.
struct Sampled {
  Kernel kernel;
  FitCost cost;
  Label label;
  std::optional<Labels> exact;  ///< if Wanted::labels has rules: what they ask for
  std::uint64_t attempt = 0;    ///< the number in the stream that gives it again
  std::optional<Kinship> kin;   ///< if a set of what was seen is kept
};

/// Counts of what happened to attempts.
struct SampleStats {
  std::uint64_t attempts = 0;
  std::uint64_t legal = 0;  ///< within budget and as wanted, twins included
  std::uint64_t same_text = 0;
  std::uint64_t same_function = 0;  ///< equal fingerprint, other text; kept by sample(), skipped by a search
  NoveltyCounts seen{};             ///< by Novelty: kernels that were shown to a set of what was seen
  std::map<std::string, std::int64_t> rejected;  ///< attempts by the rule that ended them
  std::map<std::string, std::string> nearest;    ///< the values that missed the rule least (base/near_miss.h)
  std::map<std::string, std::int64_t> refused;   ///< steps refused while growing, by rule
};

class Sampler;

/// What one thread keeps from attempt to attempt: applications that were worked out (world.h). It changes the speed
/// only.
class SampleMemory {
 public:
  explicit SampleMemory(const Sampler& sampler);
  SampleMemory(SampleMemory&&) noexcept;
  SampleMemory& operator=(SampleMemory&&) noexcept;
  ~SampleMemory();

  /// Of the last attempt.
  [[nodiscard]] const Growth& growth() const;
  [[nodiscard]] Growth& growth();
  [[nodiscard]] const FitSolution& solution() const;
  Identity identity_of(std::span<const GrownStep> steps);  ///< of others that were worked out in its world
  Identity identity();                                     ///< of the last kernel: its normal form
  std::optional<Fingerprint> fingerprint();                ///< and what it computes (Semantics::fingerprint)
  std::uint64_t weight_sizes();                            ///< Semantics::weight_sizes()
  Semantics::Waste waste();                                ///< what the last kernel has in vain
  std::vector<std::int64_t>& refused();                    ///< Growth::refused()

 private:
  friend class Sampler;
  struct Place;
  std::unique_ptr<Place> place_;
};

/// Attempt i is a pure function of (seed, i): the same kernels on any number of threads.
class Sampler {
 public:
  /// @throws Error (input) if the limits name unknown primitives or contradict themselves.
  Sampler(Catalog catalog, std::vector<SiteLoad> sites, SampleOptions options, std::uint64_t seed);

  [[nodiscard]] Outcome<Sampled> attempt(std::uint64_t index, SampleMemory& memory, SampleStats* stats = nullptr) const;
  /// The kernel's steps and the values of its free symbols, in the memory; or why there are none.
  std::optional<Rejection> draw(std::uint64_t index, SampleMemory& memory) const;

  // For kernels that come about in other ways (moves.h).
  /// Begins a memory that has grown too large anew, which changes nothing but the speed.
  void bound(SampleMemory& memory) const;
  /// Values for the free symbols of the steps that the memory's growth holds, within the budget.
  FitFailure solve(SampleMemory& memory) const;
  /// What is known of the kernel in the memory, or which screen it does not pass.
  [[nodiscard]] Outcome<Sampled> describe(std::uint64_t index, const SampleMemory& memory) const;

  [[nodiscard]] Kernel kernel(const SampleMemory& memory) const;

  [[nodiscard]] const std::vector<SiteLoad>& sites() const { return sites_; }
  [[nodiscard]] const SampleOptions& options() const { return options_; }
  [[nodiscard]] Catalog catalog() const { return catalog_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Equal for samplers whose kernels' identities, fingerprints and costs may be compared: the same sites and
  /// primitives.
  [[nodiscard]] std::uint64_t space() const;

 private:
  friend class SampleMemory;
  [[nodiscard]] std::optional<Rejection> unwanted(const View& view) const;
  [[nodiscard]] std::optional<Rejection> unwanted(Sampled& sampled) const;
  [[nodiscard]] std::optional<Rejection> wasteful(const Kernel& kernel, SampleMemory::Place& place) const;
  [[nodiscard]] bool uses_budget(const FitSolution& solution, int open_symbols) const;
  void pose(SampleMemory::Place& place) const;
  Catalog catalog_;
  std::vector<double> weights_;  ///< of the catalog's primitives; 0 for what is not allowed
  std::vector<SiteLoad> sites_;
  std::vector<Binding> choices_;  ///< values that g and r may take together
  SampleOptions options_;
  std::uint64_t seed_;
};

/// Kernels with different texts, in the order of their attempts, until `count` are found or `most_attempts` were made.
/// `threads` changes the speed only. `found` is called in order for each. Kernels that `seen` knows, if there is one,
/// are counted and left out, unless they cost less than what it knows; the others become known.
SampleStats sample(const Sampler& sampler, std::size_t count, std::uint64_t most_attempts, int threads,
                   const std::function<void(const Sampled&)>& found, SeenSet* seen = nullptr);

}  // namespace kasimir
