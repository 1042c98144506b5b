// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/strategy.h"

#include "kasimir/network/sites.h"
#include "kasimir/study/scores.h"

#include <map>

namespace kasimir {

/// The network that kernels are put into, as far as its costs matter.
struct HostCosts {
  LayerCost total;
  LayerCost replaced;  ///< of the convolutions that a kernel replaces

  HostCosts(const Network& network, const std::vector<SiteRef>& sites);
  /// The whole network's, where its kernels together have these.
  [[nodiscard]] study::Counts with(const study::Counts& kernels) const;
};

/// Of the kernels of a candidate, over all its sites.
study::Counts counts_of(const Sampled& sampled);

/// What a study knows of its trials, which never changes, and would know of others.
struct StudyFacts {
  std::function<std::string(int trial)> text;  ///< the kernel
  std::function<Scores(int trial)> scores;
  std::function<Scores(const Kernel& kernel)> score;
};

/// What strategies ask of kernels that were trained, worked out once.
class TrainedKernels {
 public:
  struct Facts {
    Kernel kernel;
    std::vector<std::string> steps;
    std::optional<std::vector<double>> features;
    Scores scores;
  };
  TrainedKernels(Catalog catalog, const Site& site, const HostCosts& host)
      : catalog_(catalog), site_(site), host_(host) {}

  const Facts& of(int trial, const StudyFacts& study);
  /// Nothing where the kernel has none.
  [[nodiscard]] std::optional<std::vector<double>> features(const Kernel& kernel) const;
  [[nodiscard]] const HostCosts& host() const { return host_; }

 private:
  Catalog catalog_;
  Site site_;
  HostCosts host_;
  std::map<int, Facts> facts_;
};

/// By these names.
Scores in_order(const std::vector<study::ScoreRow>& scores, const std::vector<std::string>& names);

/// Kernels of a sampler, and bred from the trials of a study.
class SamplerSource final : public IdeaSource {
 public:
  /// All must outlive it.
  SamplerSource(const Sampler& sampler, SampleMemory& memory, TrainedKernels& trained, StudyFacts study)
      : sampler_(&sampler), memory_(&memory), trained_(&trained), study_(std::move(study)) {}

  Outcome<Idea> drawn(std::uint64_t attempt) override;
  Outcome<Idea> mutated(int trial, std::uint64_t attempt) override;
  Outcome<Idea> crossed(int first, int second, std::uint64_t attempt) override;
  Outcome<Idea> regrown(int trial, int kept, std::uint64_t attempt) override;
  const std::vector<std::string>& steps(int trial) override { return trained_->of(trial, study_).steps; }
  const std::optional<std::vector<double>>& features(int trial) override {
    return trained_->of(trial, study_).features;
  }
  std::optional<std::vector<double>> features(const Idea& idea) override {
    return trained_->features(idea.sampled.kernel);
  }
  const Scores& scores(int trial) override { return trained_->of(trial, study_).scores; }
  Scores scores(const Idea& idea) override { return study_.score(idea.sampled.kernel); }
  study::Point counts(const Idea& idea) override;

 private:
  [[nodiscard]] const Kernel& kernel(int trial) { return trained_->of(trial, study_).kernel; }
  [[nodiscard]] Outcome<Idea> bred(std::uint64_t attempt, const char* move, const std::vector<int>& parents) const;

  const Sampler* sampler_;
  SampleMemory* memory_;
  TrainedKernels* trained_;
  StudyFacts study_;
};

}  // namespace kasimir
