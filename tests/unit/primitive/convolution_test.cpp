// SPDX-License-Identifier: Apache-2.0
// conv, linear, mix and unfold against loops written by hand.
#include "support/application.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

using testing::Applied;
using testing::Array;
using testing::expect_array;
using testing::Index;
using testing::shape_from;

/// Stride, H != W, Ci != Co, a map smaller than the window, one channel, one position.
const std::vector<Site>& sites() {
  static const std::vector<Site> all{{4, 6, 5, 3, 1}, {6, 4, 3, 4, 2}, {4, 8, 1, 1, 1}, {2, 2, 1, 2, 3}};
  return all;
}

struct Window {
  int kh, kw, dh, dw;
};

/// A convolution with the centre of the window on the position, zero outside.
double convolve(const Array& x, const Array& w, const Index& at, const Window& window, std::int64_t groups,
                std::int64_t stride) {
  const std::int64_t in = x.dim(1) / groups;
  const std::int64_t out = w.dim(w.dims().size() == 5 ? 1 : 0);
  const std::int64_t g = groups == 1 ? 0 : at[1] / out;
  double sum = 0.0;
  for (std::int64_t c = 0; c < in; ++c) {
    for (int u = 0; u < window.kh; ++u) {
      for (int v = 0; v < window.kw; ++v) {
        const std::int64_t h = stride * at[2] + window.dh * (u - window.kh / 2);
        const std::int64_t l = stride * at[3] + window.dw * (v - window.kw / 2);
        const double weight = groups == 1 ? w(at[1], c, u, v) : w(g, at[1] % out, c, u, v);
        sum += x(at[0], g * in + c, h, l) * weight;
      }
    }
  }
  return sum;
}

TEST(Conv, IsTheSumOverTheWindowAndTheChannels) {
  for (const Site& site : sites()) {
    const Applied conv("conv(x, to=Co)", {input_shape()}, site, 2);
    expect_array(conv.result(), {2, site.co, site.s * site.h, site.s * site.w},
                 [&](const Index& at) { return convolve(conv.operand(), conv.weight(), at, {3, 3, 1, 1}, 1, 1); });
  }
}

TEST(Conv, TakesTheStrideOfTheSite) {
  for (const Site& site : sites()) {
    const Applied conv("conv(x, to=Co, window=5, stride=yes)", {input_shape()}, site, 2);
    expect_array(conv.result(), {2, site.co, site.h, site.w},
                 [&](const Index& at) { return convolve(conv.operand(), conv.weight(), at, {5, 5, 1, 1}, 1, site.s); });
  }
}

TEST(Conv, HasARectangularDilatedWindow) {
  for (const Site& site : sites()) {
    const Applied conv("conv(x, to=Co, window=(3,5), dilation=(2,1), stride=yes)", {input_shape()}, site, 1);
    expect_array(conv.result(), {1, site.co, site.h, site.w},
                 [&](const Index& at) { return convolve(conv.operand(), conv.weight(), at, {3, 5, 2, 1}, 1, site.s); });
  }
}

TEST(Conv, WithGroupsReadsOnlyItsOwnGroup) {
  for (const Site& site : sites()) {
    const Applied conv("conv(x, to=Co, groups=g, dilation=3)", {input_shape()}, site, 2);
    expect_array(conv.result(), {2, site.co, site.s * site.h, site.s * site.w},
                 [&](const Index& at) { return convolve(conv.operand(), conv.weight(), at, {3, 3, 3, 3}, 2, 1); });
  }
}

TEST(Conv, DepthwiseWithAMultiplierKeepsChannelsApart) {
  for (const Site& site : sites()) {
    const Applied conv("conv(x, to=2*Ci, groups=Ci, stride=yes)", {input_shape()}, site, 2);
    const Array x = conv.operand();
    const Array w = conv.weight();
    ASSERT_EQ(w.dims(), (Index{site.ci, 2, 1, 3, 3}));
    expect_array(conv.result(), {2, 2 * site.ci, site.h, site.w}, [&](const Index& at) {
      double sum = 0.0;
      for (int u = 0; u < 3; ++u)
        for (int v = 0; v < 3; ++v)
          sum += x(at[0], at[1] / 2, site.s * at[2] + u - 1, site.s * at[3] + v - 1) * w(at[1] / 2, at[1] % 2, 0, u, v);
      return sum;
    });
  }
}

