// SPDX-License-Identifier: Apache-2.0
#include "kasimir/quantize_outliers.h"

#include "kasimir/base/table.h"
#include "kasimir/number/catalog.h"

namespace kasimir {

std::vector<RoundedScore> compare_roundings(Model& model, const NetworkPlan& plan, const Dataset& data,
                                            std::span<const std::int32_t> calibration, const BitPlan& bits,
                                            const Outliers& outliers) {
  struct Rule {
    std::string_view quantizer, range;
  };
  std::vector<RoundedScore> scores;
  for (const Rule& of : {Rule{"symmetric", "mse"}, Rule{"symmetric", "percentile"}, Rule{"symmetric", "min_max"},
                         Rule{"symmetric", "learned"}, Rule{"affine", "mse"}, Rule{"original", "min_max"}}) {
    const Quantizer& rounds = quantizer(of.quantizer);
    const RoundingRule rule{&rounds, &range_estimator(of.range), rounds.lawful};
    const auto accuracy = [&](const Outliers& with) {
      return score_rounded(model, plan, data.train, calibration, bits, rule, with, data.test).accuracy;
    };
    scores.push_back({std::string(of.quantizer), std::string(of.range), accuracy({}), accuracy(outliers)});
  }
  return scores;
}

std::string str(const std::vector<RoundedScore>& scores, const Outliers& outliers) {
  Table table({{"quantizer", "", Table::Align::left},
               {"range", "", Table::Align::left},
               {"clean calibration", "test %"},
               {fmt::format("{:g} % outlier images", 100 * outliers.images), "test %"},
               {"change", "points"}});
  for (const RoundedScore& one : scores)
    table.row({one.quantizer, one.range, fmt::format("{:.2f}", 100 * one.clean),
               fmt::format("{:.2f}", 100 * one.spoilt), fmt::format("{:+.2f}", 100 * (one.spoilt - one.clean))});
  return table.str() + fmt::format("\nin outlier images {:g} % of the pixels are {:g}, where white is 1\n",
                                   100 * outliers.pixels, outliers.value);
}

}  // namespace kasimir
