// SPDX-License-Identifier: Apache-2.0
#include "kasimir/enumerate.h"

#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/synth/enumerate.h"

#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

void print_estimate(int primitives, const LengthEstimate& found, bool json) {
  if (json) {
    fmt::print("{}\n", nlohmann::json{{"primitives", primitives},
                                      {"prefixes", found.prefixes},
                                      {"sampled", found.sampled},
                                      {"kernels", found.kernels},
                                      {"grown", found.grown},
                                      {"grown_error", found.grown_error},
                                      {"kept", found.kept},
                                      {"kept_error", found.kept_error},
                                      {"least_distinct", found.least_distinct},
                                      {"most_distinct", found.most_distinct}}
                           .dump());
    return;
  }
  fmt::print(
      "\n{} primitives, estimated from {} of {} beginnings: {} +- {} grown (95 %), {} +- {} neither idle nor shorter, "
      "{} to {} distinct\n",
      primitives, grouped(static_cast<std::int64_t>(found.sampled)), grouped(static_cast<std::int64_t>(found.prefixes)),
      si(found.grown), si(1.96 * found.grown_error), si(found.kept), si(1.96 * found.kept_error),
      si(found.least_distinct), si(found.most_distinct));
}

}  // namespace

int enumerate_kernels(const Sampler& sampler, int most, std::size_t prefixes, bool json) {
  SampleMemory memory(sampler);
  Enumeration enumeration(memory.growth().world(), {});
  Table table({{"primitives", ""},
               {"grown", ""},
               {"idle step", ""},
               {"same form", ""},
               {"same function", ""},
               {"distinct", ""},
               {"without fingerprint", ""}});
  const auto number = [](std::uint64_t count) { return grouped(static_cast<std::int64_t>(count)); };
  const bool estimates = prefixes > 0 && most > 1;
  for (int n = 1; n <= (estimates ? most - 1 : most); ++n) {
    const LengthCounts counts = enumeration.list(n, [](const EnumeratedKernel&) {});
    if (json)
      fmt::print("{}\n", nlohmann::json{{"primitives", n},
                                        {"grown", counts.grown},
                                        {"idle", counts.idle},
                                        {"same_form", counts.same_form},
                                        {"same_function", counts.same_function},
                                        {"distinct", counts.distinct},
                                        {"without_fingerprint", counts.unidentified}}
                             .dump());
    table.row({std::to_string(n), number(counts.grown), number(counts.idle), number(counts.same_form),
               number(counts.same_function), number(counts.distinct), number(counts.unidentified)});
  }
  if (!json) fmt::print("{}", table.str());
  if (estimates) print_estimate(most, enumeration.estimate(most, prefixes, sampler.seed()), json);
  return 0;
}

}  // namespace kasimir
