// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_cosearch.h"

#include "kasimir/cosearch/bed/planted.h"
#include "kasimir/cosearch/bed/tables.h"

#include <fmt/format.h>

#include <cstdio>

namespace kasimir {

int bench_cosearch(std::uint64_t seed) {
  TableBedOptions tables;
  tables.seed = seed;
  fmt::print("{}\n", str(run_table_bed(tables), tables));
  std::fflush(stdout);
  PlantedOptions planted;
  planted.seed = seed;
  fmt::print("{}", str(run_planted_bed(planted_modes(), planted), planted));
  return 0;
}

}  // namespace kasimir
