// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_expression.h"

namespace kasimir {
namespace {

constexpr std::string_view text = R"(
/* Codes: whole numbers, of activations in bytes. Values become the nearest ones, ties to even. */
#if KSM_AVX512
static inline vi to_codes(vf x, float low, float high) {
  return (vi)_mm512_cvtps_epi32((__m512)vmin(vmax(x, SET1(low)), SET1(high)));
}
static inline void st_codes(unsigned char *p, vi v) {
  _mm_storeu_si128((__m128i_u *)p, _mm512_cvtepi32_epi8((__m512i)v));
}
static inline vf ld_codes(const unsigned char *p) {
  return (vf)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i_u *)p)));
}
#elif KSM_AVX2
static inline vi to_codes(vf x, float low, float high) {
  return (vi)_mm256_cvtps_epi32((__m256)vmin(vmax(x, SET1(low)), SET1(high)));
}
static inline void st_codes(unsigned char *p, vi v) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
  _mm_storeu_si64(p, _mm_packus_epi16(words, words));
}
static inline vf ld_codes(const unsigned char *p) {
  return (vf)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadu_si64(p)));
}
#else
static inline vi to_codes(vf x, float low, float high) { return vround(vmin(vmax(x, SET1(low)), SET1(high))); }
static inline void st_codes(unsigned char *p, vi v) {
  for (int i = 0; i < LANES; ++i) p[i] = (unsigned char)v[i];
}
static inline vf ld_codes(const unsigned char *p) {
  vf v;
  for (int i = 0; i < LANES; ++i) v[i] = (float)p[i];
  return v;
}
#endif
static inline void st_codes_part(unsigned char *p, vi v, int n) {
  int all[LANES];
  __builtin_memcpy(all, &v, sizeof v);
  for (int i = 0; i < n; ++i) p[i] = (unsigned char)all[i];
}
static inline vf codes_gather(const unsigned char *p, long stride) {
  vf v;
  for (int i = 0; i < LANES; ++i) v[i] = (float)p[i * stride];
  return v;
}
static inline vf codes_gather_part(const unsigned char *p, long stride, int n) {
  vf v = {0};
  for (int i = 0; i < n; ++i) v[i] = (float)p[i * stride];
  return v;
}

/* Element `at` of packed two's complement numbers of so many bits, the first one in the lowest bits. */
static inline int packed_code(const unsigned char *from, long at, int bits) {
  const long first = at * bits;
  const int shift = (int)(first & 7);
  unsigned both = from[first >> 3];
  if (shift + bits > 8) both |= (unsigned)from[(first >> 3) + 1] << 8;
  return (int)(both >> shift << (32 - bits)) >> (32 - bits);
}
static inline void unpack_codes(float *to, const float *from, long count, int bits) {
  for (long i = 0; i < count; ++i) to[i] = (float)packed_code((const unsigned char *)from, i, bits);
}

/* Sums of four products of a byte of x (0 .. 255) and one of w (-128 .. 127) are added to each lane. `sum4_small` is for
   operands for which a sum of two products is below 2^15. */
typedef short vs __attribute__((vector_size(4 * LANES)));
typedef unsigned short vus __attribute__((vector_size(4 * LANES)));
typedef int vi_mem __attribute__((vector_size(4 * LANES), aligned(1), may_alias));
typedef int int_mem __attribute__((aligned(1), may_alias));
#define LDI(p) ((vi) * (const vi_mem *)(p))
#if KSM_VNNI
/* As text: GCC 12 copies the sums of the intrinsic in every step. */
static inline vi sum4(vi sum, vi x, vi w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
  return sum;
}
static inline vi sum4_small(vi sum, vi x, vi w) { return sum4(sum, x, w); }
#else
/* GCC 12 would mask the bytes before it broadcasts them, and add up late, in the stack. */
#if KSM_AVX512
#define KSM_HERE(v) __asm__("" : "+v"(v))
#elif defined(__SSE2__)
#define KSM_HERE(v) __asm__("" : "+x"(v))
#else
#define KSM_HERE(v) (void)(v)
#endif
#if KSM_AVX512
static inline vi sum2(vi a, vi b) { return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b); }
static inline vi sum4_small(vi sum, vi x, vi w) {
  sum += sum2((vi)_mm512_maddubs_epi16((__m512i)x, (__m512i)w), (vi){0} + 0x00010001);
  KSM_HERE(sum);
  return sum;
}
#elif KSM_AVX2
static inline vi sum2(vi a, vi b) { return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b); }
static inline vi sum4_small(vi sum, vi x, vi w) {
  sum += sum2((vi)_mm256_maddubs_epi16((__m256i)x, (__m256i)w), (vi){0} + 0x00010001);
  KSM_HERE(sum);
  return sum;
}
#elif defined(__SSE2__) && LANES == 4
static inline vi sum2(vi a, vi b) { return (vi)_mm_madd_epi16((__m128i)a, (__m128i)b); }
#else
static inline vi sum2(vi a, vi b) { return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16); }
#endif
static inline vi sum4(vi sum, vi x, vi w) {
  const vi even = (vi)((vs)(w << 8) >> 8), odd = (vi)((vs)w >> 8);
  sum += sum2(x & 0x00ff00ff, even);
  KSM_HERE(sum);
  sum += sum2((vi)((vus)x >> 8), odd);
  KSM_HERE(sum);
  return sum;
}
#if !KSM_AVX512 && !KSM_AVX2
static inline vi sum4_small(vi sum, vi x, vi w) { return sum4(sum, x, w); }
#endif
#endif
static inline vi set4(const unsigned char *p) {
  vi four = *(const int_mem *)p - (vi){0};
#ifdef KSM_HERE
  KSM_HERE(four);
#endif
  return four;
}
#undef KSM_HERE
#undef KSM_AVX512
#undef KSM_AVX2
#undef KSM_VNNI
)";

}  // namespace

std::vector<std::string> c_codes_prelude_names() {
  return {"to_codes",    "st_codes",     "ld_codes", "st_codes_part", "codes_gather", "codes_gather_part",
          "packed_code", "unpack_codes", "vs",       "vus",           "vi_mem",       "int_mem",
          "sum2",        "set4",         "sum4",     "sum4_small"};
}

std::string c_codes_prelude(const CTarget& target) {
  const auto when = [](bool wanted, std::string_view macro) {
    return wanted ? fmt::format("defined({}) || defined(KSM_TARGETED)", macro) : std::string("0");
  };
  return fmt::format(
             "#if {}\n#define KSM_AVX512 1\n#endif\n#if {}\n#define KSM_AVX2 1\n#endif\n#if {}\n#define KSM_VNNI 1\n"
             "#endif\n",
             when(target.lanes == 16, "__AVX512BW__"), when(target.lanes == 8, "__AVX2__"),
             when(target.lanes == 16 && target.sums_of_four, "__AVX512VNNI__")) +
         std::string(text);
}

}  // namespace kasimir