TEST(Conv, AlongOneAxisHasNoOtherWindow) {
  for (const Site& site : sites()) {
    const Applied conv("conv(x, to=Co, window=(1,5))", {input_shape()}, site, 1);
    const Array x = conv.operand();
    const Array w = conv.weight();
    ASSERT_EQ(w.dims(), (Index{site.co, site.ci, 5}));
    expect_array(conv.result(), {1, site.co, site.s * site.h, site.s * site.w}, [&](const Index& at) {
      double sum = 0.0;
      for (std::int64_t c = 0; c < site.ci; ++c)
        for (int v = 0; v < 5; ++v) sum += x(at[0], c, at[2], at[3] + v - 2) * w(at[1], c, v);
      return sum;
    });
  }
}

TEST(Conv, TakesItsGroupsFromTheGroupAxis) {
  const Site site{6, 4, 3, 4, 2};
  const Applied conv("conv(x, to=Co, stride=yes)", {shape_from("g=g, c=Ci/g, h=s*H, w=s*W")}, site, 2);
  const Array x = conv.operand();
  const Array w = conv.weight();
  expect_array(conv.result(), {2, 4, 3, 4}, [&](const Index& at) {
    double sum = 0.0;
    for (int c = 0; c < 3; ++c)
      for (int u = 0; u < 3; ++u)
        for (int v = 0; v < 3; ++v)
          sum += x(at[0], at[1] / 2, c, 2 * at[2] + u - 1, 2 * at[3] + v - 1) * w(at[1] / 2, at[1] % 2, c, u, v);
    return sum;
  });
}

TEST(Unfold, GivesEachPositionItsWindow) {
  for (const Site& site : sites()) {
    const Applied unfold("unfold(x, window=5, dilation=2)", {input_shape()}, site, 2);
    const Array x = unfold.operand();
    EXPECT_EQ(str(unfold.shape()), "[c=Ci, h=H*s, w=W*s, u=5, v=5]");
    expect_array(unfold.result(), {2, site.ci, site.s * site.h, site.s * site.w, 5, 5},
                 [&](const Index& at) { return x(at[0], at[1], at[2] + 2 * (at[4] - 2), at[3] + 2 * (at[5] - 2)); });
  }
}

TEST(Unfold, AlongWidthOnly) {
  const Site site{3, 3, 2, 5, 1};
  const Applied unfold("unfold(x, axes=w)", {shape_from("h=H, w=W, c=Ci")}, site, 1);
  const Array x = unfold.operand();
  expect_array(unfold.result(), {1, 2, 5, 3, 3},
               [&](const Index& at) { return x(at[0], at[1], at[2] + at[4] - 1, at[3]); });
}

TEST(Linear, SumsOverChannelsAndWindows) {
  const Site site{3, 5, 2, 4, 1};
  const Applied linear("linear(x, to=Co)", {shape_from("c=Ci, h=H, w=W, u=3, v=5")}, site, 2);
  const Array x = linear.operand();
  const Array w = linear.weight();
  ASSERT_EQ(w.dims(), (Index{5, 3, 3, 5}));
  expect_array(linear.result(), {2, 5, 2, 4}, [&](const Index& at) {
    double sum = 0.0;
    for (int c = 0; c < 3; ++c)
      for (int u = 0; u < 3; ++u)
        for (int v = 0; v < 5; ++v) sum += x(at[0], c, at[2], at[3], u, v) * w(at[1], c, u, v);
    return sum;
  });
}

