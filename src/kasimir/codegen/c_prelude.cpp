// SPDX-License-Identifier: Apache-2.0
// names primitives: scalar functions share their words
#include "kasimir/codegen/c_expression.h"

namespace kasimir {
namespace {

constexpr std::string_view includes = R"(#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The compiler must not conclude from inside such a function that a call may move or go: GCC 12 at -O2 has dropped
   calls of nests that were only kept from inlining, and other threads may write what they read. */
#if defined(__clang__)
#define KSM_APART __attribute__((noinline))
#else
#define KSM_APART __attribute__((noipa))
#endif
)";

constexpr std::string_view vectors = R"(
/* LANES floats as one value (GCC vector extension). The memory type may lie at any address of a float. */
typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int vi __attribute__((vector_size(4 * LANES)));
typedef float vf_mem __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define LD(p) ((vf) * (const vf_mem *)(p))
#define ST(p, v) (*(vf_mem *)(p) = (vf_mem)(v))
#define SET1(x) ((float)(x) - (vf){0})

static inline int ksm_wrap(int at, int extent) {
  at %= extent;
  return at < 0 ? at + extent : at;
}
/* The number is known where this is compiled: a few plain moves. */
static inline void st_part(float *p, vf v, int n) { __builtin_memcpy(p, &v, sizeof(float) * (unsigned long)n); }
static inline vf gather(const float *p, long stride) {
  vf v;
  for (int i = 0; i < LANES; ++i) v[i] = p[i * stride];
  return v;
}
static inline vf gather_part(const float *p, long stride, int n) {
  vf v = {0};
  for (int i = 0; i < n; ++i) v[i] = p[i * stride];
  return v;
}
static inline vi first_lanes(int n) {
  vi mask;
  for (int i = 0; i < LANES; ++i) mask[i] = i < n ? -1 : 0;
  return mask;
}
static inline vf choose(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }
#if (defined(__AVX512F__) || defined(KSM_TARGETED)) && LANES == 16
static inline vf vmax(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
static inline vf vmin(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
static inline vf vsqrt(vf a) { return (vf)_mm512_sqrt_ps((__m512)a); }
static inline float sum_of(vf v) { return _mm512_reduce_add_ps((__m512)v); }
static inline float max_of(vf v) { return _mm512_reduce_max_ps((__m512)v); }
#elif (defined(__AVX__) || defined(KSM_TARGETED)) && LANES == 8
static inline vf vmax(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
static inline vf vmin(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
static inline vf vsqrt(vf a) { return (vf)_mm256_sqrt_ps((__m256)a); }
#else
static inline vf vmax(vf a, vf b) { return choose(a > b, a, b); }
static inline vf vmin(vf a, vf b) { return choose(a < b, a, b); }
static inline vf vsqrt(vf a) {
  for (int i = 0; i < LANES; ++i) a[i] = __builtin_sqrtf(a[i]);
  return a;
}
#endif
#if LANES < 16 || !(defined(__AVX512F__) || defined(KSM_TARGETED))
/* Halves onto each other until one is left. */
static inline float sum_of(vf v) {
  float all[LANES];
  __builtin_memcpy(all, &v, sizeof v);
  for (int n = LANES / 2; n > 0; n /= 2)
    for (int i = 0; i < n; ++i) all[i] += all[i + n];
  return all[0];
}
static inline float max_of(vf v) {
  float all[LANES];
  __builtin_memcpy(all, &v, sizeof v);
  for (int n = LANES / 2; n > 0; n /= 2)
    for (int i = 0; i < n; ++i) all[i] = all[i] > all[i + n] ? all[i] : all[i + n];
  return all[0];
}
#endif
#if LANES == 16
/* Half a vector: what is left of channels takes no more than it needs. */
typedef float hf __attribute__((vector_size(32)));
typedef float hf_mem __attribute__((vector_size(32), aligned(4), may_alias));
#define LDH(p) ((hf) * (const hf_mem *)(p))
#define SETH(x) ((float)(x) - (hf){0})
static inline vf widened(hf h) {
  vf v = {0};
  __builtin_memcpy(&v, &h, sizeof h);
  return v;
}
#endif
static inline vf vabs(vf a) { return (vf)((vi)a & 0x7fffffff); }
)";

// exp: x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts (Cody and Waite), then the Taylor polynomial of degree 6,
// whose error there is below 2e-7 of the value. sin: reduced to |r| <= pi / 2 by multiples of pi in three parts, then
// an odd polynomial of degree 11. gelu: the error function by formula 7.1.26 of Abramowitz and Stegun, error
// below 1.5e-7.
constexpr std::string_view functions = R"(
static inline vi vround(vf x) { /* to the nearest whole number, for |x| < 2^22 */
  const vf magic = SET1(12582912.0f);
  return __builtin_convertvector((x + magic) - magic, vi);
}
static inline vf vexp(vf x) {
  x = vmin(vmax(x, SET1(-87.3f)), SET1(88.7f));
#if (defined(__AVX512F__) || defined(KSM_TARGETED)) && LANES == 16
  const vf f = (vf)_mm512_roundscale_ps((__m512)(x * SET1(1.44269504f)), 8); /* to the nearest whole number */
#else
  const vi n = vround(x * SET1(1.44269504f));
  const vf f = __builtin_convertvector(n, vf);
#endif
  const vf r = (x - f * SET1(0.693359375f)) - f * SET1(-2.12194440e-4f);
  vf p = SET1(1.38888889e-3f);
  p = p * r + SET1(8.33333333e-3f);
  p = p * r + SET1(4.16666667e-2f);
  p = p * r + SET1(1.66666667e-1f);
  p = p * r + SET1(0.5f);
  p = p * r + SET1(1.0f);
  p = p * r + SET1(1.0f);
#if (defined(__AVX512F__) || defined(KSM_TARGETED)) && LANES == 16
  return (vf)_mm512_scalef_ps((__m512)p, (__m512)f);
#else
  const vi half = n >> 1; /* 2^n in two steps: n may be 128 */
  return p * (vf)((half + 127) << 23) * (vf)((n - half + 127) << 23);
#endif
}
static inline vf vinverse(vf x) { /* 1 / x for finite x from 1 on */
#if (defined(__AVX512F__) || defined(KSM_TARGETED)) && LANES == 16
  const vf about = (vf)_mm512_rcp14_ps((__m512)x); /* off by 2^-14 at most, 2^-28 after a step of Newton's method */
  return about * (SET1(2.0f) - x * about);
#else
  return SET1(1.0f) / x;
#endif
}
static inline vf vsigmoid(vf x) { return vinverse(SET1(1.0f) + vexp(-x)); }
static inline vf vtanh(vf x) {
  const vf a = vabs(x);
  const vf e = vexp(SET1(-2.0f) * a);
  const vf t = (SET1(1.0f) - e) * vinverse(SET1(1.0f) + e);
  /* near zero the difference cancels: x - x^3/3 + 2 x^5/15 - 17 x^7/315 */
  const vf s = a * a;
  const vf small = a * (SET1(1.0f) + s * (SET1(-0.333333333f) + s * (SET1(0.133333333f) + s * SET1(-0.053968254f))));
  const vf value = choose(a < SET1(0.25f), small, t);
  return (vf)((vi)value | ((vi)x & (int)0x80000000u));
}
static inline vf vsin(vf x) {
  const vi n = vround(x * SET1(0.318309886f));
  const vf f = __builtin_convertvector(n, vf);
  vf r = x - f * SET1(3.140625f);
  r = r - f * SET1(9.67502593994140625e-4f);
  r = r - f * SET1(1.509957990e-7f);
  const vf s = r * r;
  vf p = SET1(-2.50521084e-8f);
  p = p * s + SET1(2.75573192e-6f);
  p = p * s + SET1(-1.98412698e-4f);
  p = p * s + SET1(8.33333333e-3f);
  p = p * s + SET1(-1.66666667e-1f);
  p = r + r * s * p;
  return (vf)((vi)p ^ ((n & 1) << 31));
}
static inline vf vgelu(vf x) {
  const vf z = vabs(x) * SET1(0.707106781f);
  const vf t = vinverse(SET1(1.0f) + SET1(0.3275911f) * vmin(z, SET1(1e18f)));
  vf p = SET1(1.061405429f);
  p = p * t + SET1(-1.453152027f);
  p = p * t + SET1(1.421413741f);
  p = p * t + SET1(-0.284496736f);
  p = p * t + SET1(0.254829592f);
  const vf tail = SET1(0.5f) * p * t * vexp(-z * z); /* 1 - cdf(|x|) */
  return x * choose(x < SET1(0.0f), tail, SET1(1.0f) - tail);
}
static inline vf vhardswish(vf x) {
  return x * vmin(vmax(x + SET1(3.0f), SET1(0.0f)), SET1(6.0f)) * SET1(0.166666667f);
}
)";

constexpr std::string_view scalars = R"(
static inline double smax(double a, double b) { return fmax(a, b); }
static inline double smin(double a, double b) { return fmin(a, b); }
static inline double sabs(double a) { return fabs(a); }
static inline double sexp(double a) { return exp(a); }
static inline double ssqrt(double a) { return sqrt(a); }
static inline double ssin(double a) { return sin(a); }
static inline double stanh(double a) { return tanh(a); }
static inline double ssigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }
static inline double sgelu(double a) { return 0.5 * a * erfc(-a * 0.70710678118654752); }
static inline double shardswish(double a) { return a * fmin(fmax(a + 3.0, 0.0), 6.0) / 6.0; }
)";

}  // namespace

std::string c_includes() { return std::string(includes); }

std::vector<std::string> c_prelude_names() {
  return {"vf",     "vi",          "vf_mem",      "hf",        "hf_mem",   "widened",  "ksm_wrap", "st_part",
          "gather", "gather_part", "first_lanes", "choose",    "vmax",     "vmin",     "vsqrt",    "sum_of",
          "max_of", "vabs",        "vround",      "vexp",      "vinverse", "vsigmoid", "vtanh",    "vsin",
          "vgelu",  "vhardswish",  "smax",        "smin",      "sabs",     "sexp",     "ssqrt",    "ssin",
          "stanh",  "ssigmoid",    "sgelu",       "shardswish"};
}

std::string c_prelude(const CTarget& target) {
  return fmt::format("#define LANES {}\n", target.lanes) + std::string(vectors) + std::string(functions) +
         std::string(scalars);
}

}  // namespace kasimir
