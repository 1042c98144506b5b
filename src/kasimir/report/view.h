// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/site.h"
#include "kasimir/study/store.h"
#include "kasimir/study/summary.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir::report {

/// A row of `sites` in a study's spec: convolutions of the original that a kernel replaces.
struct ReplacedSite {
  Site site;
  std::int64_t count = 1;                 ///< how many convolutions have this site
  std::optional<study::Counts> original;  ///< of these convolutions together
};

/// The rows of `spec["sites"]` that can be read: `{"site": "Ci=16 Co=16 H=32 W=32 s=1", "count": 3, "macs": 1,
/// "params": 1}` with MACs and parameters of the `count` convolutions together.
std::vector<ReplacedSite> sites_of(const study::Json& spec);

/// A page has to open: of larger studies the best trials are listed and the curves of the best drawn, and the page
/// says what it leaves out.
constexpr std::size_t most_rows = 2000;
constexpr std::size_t most_curves = 300;

/// All that the parts of a report read, from one state of the study.
struct View {
  std::string path;
  study::StudyInfo info;
  std::vector<study::TrialSummary> rows;  ///< by number; the first is the original
  std::vector<std::size_t> order;         ///< indices into `rows` as tables list them, at most `most_rows`
  /// As `rows`: where the page tells about a trial, "#kernel-3", "#trial-3", or nothing if its row is left out.
  std::vector<std::string> links;
  std::map<std::size_t, study::Trial> trials;  ///< by index into `rows`: those whose kernels are shown
  /// By index into `rows`: of the original, of finalists, and of others in their order up to `most_curves`.
  std::map<std::size_t, std::vector<study::Curve>> curves;
  std::vector<study::Job> jobs;
  std::map<study::TrialState, int> counts;  ///< without the original
  std::map<std::string, int> rejected;      ///< rule -> trials
  std::map<std::string, int> failed;
  std::map<std::string, std::string> nearest_rejected, nearest_failed;  ///< rule -> what missed it least
  double last = 0;                                                      ///< time of the last event
  std::vector<ReplacedSite> sites;
  std::vector<std::size_t> finalists;  ///< indices into `rows`, most accurate first
  std::vector<std::size_t> others;     ///< the best of the rest: highest rung, then most accurate, first

  [[nodiscard]] bool finished() const { return info.phase >= study::rung_count; }
  /// The original's row, if it has an accuracy.
  [[nodiscard]] const study::TrialSummary* original() const;
  [[nodiscard]] bool shows_kernel(std::size_t row) const;  ///< is among `finalists` or `others`
};

/// @param others  how many kernels beside the finalists are shown in full
View look_at(const study::Store& store, std::size_t others);

/// Indices of the trials in the order of tables: the original, then by rung and accuracy, highest first, then by
/// number; rejected ones last.
std::vector<std::size_t> table_order(const std::vector<study::TrialSummary>& rows);

/// Mean accuracy of a trial on each rung it has a result on.
std::map<study::Rung, double> accuracy_by_rung(const std::vector<study::Job>& jobs, int trial);

// Words and numbers as people read them, with no-break spaces before units. An optional without a value becomes "".
std::string percent(double share, int digits = 1);        ///< 0.9134 as "91.3 %"
std::string points(double share);                         ///< 0.0234 as "2.3 points"
std::string shown(const study::Json& value);              ///< a text as it is, anything else as JSON; nothing as ""
std::string in_words(const study::Json& value);           ///< the same, but structures as "key value, list (1, 2)"
std::string kernel_name(const std::string& kernel_text);  ///< from its line `kernel NAME`; "original", "assignment"
std::string time_text(double seconds);                    ///< UTC, "2024-05-01 12:30"
/// `value` over the original's; nothing if one of them is not known (0).
std::optional<double> ratio(std::int64_t value, std::int64_t original);
/// MACs, parameters: "12.3M"; "" where not known (0).
std::string count_text(std::int64_t value);
std::string accuracy_text(const std::optional<study::Measured>& accuracy);  ///< "91.3 ± 0.2 %" or "91.3 %"
std::string latency_text(const std::optional<study::Measured>& latency);    ///< "1.23 ± 0.05 ms"
std::string ratio_text(const std::optional<double>& ratio);                 ///< "0.52×"

}  // namespace kasimir::report
