// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_nests.h"

#include <variant>

namespace kasimir {

/// How a nest is computed.
struct UseLoops {
  bool operator==(const UseLoops&) const = default;
};
using Method = std::variant<UseLoops, RegisterBlock, WinogradBlock>;
std::string str(const Method& method);  ///< "loops", "direct 1x8x2", "winograd F4 16/8x2"
/// Reads what str() prints; nothing for another text.
std::optional<Method> parse_method(const std::string& text);

/// The order of the elements of images and feature maps that cross the interface.
enum class ImageLayout : std::uint8_t { nchw, nhwc };

struct COptions {
  std::string name = "net";  ///< prefix of the functions and of the header
  CTarget target;
  /// Of one run, by OpenMP. Each takes its share of the batch; where that has fewer runs of the last segment than there
  /// are threads, they share every nest that takes long enough.
  int threads = 1;
  /// Nests that take less on one thread stay there: a meeting of threads costs about a tenth of it.
  double shortest_shared_seconds = 5e-6;
  ImageLayout input = ImageLayout::nchw;
  ImageLayout output = ImageLayout::nchw;
  bool quantised = false;  ///< the program's check allows for codes of values near a tie: see c_main
  bool timed =
      false;  ///< for tuning, on one thread: `NAME_times` sums the nanoseconds of each nest, so it is global state
};

/// A tensor that the caller provides, in the order of the weights' array.
struct WeightSlot {
  std::string name;  ///< of the tensor in the graph
  int tensor = -1;
  std::int64_t offset = 0;  ///< in floats
  std::int64_t size = 0;    ///< values
  /// Of each value, where they are codes: two's complement, one after another, the first one in the lowest bits of the
  /// first byte; the next tensor begins with a whole float. 0: floats.
  int bits = 0;
  [[nodiscard]] std::int64_t floats() const { return bits == 0 ? size : (size * bits + 31) / 32; }
};

struct CProgram {
  std::string header;
  std::string source;
  std::size_t body_at = 0;           ///< in `source`: behind what several programs in one file need only once
  std::vector<std::string> symbols;  ///< what the body defines
  bool meets = false;                ///< threads meet inside of a run, at the gates of c_team.h
  std::vector<WeightSlot> weights;
  std::int64_t weights_size = 0;    ///< floats
  std::int64_t prepared_size = 0;   ///< floats
  std::int64_t workspace_size = 0;  ///< floats
  std::int64_t input_size = 0;      ///< floats
  std::int64_t output_size = 0;     ///< floats
  int threads = 1;                  ///< that one run uses
  std::vector<Method> methods;      ///< per nest of `run`
};

/// The text of the header, once the sizes are known.
std::string c_header(const NestProgram& program, const COptions& options, const CProgram& made);

/// The methods that can compute each nest of the program, the default first. Which of two fits the default has depends
/// on sizes only; tuning measures.
std::vector<std::vector<Method>> possible_methods(const NestProgram& program, const CTarget& target);

/// The first of them for each nest.
std::vector<Method> default_methods(const NestProgram& program, const CTarget& target);

/// One self-contained C11 file: `NAME_prepare` turns weights into their packed form, `NAME_init` clears a workspace,
/// `NAME_run` computes. No allocation, no global state. `methods` has one entry per nest of `run`.
CProgram generate_c(const NestProgram& program, const std::vector<Method>& methods, const COptions& options = {});

/// With the default method everywhere.
CProgram generate_c(const NestProgram& program, const COptions& options = {});

}  // namespace kasimir
