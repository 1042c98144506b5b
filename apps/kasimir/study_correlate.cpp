// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study_correlate.h"

#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/study/correlation.h"

#include <fmt/format.h>

namespace kasimir {
namespace {

void print_json(const study::Correlations& all) {
  for (const study::CorrelationRow& row : all.rows) {
    nlohmann::ordered_json record = {
        {"what", row.what},        {"with", study::name_of(all.with)}, {"trials", row.trials}, {"tau", row.tau},
        {"low", row.interval.low}, {"high", row.interval.high},        {"seconds", nullptr}};
    if (row.seconds) record["seconds"] = *row.seconds;
    fmt::print("{}\n", record.dump());
  }
}

void print_table(const study::Correlations& all) {
  using enum Table::Align;
  Table table(
      {{"what", "", left}, {"trials", "", right}, {"tau", "", right}, {"95 %", "", right}, {"time", "", right}});
  for (const study::CorrelationRow& row : all.rows)
    table.row({row.what, std::to_string(row.trials), fmt::format("{:.2f}", row.tau),
               fmt::format("{:.2f} to {:.2f}", row.interval.low, row.interval.high),
               row.seconds ? duration_text(*row.seconds) : ""});
  fmt::print("Kendall's tau with the accuracy on rung {}, {} candidates\n\n{}", study::name_of(all.with), all.trials,
             table.str());
}

}  // namespace

int correlate(const StudyCorrelate& options) {
  study::CorrelationOptions asked;
  for (const study::Rung rung : {study::Rung::quick, study::Rung::longer, study::Rung::full})
    if (options.with == study::name_of(rung)) asked.with = rung;
  asked.least = options.least;
  asked.repeats = options.repeats;
  asked.seed = options.seed;
  const study::Correlations all = study::correlations(study::Store::view(options.path), asked);
  options.json ? print_json(all) : print_table(all);
  return 0;
}

}  // namespace kasimir
