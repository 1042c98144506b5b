// SPDX-License-Identifier: Apache-2.0
// What holds for every network of the zoo, at every image size.
#include "kasimir/network/coverage.h"
#include "kasimir/network/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

struct Case {
  std::string_view name;
  ZooOptions options;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const ZooRecord& record : zoo())
    for (const ZooOptions& options :
         {ZooOptions{1000, {3, 224, 224}}, ZooOptions{10, {3, 32, 32}}, ZooOptions{10, {1, 28, 28}},
          ZooOptions{100, {3, 64, 64}}, ZooOptions{7, {5, 37, 51}, 0.5}, ZooOptions{2, {3, 97, 65}, 1.25},
          ZooOptions{10, {3, 9, 9}}})
      result.push_back({record.name, options});
  return result;
}

class EveryNetwork : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static Network build() { return zoo_network(GetParam().name, GetParam().options); }
};

/// Counts the places of a window one by one.
std::int64_t places(std::int64_t extent, std::int64_t span, std::int64_t stride, std::int64_t padding) {
  std::int64_t count = 0;
  for (std::int64_t start = -padding; start + span <= extent + padding; start += stride) ++count;
  return count;
}

/// The same with a last window that is only partly inside, down to one that begins at the last row.
std::int64_t places_rounded_up(std::int64_t extent, const layer::MaxPool& pool) {
  std::int64_t count = 0;
  for (std::int64_t start = -pool.padding; start < extent; start += pool.stride) {
    ++count;
    if (start + pool.kernel >= extent + pool.padding) break;
  }
  return count;
}

std::int64_t places(std::int64_t extent, const layer::MaxPool& pool) {
  return pool.ceil ? places_rounded_up(extent, pool) : places(extent, pool.kernel, pool.stride, pool.padding);
}

TEST_P(EveryNetwork, IsNamedAndEndsInItsClasses) {
  const Network net = build();
  EXPECT_EQ(net.name(), GetParam().name);
  EXPECT_EQ(net.input(), GetParam().options.input);
  EXPECT_EQ(net.classes(), GetParam().options.classes);
  EXPECT_EQ(net.layers().back().out, (Shape3{GetParam().options.classes, 1, 1}));
}

TEST_P(EveryNetwork, NamesEachLayerOnce) {
  const Network net = build();
  std::set<std::string> names;
  for (const Layer& layer : net.layers()) EXPECT_TRUE(names.insert(layer.name).second) << layer.name;
}

TEST_P(EveryNetwork, IsTheSameEachTimeItIsBuilt) { EXPECT_EQ(build(), build()); }

TEST_P(EveryNetwork, ReadsOnlyEarlierLayers) {
  const Network net = build();
  for (int i = 1; i < static_cast<int>(net.layers().size()); ++i) {
    EXPECT_FALSE(net.layer(i).inputs.empty()) << net.layer(i).name;
    for (const int input : net.layer(i).inputs) EXPECT_TRUE(input >= 0 && input < i) << net.layer(i).name;
  }
}

TEST_P(EveryNetwork, HasAsManyOutputsAsItsWindowsHavePlaces) {
  const Network net = build();
  for (int i = 1; i < static_cast<int>(net.layers().size()); ++i) {
    const Layer& node = net.layer(i);
    const Shape3 in = net.input_of(i);
    if (const auto* conv = std::get_if<layer::Conv>(&node.op)) {
      EXPECT_EQ(node.out.h, places(in.h, conv->dilation * (conv->kernel_h - 1) + 1, conv->stride, conv->pad_h));
      EXPECT_EQ(node.out.w, places(in.w, conv->dilation * (conv->kernel_w - 1) + 1, conv->stride, conv->pad_w));
      EXPECT_EQ(node.out.c, conv->out);
      EXPECT_EQ(in.c, conv->in);
    }
    if (const auto* pool = std::get_if<layer::AvgPool>(&node.op)) {
      EXPECT_EQ(node.out.h, places(in.h, pool->kernel, pool->stride, 0));
      EXPECT_EQ(node.out.w, places(in.w, pool->kernel, pool->stride, 0));
    }
    if (const auto* pool = std::get_if<layer::MaxPool>(&node.op)) {
      EXPECT_EQ(node.out.h, places(in.h, *pool)) << node.name;
      EXPECT_EQ(node.out.w, places(in.w, *pool)) << node.name;
    }
    EXPECT_TRUE(node.out.c >= 1 && node.out.h >= 1 && node.out.w >= 1) << node.name;
  }
}

