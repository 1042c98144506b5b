// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/machine_peak.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"

#include <sstream>

namespace kasimir {
namespace {

// Twelve sums hide the latency of multiply-adds (4 cycles, up to 2 a cycle) and fit into sixteen registers. They are
// variables of their own: of an array, compilers have kept some in memory. The fastest of several rounds counts: a peak
// is what nothing disturbed.
constexpr int sums = 12;

constexpr std::string_view program = R"(
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
typedef float vf __attribute__((vector_size(4 * LANES)));
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
@static KSM_APART vf reads(const vf *from, long vectors) {
  vf sum[8];
  memset(sum, 0, sizeof sum);
  for (long i = 0; i < vectors; i += 8)
    for (int k = 0; k < 8; ++k) sum[k] += from[i + k];
  for (int k = 1; k < 8; ++k) sum[0] += sum[k];
  return sum[0];
}
int main(void) {
  volatile float keep = 0;
  double best = 0;
  vf a, b;
  for (int i = 0; i < LANES; ++i) a[i] = 1e-3f, b[i] = 1e-3f;
  const long rounds = 400000;
  for (int sample = 0; sample < 20; ++sample) {
    const double begin = seconds();
    keep += multiply_adds(rounds, a, b)[0];
    const double rate = (double)rounds * SUMS / (seconds() - begin);
    if (rate > best) best = rate;
  }
  printf("%.6e", best);
  for (long bytes = 1l << 15; bytes <= 1l << 27; bytes *= 4) {
    vf *from = aligned_alloc(4096, (size_t)bytes);
    if (from == NULL) return 4;
    memset(from, 0, (size_t)bytes);
    const long vectors = bytes / (long)sizeof(vf), times = 1 + (1l << 26) / bytes;
    best = 0;
    for (int sample = 0; sample < 5; ++sample) {
      const double begin = seconds();
      for (long t = 0; t < times; ++t) keep += reads(from, vectors)[0];
      const double rate = (double)bytes * (double)times / (seconds() - begin);
      if (rate > best) best = rate;
    }
    free(from);
    printf(" %ld %.6e", bytes, best);
  }
  printf("\n");
  return 0;
}
)";

/// A function that multiplies and adds in registers only, with no product that could be computed once.
std::string multiply_adds() {
  std::string begin;
  std::string step;
  std::string end;
  for (int i = 0; i < sums; ++i) {
    begin += fmt::format("  vf s{0} = a * {0}.0f;\n", i);
    step += fmt::format("    s{0} = s{0} * a + b;\n", i);
    end += fmt::format(" + s{}", i);
  }
  return fmt::format(
      "static KSM_APART vf multiply_adds(long rounds, vf a, vf b) {{\n{}  for (long r = 0; r < rounds; ++r) {{\n{}  "
      "}}\n"
      "  return a{};\n}}\n",
      begin, step, end);
}

}  // namespace

double MachinePeak::bandwidth_of(std::int64_t bytes) const {
  for (const auto& [size, rate] : bandwidth)
    if (size >= bytes) return rate;
  return bandwidth.back().second;
}

Outcome<MachinePeak> measure_peak(const CTarget& target, const NativeOptions& options) {
  compiler_version(options.compiler);  // says what to install where there is none
  const TemporaryFolder folder;
  const std::string source = (folder.path() / "peak.c").string();
  const std::string binary = (folder.path() / "peak").string();
  std::string text(program);
  text.replace(text.find('@'), 1, multiply_adds());
  write_file(source, fmt::format("#define _POSIX_C_SOURCE 200809L\n#define LANES {}\n#define SUMS {}\n{}{}",
                                 target.lanes, sums, c_includes(), text));
  if (const auto compiled = compile_c(options, {"-o", binary, source}); !compiled.ok()) return compiled.rejection();
  ChildLimits limits;
  limits.cpu = options.cpu;
  const auto said = run_command({binary}, limits);
  if (!said.ok()) return said.rejection();
  MachinePeak peak;
  peak.lanes = target.lanes;
  std::istringstream numbers(*said);
  numbers >> peak.vector_operations;
  std::int64_t bytes = 0;
  double rate = 0;
  while (numbers >> bytes >> rate) peak.bandwidth.emplace_back(bytes, rate);
  if (peak.bandwidth.empty()) return Rejection{"the peak is measured", *said};
  return peak;
}

}  // namespace kasimir