TEST(Linear, HasOneMapPerGroup) {
  const Site site{6, 8, 2, 3, 1};
  const Applied linear("linear(x, to=Co)", {shape_from("h=H, g=g, w=W, c=Ci/g")}, site, 2);
  const Array x = linear.operand();
  const Array w = linear.weight();
  ASSERT_EQ(w.dims(), (Index{2, 4, 3}));
  EXPECT_EQ(str(linear.shape()), "[c=Co, h=H, w=W]");
  expect_array(linear.result(), {2, 8, 2, 3}, [&](const Index& at) {
    double sum = 0.0;
    for (int c = 0; c < 3; ++c) sum += x(at[0], at[2], at[1] / 4, at[3], c) * w(at[1] / 4, at[1] % 4, c);
    return sum;
  });
}

TEST(Mix, MapsAnyAxesToAnyAxes) {
  const Site site{4, 6, 2, 3, 1};
  const Applied mix("mix(x, over=(c,h), to=(g=g,u=3,c=Co))", {shape_from("c=Ci, h=H, w=W")}, site, 2);
  const Array x = mix.operand();
  const Array w = mix.weight();
  ASSERT_EQ(w.dims(), (Index{2, 3, 6, 4, 2}));
  EXPECT_EQ(str(mix.shape()), "[g=g, u=3, c=Co, w=W]");
  expect_array(mix.result(), {2, 2, 3, 6, 3}, [&](const Index& at) {
    double sum = 0.0;
    for (int c = 0; c < 4; ++c)
      for (int h = 0; h < 2; ++h) sum += x(at[0], c, h, at[4]) * w(at[1], at[2], at[3], c, h);
    return sum;
  });
}

TEST(Weights, HaveTheRoleThatTheirStartNeeds) {
  const auto roles = [](const std::string& text) {
    const Applied applied(text, {input_shape()}, {6, 4, 3, 4, 2}, 1);
    std::vector<WeightRole> all;
    for (const auto& tensor : applied.graph().tensors)
      if (tensor.role == Role::weight) all.push_back(tensor.weight_role);
    return all;
  };
  using Roles = std::vector<WeightRole>;
  EXPECT_EQ(roles("conv(x, to=Co)"), Roles{WeightRole::linear});
  EXPECT_EQ(roles("linear(x, to=Co)"), Roles{WeightRole::linear});
  EXPECT_EQ(roles("mix(x, over=c, to=(c=Co))"), Roles{WeightRole::linear});
  EXPECT_EQ(roles("scale(x, axes=c)"), Roles{WeightRole::scale});
  EXPECT_EQ(roles("norm(x)"), (Roles{WeightRole::scale, WeightRole::offset}));
}

TEST(Weights, KnowWhatTheyAreSummedOver) {
  const auto fan_in = [](const std::string& text, const char* shape) {
    const Applied applied(text, {shape_from(shape)}, {6, 4, 3, 4, 2}, 1);
    for (const auto& tensor : applied.graph().tensors)
      if (tensor.role == Role::weight) return tensor.fan_in;
    return std::int64_t{-1};
  };
  EXPECT_EQ(fan_in("conv(x, to=Co, window=(3,5))", "c=Ci, h=H, w=W"), 6 * 3 * 5);
  EXPECT_EQ(fan_in("conv(x, to=Co, groups=g)", "c=Ci, h=H, w=W"), 3 * 9);
  EXPECT_EQ(fan_in("conv(x, to=Ci, groups=Ci, window=(1,7))", "c=Ci, h=H, w=W"), 7);
  EXPECT_EQ(fan_in("linear(x, to=Co)", "c=Ci, h=H, w=W, u=3, v=3"), 54);
  EXPECT_EQ(fan_in("linear(x, to=Co)", "g=g, c=Ci/g, h=H, w=W"), 3);
  EXPECT_EQ(fan_in("mix(x, over=(c,h), to=(c=Co))", "c=Ci, h=H, w=W"), 18);
}

}  // namespace
}  // namespace kasimir
