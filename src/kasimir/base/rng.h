// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kasimir {

/// Mixes 64 bits so that each output bit depends on each input bit (the finaliser of SplitMix64: Steele, Lea and
/// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Counter-based random numbers: value i of stream (seed, stream) is a pure function of the three, so work that is
/// divided by stream gives the same result on any number of threads.
class Rng {
 public:
  constexpr explicit Rng(std::uint64_t seed, std::uint64_t stream = 0)
      : key_(mix_bits(mix_bits(seed) ^ (stream * 0xD1342543DE82EF95ULL))) {}

  constexpr std::uint64_t bits() { return mix_bits(key_ ^ mix_bits(counter_++)); }

  /// Uniform in 0 .. n-1; n = 0 is a failed check. The bias of the multiply-shift is below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t n) {
    if (n == 0) fail_empty();
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(bits()) * n) >> 64);
  }
  /// Uniform in lo .. hi, both included; hi < lo is a failed check.
  constexpr std::int64_t between(std::int64_t lo, std::int64_t hi) {
    if (hi < lo) fail_empty();
    const std::uint64_t span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;  // 0: all of 2^64
    const std::uint64_t step = span == 0 ? bits() : below(span);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + step);
  }
  /// Uniform in [0, 1).
  constexpr double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// True with probability p.
  constexpr bool chance(double p) { return unit() < p; }
  /// Standard normal, by Box and Muller's transform.
  double normal();

  /// One element, each equally likely; an empty range is a failed check.
  template <typename Range>
  constexpr auto& pick(Range& range) {
    return range[below(range.size())];
  }

 private:
  [[noreturn]] static void fail_empty();

  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace kasimir
