// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/evaluate.h"
#include "kasimir/study/assignment.h"

#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// The short training after one kernel was put in the trained original, on part of the training images.
struct SiteTuning {
  int epochs = 1;
  std::int64_t images = 2000;
  double rate = 0.1;  ///< share of the search's highest rate: all but one site is trained already. A judgement
};

/// What can stand at a site, the original first.
struct SiteChoices {
  std::string site;
  std::vector<int> trials;
  std::vector<study::SiteOption> options;  ///< as shares of the original's latency, and of accuracy (0 .. 1)
};

/// What each kernel costs at each site alone: the trained original with this one convolution replaced. Latency is that
/// of the whole network beside the original's, as the search measures it. The drop is that of the validation accuracy
/// after a short training, against the original after the same one. Each result is an event of the study as soon as it
/// is there, so that nothing is measured twice.
class SiteCosts {
 public:
  /// @throws Error (input) if the study has no weights of the original.
  SiteCosts(study::StudyPlace study, const Evaluator& evaluator, const SiteTuning& tuning,
            const std::atomic<int>& stop);

  /// Measures what the study does not have yet. False: stopped.
  bool measure(const std::vector<int>& trials);
  /// After measure(). A measured gain of accuracy counts as no drop: of the best of many noisy numbers most is noise.
  [[nodiscard]] std::vector<SiteChoices> choices(const std::vector<int>& trials) const;

 private:
  struct Found {
    double latency = 1;
    double accuracy = 0;
    std::string refused;  ///< why it cannot stand there
  };

  bool measure(const std::string& site, int trial);
  [[nodiscard]] Found found_at(const NetworkPlan& plan) const;
  void keep(const std::string& site, int trial, const Found& found);
  [[nodiscard]] NetworkPlan plan_with(const std::string& site, int trial) const;

  study::StudyPlace study_;
  const Evaluator& evaluator_;
  const std::atomic<int>& stop_;
  Recipe recipe_;
  Split split_;
  std::string settings_;  ///< results of other ones do not count
  std::unique_ptr<Model> original_;
  std::map<std::pair<std::string, int>, Found> found_;  ///< of the original: site "", trial 0
};

}  // namespace kasimir
