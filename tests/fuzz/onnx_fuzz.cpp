// SPDX-License-Identifier: Apache-2.0
// ONNX files changed at random: each is a network or an error that names the file, within bounds of time and memory.
//
//   onnx_fuzz --seed 7 --seconds 900        until the processor time is over
//   onnx_fuzz --seed 7 --first 123 --rounds 1 --keep case.onnx   one round again, its file kept
#include "fuzz/onnx_mutations.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/network/coverage.h"
#include "kasimir/network/lower.h"
#include "kasimir/network/norms.h"
#include "kasimir/onnx/import.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <map>

namespace kasimir::test {
namespace {

constexpr int seconds_for_one = 10;
constexpr std::size_t memory_for_one = std::size_t{2} << 30;

char at_hand[128];  ///< what a signal handler may print

extern "C" void too_long(int) {
  const std::string_view why = "took longer than 10 s of processor time\n";
  [[maybe_unused]] auto written = write(STDERR_FILENO, at_hand, std::char_traits<char>::length(at_hand));
  written = write(STDERR_FILENO, why.data(), why.size());
  _exit(1);
}

struct Options {
  std::uint64_t seed = 1, first = 0, rounds = 0;
  double seconds = 0;
  std::string keep;
};

std::string bytes_of_round(const std::vector<onnx::ModelProto>& models, Rng& random) {
  onnx::ModelProto model = random.pick(models);
  // One change shows most faults alone; several get past the first check.
  const std::uint64_t changes = random.below(7);
  for (std::uint64_t i = 0; i < changes; ++i) mutate(model, random);
  std::string bytes = model.SerializeAsString();
  if (changes == 0 || random.chance(0.1)) mutate(bytes, random);
  return bytes;
}

/// "network", or the beginning of the error. @throws whatever should not come.
std::string outcome(const std::string& bytes) {
  try {
    const Network network = parse_onnx(bytes, "fuzzed.onnx").network;
    (void)network.str();
    (void)network.cost();
    (void)coverage(network, {{"*"}, {}});
    (void)convolutions_without_norms(network);
    constexpr std::int64_t few = 1 << 20;
    if (network.cost().macs < few) (void)lower_network({&network, {}}, 1);
    return "network";
  } catch (const Error& error) {
    if (error.fault() != Fault::input) throw;
    return "refused";
  }
}

int run(const Options& options) {
  std::vector<onnx::ModelProto> models;
  for (const char* name :
       {"mixed-script.onnx", "mixed-dynamo.onnx", "transformer-script.onnx", "transformer-dynamo.onnx"}) {
    const auto path = std::filesystem::path(KASIMIR_SOURCE_DIR) / "tests/reference/onnx" / name;
    if (!models.emplace_back().ParseFromString(read_file(path))) return 1;
  }
#ifndef __SANITIZE_ADDRESS__  // which has limits of its own, below
  const rlimit memory{memory_for_one, memory_for_one};
  setrlimit(RLIMIT_AS, &memory);
#endif
  std::signal(SIGPROF, too_long);
  std::map<std::string, std::uint64_t> seen;
  const auto began = std::clock();
  const auto over = [&](std::uint64_t round) {
    if (options.rounds > 0 && round - options.first >= options.rounds) return true;
    return options.seconds > 0 && static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC > options.seconds;
  };
  std::uint64_t round = options.first;
  for (; !over(round); ++round) {
    const auto text = fmt::format("onnx_fuzz --seed {} --first {} --rounds 1: ", options.seed, round);
    std::fill_n(std::copy_n(text.begin(), std::min(text.size(), sizeof at_hand - 1), at_hand), 1, '\0');
    Rng random(options.seed, round);
    const std::string bytes = bytes_of_round(models, random);
    if (!options.keep.empty()) write_file(options.keep, bytes);
    const itimerval limit{{0, 0}, {seconds_for_one, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    try {
      ++seen[outcome(bytes)];
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}{}\n", text, error.what());
      return 1;
    }
  }
  fmt::print("seed {}, {} files: {} networks, {} refused\n", options.seed, round - options.first, seen["network"],
             seen["refused"]);
  // Both must occur, or nothing was tried.
  return round - options.first < 100 || (seen["network"] > 0 && seen["refused"] > 0) ? 0 : 1;
}

}  // namespace
}  // namespace kasimir::test

#ifdef __SANITIZE_ADDRESS__
extern "C" const char* __asan_default_options() { return "hard_rss_limit_mb=2048:max_allocation_size_mb=2048"; }
#endif

int main(int count, char** words) {
  kasimir::test::Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const std::string value = words[i + 1];
    if (name == "--keep") options.keep = value;
    const auto number = static_cast<std::uint64_t>(kasimir::parse_integer(value).value_or(0));
    if (name == "--seed") options.seed = number;
    if (name == "--first") options.first = number;
    if (name == "--rounds") options.rounds = number;
    if (name == "--seconds") options.seconds = static_cast<double>(number);
  }
  if (options.rounds == 0 && options.seconds == 0) options.rounds = 4000;
  return kasimir::test::run(options);
}
