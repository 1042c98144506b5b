// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/kernel/function.h"

#include <cstdint>

/// Arithmetic of the finite field of p = 2^31 - 1 elements (p mod 4 = 3), one number at a time. field_vector.h does the
/// same to arrays.
namespace kasimir::field {

inline constexpr std::uint32_t prime = 2147483647;

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * b % prime);
}
constexpr std::uint32_t plus(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) + b) % prime);
}
constexpr std::uint32_t minus(std::uint32_t a) { return a == 0 ? 0 : prime - a; }
constexpr std::uint32_t half(std::uint32_t a) { return multiply(a, (prime + 1) / 2); }

constexpr std::uint32_t power(std::uint32_t a, std::uint32_t exponent) {
  std::uint32_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, a);
    a = multiply(a, a);
  }
  return result;
}

constexpr std::uint32_t inverse(std::uint32_t a) { return power(a, prime - 2); }  ///< 0 for 0
/// Half of the elements but 0 are squares; these count as positive.
constexpr bool positive(std::uint32_t a) { return power(a, (prime - 1) / 2) == 1; }
constexpr std::uint32_t absolute(std::uint32_t a) { return positive(a) ? a : minus(a); }
/// The root of |a| that is itself positive.
constexpr std::uint32_t root(std::uint32_t a) { return power(a, (prime + 1) / 4); }

/// A bijection of 32 bits in which each output bit depends on each input bit ("lowbias32": Chris Wellons, "Prospecting
/// for hash functions", 2018).
constexpr std::uint32_t scatter(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

/// The number whose product with an odd number is 1 modulo 2^32, by Newton's iteration.
constexpr std::uint32_t reciprocal(std::uint32_t odd) {
  std::uint32_t x = odd;
  for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
  return x;
}

/// The inverse of scatter.
constexpr std::uint32_t unscatter(std::uint32_t x) {
  x ^= x >> 16;
  x *= reciprocal(0x846ca68bU);
  x ^= (x >> 15) ^ (x >> 30);
  x *= reciprocal(0x7feb352dU);
  return x ^ (x >> 16);
}

/// Makes each function's scattering another one.
constexpr std::uint32_t salt(Fn fn) { return static_cast<std::uint32_t>(mix_bits(static_cast<std::uint64_t>(fn))); }

/// A fixed random function per key, never 0.
constexpr std::uint32_t keyed(Fn fn, std::uint32_t a) {
  const std::uint32_t x = scatter(a ^ salt(fn)) >> 1;
  return x < 1 ? 1 : x < prime ? x : prime - 1;
}

/// Maxima and minima are by a fixed random order of the elements, in which no two are equal.
constexpr std::uint32_t rank(std::uint32_t a) { return scatter(a ^ salt(Fn::max)); }
constexpr std::uint32_t unrank(std::uint32_t rank) { return unscatter(rank) ^ salt(Fn::max); }

/// Element `index` of a fixed random sequence.
constexpr std::uint32_t coefficient(std::uint32_t index, std::uint32_t key) {
  return (scatter(index ^ key) >> 1) % prime;
}

}  // namespace kasimir::field
