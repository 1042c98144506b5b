// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/store.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kasimir::report {

/// A study whose rows are made up for tests: nothing was trained or measured. Written through the study's own calls.
class MadeUpStudy {
 public:
  explicit MadeUpStudy(const std::string& name, const study::Json& spec = default_spec());
  MadeUpStudy(const MadeUpStudy&) = delete;
  MadeUpStudy& operator=(const MadeUpStudy&) = delete;
  ~MadeUpStudy();

  static study::Json default_spec();

  /// The next trial number gets that kernel; the first one is the original and has none.
  int propose(const std::string& kernel, study::Counts replaced, study::Counts network);
  int reject(const std::string& rule, const std::string& reason);
  /// Results of the trial's job of rung `quick`, and of the others.
  void finish_quick(const study::JobResult& result, const std::vector<double>& curve = {});
  void finish(int trial, study::Rung rung, int seed, const study::JobResult& result,
              const std::vector<double>& curve = {});

  [[nodiscard]] study::Store& store() { return store_; }

 private:
  void finish_job(const study::Job& job, const study::JobResult& result, const std::vector<double>& curve);
  static std::filesystem::path new_folder(const std::string& name);

  double now_ = 1'700'000'000;
  std::filesystem::path folder_;
  study::Store store_;
  study::Lease lease_;
};

study::JobResult accuracy(double validation, std::optional<double> test = {});
study::JobResult latency(std::vector<double> kernel_ms, double original_ms);

/// Original, two finalists, a stopped, a failed and two rejected trials; finished.
void fill_small(MadeUpStudy& study);
/// The original and 25 candidates of several kinds, finished; for looking at.
void fill_large(MadeUpStudy& study);

extern const char* const bottleneck_text;

}  // namespace kasimir::report
