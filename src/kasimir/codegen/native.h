// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/child_process.h"
#include "kasimir/codegen/c_program.h"

#include <cstdint>
#include <string>
#include <vector>

/// Generated C, compiled and run in a process of its own: a crash, a hang or an error of the compiler is a rejection
/// with its reason, never the end of the search.
namespace kasimir {

/// The widest vectors of this machine's processor.
CTarget host_target();

struct NativeOptions {
  std::string compiler = "cc";
  std::vector<std::string> flags = {"-std=gnu11", "-O3", "-march=native", "-mprefer-vector-width=512",
                                    "-ffp-contract=fast"};
  double compile_seconds = 120;
  double answer_seconds = 60;              ///< for one answer of the program
  std::int64_t memory_bytes = 8LL << 30U;  ///< of the program
  int cpu = -1;                            ///< the processor that it is pinned to; -1: any
};

/// Runs the compiler with these flags, then the arguments. Rejected as run_command().
Outcome<std::string> compile_c(const NativeOptions& options, const std::vector<std::string>& arguments);

/// One run: milliseconds by the clock and of the processor. They differ where something else ran.
struct NativeSample {
  double wall_ms = 0;
  double cpu_ms = 0;
};

/// The program that tests and times generated C (`NAME_main.c`): it takes the file of the weights and answers the lines
/// `input FILE` (runs once on the floats of FILE, writes FILE.out), `run N` (a list of N wall times in milliseconds,
/// as JSON) and `time N` (N pairs of wall and processor milliseconds). With files of images and of scores it runs on
/// all of them, compares and ends: scores are equal that differ by no more than 1e-3 of the largest one with the same
/// class for every image; of a quantised network, where a code near a tie may be the next one and change all behind it,
/// 2e-2 for 90 % of the images, with the same class for 98 %.
std::string c_main(const COptions& options);

/// Codes as WeightSlot::bits says, in whole bytes. A code that does not fit is a failed check.
std::string pack_codes(const std::vector<float>& codes, int bits);

/// Weights in the order of the program's slots. `values` is per tensor of the graph.
std::vector<float> pack_weights(const CProgram& program, const std::vector<std::vector<float>>& values);

/// Floats in the machine's own order.
void write_floats(const std::filesystem::path& path, const std::vector<float>& values);
std::vector<float> read_floats(const std::filesystem::path& path);

class NativeNetwork {
 public:
  /// Compiles and starts. Rejected with rules "native: the C compiles", "native: the program starts".
  /// @throws Error (system) if files cannot be written.
  static Outcome<NativeNetwork> build(const CProgram& program, const COptions& names, const std::vector<float>& weights,
                                      const NativeOptions& options = {});

  /// The output for an input, both as the interface orders them. Rejected with rule "native: the program runs".
  Outcome<std::vector<float>> run(const std::vector<float>& input);
  /// Runs on the last input (zeros before the first). Rejected as run().
  Outcome<std::vector<NativeSample>> time(int runs);

  /// Of a program with `COptions::timed`: processor nanoseconds of each nest in one run, the mean over some runs since
  /// the last question.
  Outcome<std::vector<double>> nest_times(std::size_t nests, int runs);

  /// The same, the fastest of several runs per nest: what nothing disturbed.
  Outcome<std::vector<double>> fastest_nest_times(std::size_t nests, int runs);

  [[nodiscard]] double compile_seconds() const { return compile_seconds_; }

 private:
  NativeNetwork(TemporaryFolder folder, ChildProcess child, double compile_seconds)
      : folder_(std::move(folder)), child_(std::move(child)), compile_seconds_(compile_seconds) {}

  TemporaryFolder folder_;
  ChildProcess child_;
  double compile_seconds_;
};

/// The first line of `compiler --version`. @throws Error (system) that says what to install if there is none.
std::string compiler_version(const std::string& compiler);

}  // namespace kasimir
