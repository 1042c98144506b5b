// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/field_vector.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/field_arithmetic.h"

#include <array>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define KASIMIR_LANE_INLINE KASIMIR_LANE_TARGET __attribute__((always_inline)) inline
#define KASIMIR_LANE_TABLE(name) \
  FieldVector { name, apply, inverse, rank, unrank, combine, sum, largest, contract, copy, dot, hash, fill }

namespace kasimir {
namespace {

// The same text is compiled for each instruction set, because GCC's own clones of plain loops multiply 32-bit lanes to
// 64 bits with twice the instructions.
#ifdef __x86_64__
// GCC 12 warns of its own unmasked forms; a full mask costs nothing.
namespace avx512 {
#define KASIMIR_LANE_BYTES 64
#define KASIMIR_LANE_GROUP 4
#define KASIMIR_LANE_WIDTH 4
#define KASIMIR_LANE_TARGET __attribute__((target("avx512f")))
#define KASIMIR_LANE_MULTIPLY(a, b) ((U64)_mm512_maskz_mul_epu32(0xff, (__m512i)(a), (__m512i)(b)))
#define KASIMIR_LANE_SQUARE(a) ((U64)_mm512_maskz_mul_epi32(0xff, (__m512i)(a), (__m512i)(a)))
#define KASIMIR_LANE_LEAST(a, b) ((U32)_mm512_maskz_min_epu32(0xffff, (__m512i)(a), (__m512i)(b)))
#define KASIMIR_LANE_PART(from, first, last) \
  ((U32)_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1U << (last)) - (1U << (first))), from))
#include "kasimir/interp/field_lanes.inc"
#include "kasimir/interp/field_loops.inc"
#undef KASIMIR_LANE_BYTES
#undef KASIMIR_LANE_GROUP
#undef KASIMIR_LANE_WIDTH
#undef KASIMIR_LANE_TARGET
#undef KASIMIR_LANE_MULTIPLY
#undef KASIMIR_LANE_SQUARE
#undef KASIMIR_LANE_LEAST
#undef KASIMIR_LANE_PART
constexpr FieldVector table = KASIMIR_LANE_TABLE("avx512");
}  // namespace avx512

namespace avx2 {
#define KASIMIR_LANE_BYTES 32
#define KASIMIR_LANE_GROUP 2
#define KASIMIR_LANE_WIDTH 2
#define KASIMIR_LANE_TARGET __attribute__((target("avx2")))
#define KASIMIR_LANE_MULTIPLY(a, b) ((U64)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#define KASIMIR_LANE_SQUARE(a) ((U64)_mm256_mul_epi32((__m256i)(a), (__m256i)(a)))
#define KASIMIR_LANE_LEAST(a, b) ((U32)_mm256_min_epu32((__m256i)(a), (__m256i)(b)))
#include "kasimir/interp/field_lanes.inc"
#include "kasimir/interp/field_loops.inc"
#undef KASIMIR_LANE_BYTES
#undef KASIMIR_LANE_GROUP
#undef KASIMIR_LANE_WIDTH
#undef KASIMIR_LANE_TARGET
#undef KASIMIR_LANE_MULTIPLY
#undef KASIMIR_LANE_SQUARE
#undef KASIMIR_LANE_LEAST
constexpr FieldVector table = KASIMIR_LANE_TABLE("avx2");
}  // namespace avx2
#endif

namespace plain {
#define KASIMIR_LANE_BYTES 16
#define KASIMIR_LANE_GROUP 2
#define KASIMIR_LANE_WIDTH 2
#define KASIMIR_LANE_TARGET
#ifdef __x86_64__
#define KASIMIR_LANE_MULTIPLY(a, b) ((U64)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#else
#define KASIMIR_LANE_MULTIPLY(a, b) (((a) & splat_wide(0xffffffffU)) * ((b) & splat_wide(0xffffffffU)))
#endif
#define KASIMIR_LANE_SQUARE(a) KASIMIR_LANE_MULTIPLY(lifted(a), lifted(a))
#define KASIMIR_LANE_LEAST(a, b) ((a) < (b) ? (a) : (b))
#include "kasimir/interp/field_lanes.inc"
#include "kasimir/interp/field_loops.inc"
constexpr FieldVector table = KASIMIR_LANE_TABLE("plain");
}  // namespace plain

}  // namespace

std::span<const FieldVector> field_vectors() {
#ifdef __x86_64__
  static constexpr std::array all{avx512::table, avx2::table, plain::table};
  const std::size_t skipped = __builtin_cpu_supports("avx512f") ? 0 : __builtin_cpu_supports("avx2") ? 1 : 2;
  return std::span(all).subspan(skipped);
#else
  static constexpr std::array all{plain::table};
  return all;
#endif
}

const FieldVector& field_vector() { return field_vectors().front(); }

}  // namespace kasimir
