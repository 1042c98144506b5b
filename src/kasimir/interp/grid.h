// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The arithmetic of quantised networks: what is computed where, so that an evaluation in integers (IntegerDomain) and
/// one in double precision (GridDomain) give the same bits. docs/quantisation.md tells it in full. "Rounded" is to the
/// nearest, ties to even; what is beyond an end stays there.
///
/// Between stages every value is a multiple of 2^-16, held in 32 bits.
///
/// Inside a stage that is no weighted sum, every value is a multiple of 2^-32, at most 2^20 in size, and is rounded to
/// that after every operation:
///   - sums, differences, max, min, neg, abs, relu are exact;
///   - a product is rounded once;
///   - what depends on stored numbers only is computed beforehand, in double precision. Multiplied with a value it is
///     rounded to 20 significant bits (Dyadic); anywhere else it is rounded to 20 bits, then to a multiple of 2^-32;
///   - functions and quotients take their argument rounded to a multiple of 2^-16 in 32 bits and give such a multiple
///     (GridTables); a quotient takes both operands as they are;
///   - a reduction adds in the order of the iterators, and its factor 1/n divides; any other factor multiplies as a
///     Dyadic. The result is rounded to a multiple of 2^-16.
namespace kasimir {

inline constexpr int grid_bits = 16;  ///< fractional bits between stages
inline constexpr int fine_bits = 32;  ///< fractional bits inside a stage
inline constexpr std::int64_t grid_lowest = -(std::int64_t{1} << 31);
inline constexpr std::int64_t grid_highest = (std::int64_t{1} << 31) - 1;
/// 2^20 in units of 2^-32: such values are exact in double precision.
inline constexpr std::int64_t fine_most = std::int64_t{1} << 52;

/// Functions by table: the argument is rounded to a multiple of 2^-argument_bits with 16 bits, and the value of the
/// function there is rounded to a multiple of 2^-16.
///   exp, sigmoid  2^-11, -16 .. 16
///   tanh          2^-12, -8 .. 8
///   gelu          2^-12, -8 .. 8; above it is its argument, below it is zero
inline constexpr int exp_argument_bits = 11;
inline constexpr int tanh_argument_bits = 12;
inline constexpr std::int64_t table_lowest = -(1 << 15);
inline constexpr std::int64_t table_highest = (1 << 15) - 1;
/// A whole turn of sin has so many entries: the phase is the argument times Dyadic(2^16 / 2 pi), rounded.
inline constexpr std::int64_t turn = 1 << 16;
// Without a table, rounded once: sqrt (of negative values 0), rsqrt (of values below 2^-16 as of 2^-16), hardswish, and
// quotients (divisors below 2^-32 count as 2^-32).

}  // namespace kasimir
