// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/field.h"
#include "kasimir/synth/flat_kernel.h"

#include <tsl/robin_map.h>

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace kasimir {

/// What a kernel is known by, and what it costs.
struct Kinship {
  Identity form;                        ///< its normal form
  std::optional<Fingerprint> function;  ///< what it computes; none: too large to be evaluated
  double cost = 0.0;                    ///< MACs and parameters over the network
};

/// What a set of what was seen says of a kernel.
enum class Novelty : std::uint8_t {
  fresh,
  same_form,      ///< its normal form is known
  same_function,  ///< its form is not, but what it computes
  cheaper,        ///< one of both is known, at a higher cost
  told_apart      ///< its function seemed to be known, and is another one
};
using NoveltyCounts = std::array<std::uint64_t, 5>;  ///< by Novelty
constexpr bool worth_keeping(Novelty novelty) {
  return novelty != Novelty::same_form && novelty != Novelty::same_function;
}

/// The kernels that were seen in this run and earlier ones, in a file to which records are only appended: a line that
/// names the format's version and the space, then 48 bytes a kernel, little-endian, with a check of their own. A tail
/// that a crash left half-written is cut off when the file is opened. One process at a time.
class SeenSet {
 public:
  /// Opens the file, or makes it. `space` tells apart what must not be mixed: what forms and functions mean depends on
  /// the sites and the primitives.
  /// @throws Error (input) on a file of another kind, version or space, or with a damaged record before whole ones;
  /// (system) if another process has it open, or on a refused read or write.
  SeenSet(std::filesystem::path path, std::uint64_t space);
  SeenSet(const SeenSet&) = delete;
  SeenSet& operator=(const SeenSet&) = delete;
  /// What was not flushed is lost.
  ~SeenSet();

  /// Says what is known of the kernel, and remembers what is worth keeping: the cheapest per form and per function.
  /// `differs`, if there is one, is asked where the form is new and the function is known: a fingerprint is taken at
  /// one tiny site.
  Novelty add(const Kinship& kernel, const std::function<bool()>& differs = {});
  /// Writes what was added. @throws Error (system), on a full disk for instance; the file is then as it was before.
  void flush();

  [[nodiscard]] std::size_t records() const { return records_; }        ///< in the file and to be written
  [[nodiscard]] std::size_t dropped_bytes() const { return dropped_; }  ///< that were cut off

 private:
  struct Hash {
    std::size_t operator()(const Identity& id) const { return id.low; }
    std::size_t operator()(const Fingerprint& id) const { return id.low; }
  };
  void open();
  void load(std::string_view content, std::uint64_t space);
  void remember(const Kinship& kernel);
  void write(std::string_view bytes);

  std::filesystem::path path_;
  int file_ = -1;
  std::size_t size_ = 0;  ///< bytes of the file
  std::size_t records_ = 0;
  std::size_t dropped_ = 0;
  std::string unwritten_;
  tsl::robin_map<Identity, double, Hash> forms_;         ///< the least cost of each
  tsl::robin_map<Fingerprint, double, Hash> functions_;  ///< the same
};

}  // namespace kasimir
