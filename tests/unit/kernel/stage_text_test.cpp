// SPDX-License-Identifier: Apache-2.0
// Stages as text: what `show` prints, and the form in which a change of meaning is seen first.
#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

const Site site{4, 8, 3, 5, 2};

std::string stages(const std::string& steps, const std::string& given = "") {
  const Kernel kernel = parse_kernel("kernel k\n" + given + steps, catalog());
  return str(lower(kernel, SiteSet({site}, kernel.choices)).value());
}

TEST(StageText, OfAGroupedStridedConvolution) {
  EXPECT_EQ(stages("  a = conv(x, to=Co, dilation=2, groups=g, stride=yes)\nreturn a\n", "given g=2\n"),
            "y[n0<N, c(g0<g c0<Co/g), h0<H, w0<W] = sum[c1<Ci/g u0<3 v0<3] "
            "x[n0, (Ci/g)*g0 + c1, s*h0 + 2*u0 - 2, s*w0 + 2*v0 - 2] * w0[g0, c0, c1, u0, v0]\n"
            "weight w0[g<g, c<Co/g, c<Ci/g, u<3, v<3] linear fan_in 9*Ci/g\n");
}

TEST(StageText, OfBoundStagesHasNumbers) {
  const Kernel kernel = parse_kernel("kernel k\n  a = conv(x, to=Co, window=(3,1), stride=yes)\nreturn a\n", catalog());
  EXPECT_EQ(str(lower_at(kernel, site, 2).value()),
            "y[n0<2, c0<8, h0<3, w0<5] = sum[c1<4 u0<3] x[n0, c1, 2*h0 + u0 - 1, 2*w0] * w0[c0, c1, u0]\n"
            "weight w0[c<8, c<4, u<3] linear fan_in 12\n");
}

TEST(StageText, OfACopyThatPutsTheAxesInOrder) {
  EXPECT_EQ(stages("  a = stride(x)\n  b = matmul(a, a, left=channels, right=channels, softmax=yes)\n"
                   "  c = linear(a, to=Co)\n  d = matmul(b, c, left=token, right=positions)\nreturn d\n"),
            "a[n0<N, c0<Ci, h0<H, w0<W] = x[n0, c0, s*h0, s*w0]\n"
            "t1[n0<N, h0<H, w0<W, t(h1<H w1<W)] = sqrt(1/Ci) * sum[c0<Ci] a[n0, c0, h0, w0] * a[n0, c0, h1, w1]\n"
            "t2[n0<N, h0<H, w0<W] = stabiliser max[t0<H*W] t1[n0, h0, w0, t0]\n"
            "t3[n0<N, h0<H, w0<W, t0<H*W] = exp(t1[n0, h0, w0, t0] - t2[n0, h0, w0])\n"
            "t4[n0<N, h0<H, w0<W] = sum[t0<H*W] t3[n0, h0, w0, t0]\n"
            "b[n0<N, h0<H, w0<W, t0<H*W] = t3[n0, h0, w0, t0] / t4[n0, h0, w0]\n"
            "c[n0<N, c0<Co, h0<H, w0<W] = sum[c1<Ci] a[n0, c1, h0, w0] * w0[c0, c1]\n"
            "d[n0<N, h0<H, w0<W, c0<Co] = sqrt(1/(H*W)) * sum[h1<H w1<W] b[n0, h0, w0, W*h1 + w1] * c[n0, c0, h1, w1]\n"
            "y[n0<N, c0<Co, h0<H, w0<W] = d[n0, h0, w0, c0]\n"
            "weight w0[c<Co, c<Ci] linear fan_in Ci\n");
}

TEST(StageText, OfANormMarksItsStatistics) {
  EXPECT_EQ(stages("  a = pool(x, by=max)\n  b = norm(a)\n  c = concat(b, a)\nreturn c\n"),
            "a[n0<N, c0<Ci, h0<H, w0<W] = max[u0<s v0<s] x[n0, c0, s*h0 + u0, s*w0 + v0]\n"
            "t1[c0<Ci] = stat 1/(N*H*W) * sum[n0<N h0<H w0<W] a[n0, c0, h0, w0]\n"
            "t2[c0<Ci] = stat 1/(N*H*W) * sum[n0<N h0<H w0<W] "
            "(a[n0, c0, h0, w0] - t1[c0]) * (a[n0, c0, h0, w0] - t1[c0])\n"
            "b[n0<N, c0<Ci, h0<H, w0<W] = "
            "(((a[n0, c0, h0, w0] - t1[c0]) * rsqrt(t2[c0] + 1/100000)) * w0[c0]) + w1[c0]\n"
            "c[n0<N, c0<2*Ci, h0<H, w0<W] = b[n0, c0, h0, w0] | a[n0, c0 - Ci, h0, w0]\n"
            "y[n0<N, c0<Co, h0<H, w0<W] = c[n0, c0, h0, w0]\n"
            "weight w0[c<Ci] scale\n"
            "weight w1[c<Ci] offset\n");
}

TEST(StageText, OfTilesWrapsAndFunctions) {
  EXPECT_EQ(stages("  a = stride(x)\n  b = shift(a, axes=(h,w), by=(1,-2), fill=wrap)\n  c = sin(b)\n  d = sqrt(c)\n"
                   "  e = linear(a, to=Co)\n  f = broadcast(d, e, op=max)\nreturn f\n"),
            "a[n0<N, c0<Ci, h0<H, w0<W] = x[n0, c0, s*h0, s*w0]\n"
            "b[n0<N, c0<Ci, h0<H, w0<W] = a[n0, c0, wrap(h0 - 1, H), wrap(w0 + 2, W)]\n"
            "c[n0<N, c0<Ci, h0<H, w0<W] = sin(pi/2 * b[n0, c0, h0, w0])\n"
            "d[n0<N, c0<Ci, h0<H, w0<W] = sqrt(abs(c[n0, c0, h0, w0]) + 1/1000)\n"
            "e[n0<N, c0<Co, h0<H, w0<W] = sum[c1<Ci] a[n0, c1, h0, w0] * w0[c0, c1]\n"
            "y[n0<N, c(t0<Co/Ci c0<Ci), h0<H, w0<W] = max(d[n0, c0, h0, w0], e[n0, Ci*t0 + c0, h0, w0])\n"
            "weight w0[c<Co, c<Ci] linear fan_in Ci\n");
}

/// The iterator of a group axis and the choice symbol g must not print alike.
TEST(StageText, KeepsIteratorsAndSymbolsApart) {
  EXPECT_EQ(stages("  a = stride(x)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\n", "given g=4\n"),
            "a[n0<N, c0<Ci, h0<H, w0<W] = x[n0, c0, s*h0, s*w0]\n"
            "b[n0<N, g0<g, c0<Ci/g, h0<H, w0<W] = a[n0, (Ci/g)*g0 + c0, h0, w0]\n"
            "y[n0<N, c(g0<g c0<Co/g), h0<H, w0<W] = sum[c1<Ci/g] b[n0, g0, c1, h0, w0] * w0[g0, c0, c1]\n"
            "weight w0[g<g, c<Co/g, c<Ci/g] linear fan_in Ci/g\n");
}

}  // namespace
}  // namespace kasimir