TEST_P(EveryNetwork, SumsItsLayersInItsTotal) {
  const Network net = build();
  std::int64_t macs = 0;
  std::int64_t params = 0;
  for (const Layer& layer : net.layers()) {
    macs += layer.cost().macs;
    params += layer.cost().params;
  }
  EXPECT_EQ(net.cost(), (LayerCost{macs, params}));
  EXPECT_GT(macs, 0);
}

TEST_P(EveryNetwork, PutsEveryConvolutionIntoItsCoverageOnce) {
  const Network net = build();
  const Selection selection = select_sites(net);
  std::multiset<int> covered;
  for (const SiteRef& ref : selection.replaced) covered.insert(ref.layer);
  for (const KeptConv& conv : selection.kept) covered.insert(conv.layer);
  std::multiset<int> convolutions;
  LayerCost cost;
  for (int i = 0; i < static_cast<int>(net.layers().size()); ++i)
    if (std::holds_alternative<layer::Conv>(net.layer(i).op)) {
      convolutions.insert(i);
      cost += net.layer(i).cost();
    }
  EXPECT_EQ(covered, convolutions);
  EXPECT_EQ(coverage(net).convolutions, cost);
}

TEST_P(EveryNetwork, AddsUpItsCoverage) {
  const Coverage all = coverage(build());
  LayerCost sites;
  std::int64_t count = 0;
  std::set<Site> distinct;
  for (const DistinctSite& row : all.sites) {
    sites += row.cost;
    count += row.count;
    EXPECT_TRUE(distinct.insert(row.site).second) << row.site.str();
  }
  EXPECT_EQ(sites, all.replaced);
  EXPECT_EQ(count, all.replaced_count);
  LayerCost kept;
  for (const KeptConv& conv : all.kept) kept += conv.cost;
  EXPECT_EQ(kept.macs + all.replaced.macs, all.convolutions.macs);
  EXPECT_EQ(kept.params + all.replaced.params, all.convolutions.params);
  EXPECT_LE(all.convolutions.macs, all.total.macs);
  EXPECT_LT(all.convolutions.params, all.total.params);
}

TEST_P(EveryNetwork, CanReplaceAllItsConvolutions) {
  const Network net = build();
  const Selection selection = select_sites(net, {.replace = {"*"}});
  EXPECT_TRUE(selection.kept.empty());
  for (const SiteRef& ref : selection.replaced) {
    const Shape3 in = net.input_of(ref.layer);
    EXPECT_EQ((Shape3{ref.site.co, ref.site.h, ref.site.w}), net.layer(ref.layer).out) << ref.name;
    EXPECT_EQ(ref.site.ci, in.c) << ref.name;
    // The kernel's input covers the network's own tensor and is longer by less than one stride.
    EXPECT_TRUE(ref.site.s * ref.site.h >= in.h && ref.site.s * ref.site.h < in.h + ref.site.s) << ref.name;
    EXPECT_TRUE(ref.site.s * ref.site.w >= in.w && ref.site.s * ref.site.w < in.w + ref.site.s) << ref.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryNetwork, testing::ValuesIn(cases()), [](const auto& test) {
  const ZooOptions& options = test.param.options;
  return std::string(test.param.name) + "_" + options.input.str() + (options.width == 1.0 ? "" : "_scaled") +
         (options.classes == 10 ? "" : "_" + std::to_string(options.classes) + "classes");
});

class EveryRecord : public testing::TestWithParam<ZooRecord> {};

TEST_P(EveryRecord, SaysWhatItIsAndWhereItComesFrom) {
  EXPECT_FALSE(GetParam().brief.empty());
  EXPECT_FALSE(GetParam().source.empty());
  EXPECT_EQ(&zoo_record(GetParam().name), &*std::find_if(zoo().begin(), zoo().end(), [](const ZooRecord& record) {
    return record.name == GetParam().name;
  }));
}

TEST_P(EveryRecord, IsBuiltForItsDefaults) {
  const Network net = zoo_network(GetParam().name);
  EXPECT_EQ(net.input(), GetParam().defaults.input);
  EXPECT_EQ(net.classes(), GetParam().defaults.classes);
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryRecord, testing::ValuesIn(zoo().begin(), zoo().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace kasimir
