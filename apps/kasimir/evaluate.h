// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/quick_images.h"
#include "kasimir/sampler_source.h"
#include "kasimir/search_spec.h"

#include "kasimir/codegen/latency_model.h"
#include "kasimir/data/split.h"
#include "kasimir/network/plan.h"
#include "kasimir/network/sites.h"
#include "kasimir/study/scores.h"
#include "kasimir/study/worker.h"
#include "kasimir/train/model.h"
#include "kasimir/train/native_latency.h"

#include <filesystem>
#include <memory>

namespace kasimir {

/// Where a search keeps what a finalist has learned: beside the study (StudyPlace::beside), one file per trial and
/// repetition.
std::filesystem::path weights_path(const study::StudyPlace& study, int trial, int repetition);

/// A study's original network as its first repetition on rung `full` left it. @throws Error (input) if its weights are
/// not there.
std::unique_ptr<Model> trained_original(const study::StudyPlace& study, const Network& network, Device device);

/// A search as one process sees it: the data in memory, the network, the sampler; answers for a study's worker.
class Evaluator {
 public:
  /// Loads the data. @throws Error (input).
  explicit Evaluator(SearchSpec spec, const LoadProgress& progress = {});

  /// The study that it works for: strategies look into it, and finalists' weights are kept beside it.
  void belongs_to(study::StudyPlace study) { study_ = std::move(study); }

  [[nodiscard]] const Network& network() const { return made_.network; }
  [[nodiscard]] int restored_norms() const { return made_.restored; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  [[nodiscard]] const Dataset& data() const { return data_; }
  [[nodiscard]] const Split& split() const { return split_; }
  /// What a training image of rung `quick` costs against one of the other rungs.
  [[nodiscard]] double quick_share() const { return quick_ ? quick_->share() : 1; }
  [[nodiscard]] const SearchSpec& spec() const { return spec_; }

  /// How well the network does with nothing but the weights that it came with, on some of the images that score
  /// candidates; none where it did not come with all of them.
  [[nodiscard]] std::optional<Score> as_it_came() const;

  /// @throws Error (unsolved) if no kernel fits the budget and the limits in a good number of attempts: says what
  /// stopped most of them and how near they came.
  void check_space() const;

  /// The kernel of a trial number: the first that the strategy makes in the number's own stretch of attempts and that
  /// the latency model does not rule out, where the budget limits latency.
  Outcome<study::Proposal> ask(int number) const;
  study::JobResult evaluate(const study::Job& job, const study::Trial& trial, study::JobObserver& observer) const;

  [[nodiscard]] NetworkPlan plan_of(const study::Trial& trial) const;
  /// By what the search asks for: generated C or eager PyTorch.
  [[nodiscard]] Outcome<LatencySamples> measured(const NetworkPlan& plan, const LatencyOptions& options) const;

 private:
  [[nodiscard]] std::unique_ptr<study::Store> seen_study() const;
  [[nodiscard]] static History history(const study::Store& store);
  [[nodiscard]] study::Proposal proposal(const Sampled& sampled, nlohmann::json origin,
                                         const std::optional<study::AcceleratorCost>& accelerator) const;
  /// A kernel of SearchSpec::seed_kernels with sizes within the budget.
  [[nodiscard]] Outcome<Sampled> given(Kernel kernel) const;
  study::JobResult train_rung(const study::Job& job, int trial, const NetworkPlan& plan,
                              study::JobObserver& observer) const;
  study::JobResult train_on(const Dataset& data, const study::Job& job, int trial, const NetworkPlan& plan,
                            study::JobObserver& observer) const;
  study::JobResult latency(const NetworkPlan& plan) const;
  [[nodiscard]] std::optional<study::JobResult> screened(const NetworkPlan& plan) const;
  /// The zero-cost scores that the search asks for.
  [[nodiscard]] std::vector<study::ScoreRow> scored(const NetworkPlan& plan) const;
  /// Why these scores are not worth a training, beside those of recent candidates.
  [[nodiscard]] std::optional<study::JobResult> dropped(const std::vector<study::ScoreRow>& scores) const;
  /// Latency and a short training of a candidate that screens and scores let pass.
  study::JobResult first_rung(const study::Job& job, const study::Trial& trial, const NetworkPlan& plan,
                              study::JobObserver& observer) const;
  void quick_latency(const NetworkPlan& plan, study::JobResult& result) const;
  /// Seconds of one run as generated C, by the latency model.
  [[nodiscard]] Outcome<double> predicted(const NetworkPlan& plan) const;
  [[nodiscard]] std::optional<Rejection> predicted_too_slow(const Kernel& kernel) const;
  /// What the network takes on the accelerator with a kernel; nothing where the search is for none. Rejected where it
  /// does not fit, or is beyond the budget.
  [[nodiscard]] Outcome<std::optional<study::AcceleratorCost>> on_accelerator(const Kernel& kernel) const;
  /// Holds a measured latency to the budget.
  void hold_to_budget(study::JobResult& result) const;

  SearchSpec spec_;
  std::optional<study::StudyPlace> study_;  ///< if none, no weights are kept
  Dataset data_;
  DataNetwork made_;
  Selection selection_;
  Split split_;
  Budget budget_;
  Sampler sampler_;
  NetworkPlan original_;
  std::unique_ptr<AcceleratorTarget> accelerator_;
  std::unique_ptr<QuickImages> quick_;       ///< nothing where rung `quick` trains on images of the full size
  std::unique_ptr<TrainedKernels> trained_;  ///< of the study, for strategies that look into it
  double original_seconds_ = 0;              ///< predicted, where the budget limits latency
  ImageSet score_images_;                    ///< what scores are computed on
  std::unique_ptr<NativeBench> native_;      ///< nothing where latency is measured in eager PyTorch
};

}  // namespace kasimir
