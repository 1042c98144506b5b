// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/native.h"
#include "kasimir/codegen/network_c.h"

#include <filesystem>
#include <map>

namespace kasimir {

/// What was measured before: nests by everything that their time depends on (shape, memory layout, batch, target,
/// processor, compiler and its flags) and the best method. A text file that several processes may share: an update
/// replaces it whole.
class TuningCache {
 public:
  TuningCache() = default;  ///< keeps nothing
  /// Reads the file if it is there; an empty path is no file. Lines that cannot be read are skipped: they are measured
  /// again.
  explicit TuningCache(std::filesystem::path path);

  [[nodiscard]] std::optional<Method> find(const std::string& key) const;
  void keep(const std::string& key, const Method& method);
  /// Writes what was kept, together with what others have written meanwhile. @throws Error (system).
  void save() const;

 private:
  std::filesystem::path path_;
  std::map<std::string, std::string> known_;
};

struct TuneOptions {
  double seconds = 60;  ///< about how long to measure, compilations included; the default remains where time runs out
  double gain = 0.03;   ///< a method replaces the default only if it is faster by this share
  NativeOptions native = {};
};

struct Tuned {
  std::vector<Method> methods;  ///< per nest of `run`
  int measured = 0;             ///< nests that were measured now; the others came from the cache or have one method
  int changed = 0;              ///< nests whose method is another one than the default
  double seconds = 0;
};

/// All methods that are worth a measurement for each nest, the default first.
std::vector<std::vector<Method>> tuning_candidates(const NestProgram& program, const CTarget& target);

/// Measures methods inside the running program, so that the weights of each nest are as cold as the others leave them,
/// and takes the best of each nest. Rejected as NativeNetwork where not even the default runs.
Outcome<Tuned> tune(const NestProgram& program, const COptions& options, const std::vector<float>& weights,
                    TuningCache& cache, const TuneOptions& how = {});

/// Takes the network's methods from tuning, and writes what was measured to the cache's file. Rejected as tune().
Outcome<Tuned> tune_network(NetworkC& network, const COptions& options, TuningCache& cache,
                            const TuneOptions& how = {});

}  // namespace kasimir
