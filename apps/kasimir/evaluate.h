// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/search_spec.h"

#include "kasimir/data/split.h"

#include "kasimir/network/plan.h"
#include "kasimir/network/sites.h"
#include "kasimir/study/worker.h"
#include "kasimir/train/native_latency.h"

#include <memory>

namespace kasimir {

/// A search as one process sees it: the data in memory, the network, the sampler; answers for a study's worker.
class Evaluator {
 public:
  /// Loads the data. @throws Error (input).
  explicit Evaluator(SearchSpec spec, const LoadProgress& progress = {});

  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  [[nodiscard]] const Dataset& data() const { return data_; }

  /// @throws Error (unsolved) if no kernel fits the budget and the limits in a good number of attempts: says what
  /// stopped most of them and how near they came.
  void check_space() const;

  /// The kernel of a trial number: the first legal one in the number's own stretch of the sampler's stream.
  Outcome<study::Proposal> ask(int number) const;
  study::JobResult evaluate(const study::Job& job, const study::Trial& trial, study::JobObserver& observer) const;

 private:
  [[nodiscard]] NetworkPlan plan_of(const study::Trial& trial) const;
  study::JobResult train_rung(const study::Job& job, const NetworkPlan& plan, study::JobObserver& observer) const;
  study::JobResult latency(const NetworkPlan& plan) const;
  [[nodiscard]] std::optional<study::JobResult> screened(const NetworkPlan& plan) const;
  /// By what the search asks for: generated C or eager PyTorch.
  [[nodiscard]] Outcome<LatencySamples> measured(const NetworkPlan& plan, const LatencyOptions& options) const;
  void quick_latency(const NetworkPlan& plan, study::JobResult& result) const;

  SearchSpec spec_;
  Dataset data_;
  Network network_;
  Selection selection_;
  Split split_;
  Sampler sampler_;
  NetworkPlan original_;
  std::unique_ptr<NativeBench> native_;  ///< nothing where latency is measured in eager PyTorch
};

}  // namespace kasimir
