// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/function.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace kasimir {

/// Elements that an array of the field needs room for behind its own: whole vectors are read and written. What lies
/// there is of no account.
inline constexpr std::size_t field_slack = 64;

/// How an operand of FieldVector::combine goes with the rows of the result.
enum class FieldRows : std::uint8_t {
  own,   ///< has the same rows
  same,  ///< one row for all rows
  each,  ///< one element per row
};

/// A row of neighbours: element i of it, first <= i < last, is at from + (i - first) * stride, the others are zeros.
struct FieldRow {
  std::uint32_t from;
  std::uint16_t first;
  std::uint16_t last;
  bool operator==(const FieldRow&) const = default;
};

/// Arithmetic on arrays of elements of the field (field_arithmetic.h), for one instruction set. All of them give the
/// same values. Every array has field_slack; results are another array than the operands, unless said otherwise.
struct FieldVector {
  const char* name;  ///< "avx512", "avx2", "plain"

  /// out[i] = fn(a[i]); `out` may be `a`.
  void (*apply)(Fn fn, const std::uint32_t* a, std::uint32_t* out, std::size_t size);
  void (*inverse)(const std::uint32_t* a, std::uint32_t* out, std::size_t size);
  void (*rank)(const std::uint32_t* a, std::uint32_t* out, std::size_t size);
  void (*unrank)(const std::uint32_t* a, std::uint32_t* out, std::size_t size);

  /// out[r][i] = fn(a, b), fn being add, sub, mul, max or min; at most one of the operands has no rows of its own.
  void (*combine)(Fn fn, const std::uint32_t* a, FieldRows rows_a, const std::uint32_t* b, FieldRows rows_b,
                  std::uint32_t* out, std::size_t rows, std::size_t length);

  /// out[o][i] = sum over r of a[o][r][i].
  void (*sum)(const std::uint32_t* a, std::uint32_t* out, std::size_t outer, std::size_t reduced, std::size_t inner);
  /// out[o][i] = the largest a[o][r][i] as whole numbers: of ranks.
  void (*largest)(const std::uint32_t* a, std::uint32_t* out, std::size_t outer, std::size_t reduced,
                  std::size_t inner);

  /// out[b][m][n] = sum over k of rows[b][m][k] * lanes[b][k][n].
  void (*contract)(const std::uint32_t* rows, const std::uint32_t* lanes, std::uint32_t* out, std::size_t batch,
                   std::size_t m, std::size_t k, std::size_t n);

  /// The elements of `count` rows of `length` elements, one row behind the other.
  void (*copy)(const std::uint32_t* a, const FieldRow* rows, std::uint32_t* out, std::size_t count, std::size_t length,
               std::ptrdiff_t stride);

  /// Sum of a[i] * b[i].
  std::uint32_t (*dot)(const std::uint32_t* a, const std::uint32_t* b, std::size_t size);
  /// Sum of a[i] * coefficient(i, key).
  std::uint32_t (*hash)(const std::uint32_t* a, std::size_t size, std::uint32_t key);
  /// out[i] = a random element, a function of i and the seed.
  void (*fill)(std::uint64_t seed, std::uint32_t* out, std::size_t size);
};

/// The fastest that this machine runs.
const FieldVector& field_vector();
/// All that this machine runs, the fastest first.
std::span<const FieldVector> field_vectors();

}  // namespace kasimir
