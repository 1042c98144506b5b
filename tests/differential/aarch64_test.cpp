// SPDX-License-Identifier: Apache-2.0
#include "random_kernels.h"
#include "support/generated_c.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/files.h"
#include "kasimir/codegen/network_c.h"
#include "kasimir/interp/real.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kasimir {
namespace {

constexpr const char* compiler = "aarch64-linux-gnu-gcc";
constexpr const char* emulator = "qemu-aarch64";

bool installed(const char* program) { return run_command({program, "--version"}).ok(); }

/// Compiles for the other processor and runs there once.
std::vector<float> run_emulated(const GraphC& made, const COptions& options, const std::vector<float>& weights,
                                const std::vector<float>& input, std::string& failure) {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& end) { return (folder.path() / (options.name + end)).string(); };
  write_file(at(".h"), made.c.header);
  write_file(at(".c"), made.c.source);
  write_file(at("_main.c"), c_main(options));
  write_floats(at(".weights"), weights);
  write_floats(at(".input"), input);
  std::vector<std::string> command{
      compiler,  "-std=gnu11",         "-O2", "-Wall",     "-Wextra", "-Werror",     "-Wno-psabi",
      "-static", "-ffp-contract=fast", "-o",  at("_main"), at(".c"),  at("_main.c"), "-lm"};
  if (options.threads > 1) command.emplace_back("-fopenmp");
  if (const auto compiled = run_command(command); !compiled.ok()) {
    failure = compiled.rejection().str() + "\n" + made.c.source;
    return {};
  }
  const auto ran = run_command({emulator, at("_main"), at(".weights"), at(".input"), at(".output")});
  if (!ran.ok()) {
    failure = ran.rejection().str();
    return {};
  }
  return read_floats(at(".output"));
}

TEST(Aarch64, TheFileForAnyProcessorComputesThereWhatTheInterpreterComputes) {
  if (!installed(compiler) || !installed(emulator))
    GTEST_SKIP() << "needs " << compiler << " and " << emulator
                 << " (on Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)";
  constexpr std::uint64_t seed = 6464;
  std::size_t compared = 0;
  double worst = 0;
  for_random_kernels(seed, wanted_kernels(12), [&](const RandomKernel& drawn) {
    auto [graph, given] = testing::frozen_kernel(drawn.kernel, drawn.site, drawn.batch, seed + drawn.number);
    TensorValues<double> values = given;
    RealDomain numbers;
    evaluate(graph, numbers, values);
    double everywhere = 0;
    for (const auto& tensor : values) everywhere = std::max(everywhere, testing::largest(tensor));
    if (!std::isfinite(everywhere) || everywhere >= 1e12) return;
    const auto& expected = values[static_cast<std::size_t>(graph.output)];
    COptions options;
    options.threads = drawn.number % 4 == 3 ? 2 : 1;
    const GraphC made = graph_as_portable_c(graph, options);
    std::vector<std::vector<float>> floats(made.program.tensors.size());
    for (std::size_t t = 0; t < given.size(); ++t) floats[t].assign(given[t].begin(), given[t].end());
    std::string failure;
    const auto output = run_emulated(made, options, pack_weights(made.c, floats),
                                     floats[static_cast<std::size_t>(made.program.input)], failure);
    ASSERT_EQ(failure, "") << drawn.origin << ", site " << drawn.site.str() << '\n' << str(drawn.kernel);
    const double difference = testing::largest_difference(output, expected);
    const double largest = testing::largest(expected);
    EXPECT_LE(difference, 1e-4 * largest + 2e-6 * everywhere) << drawn.origin << ", site " << drawn.site.str() << '\n'
                                                              << str(drawn.kernel);
    worst = std::max(worst, largest > 0 ? difference / largest : difference);
    ++compared;
  });
  std::printf("%zu kernels on aarch64; largest error %.1e of the output's largest value\n", compared, worst);
  EXPECT_GE(compared, 8U);
}

}  // namespace
}  // namespace kasimir
