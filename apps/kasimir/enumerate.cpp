// SPDX-License-Identifier: Apache-2.0
#include "kasimir/enumerate.h"

#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/synth/enumerate.h"

#include <nlohmann/json.hpp>

namespace kasimir {

int enumerate_kernels(const Sampler& sampler, int most, bool json) {
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
  for (int n = 1; n <= most; ++n) {
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
  return 0;
}

}  // namespace kasimir
