// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/plan.h"

#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"
#include "unit/network/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

Network resnet8_at(std::int64_t side) {
  ZooOptions options;
  options.input = {3, side, side};
  return zoo_network("resnet8", options);
}

Kernel kernel_of(const std::string& steps) { return parse_kernel("kernel k\n" + steps, catalog()); }

TEST(Plan, KeepsKernelsAndTheirFreeSizesForImagesOfAnotherSize) {
  const Network large = resnet8_at(32);
  const Network small = resnet8_at(16);
  const auto sites = find_sites(large);
  Kernel kernel = kernel_of("  a = stride(x)\n  b = linear(a, to=x0)\n  c = linear(b, to=Co)\nreturn c\n");
  const Symbol x0 = kernel.free_symbols().front();
  std::int64_t width = 3;
  for (const DistinctSite& site : distinct_sites(sites)) {
    Binding fit;
    fit.set(x0, ++width);
    kernel.fits.emplace_back(site.site, fit);
  }
  const NetworkPlan plan = replace_with(large, sites, kernel);
  const auto other = plan_at_size(plan, small);
  ASSERT_TRUE(other.ok()) << other.rejection().str();
  EXPECT_EQ(other->network, &small);
  ASSERT_EQ(other->replaced.size(), plan.replaced.size());
  for (const auto& [layer, replaced] : other->replaced) {
    const auto& [before, site] = plan.replaced.at(layer);
    EXPECT_EQ(replaced.second, (Site{site.ci, site.co, site.h / 2, site.w / 2, site.s}));
    EXPECT_EQ(replaced.first.fit_at(replaced.second)[x0], before.fit_at(site)[x0]) << small.layer(layer).name;
  }
}

TEST(Plan, RejectsAKernelThatBreaksARuleAtTheOtherSize) {
  const Network large = resnet8_at(32);
  const Network small = resnet8_at(8);  // two rows at its last sites
  const Kernel kernel = kernel_of("  a = stride(x)\n  b = shift(a, axes=h, by=2)\n  c = linear(b, to=Co)\nreturn c\n");
  const auto other = plan_at_size(replace_with(large, find_sites(large), kernel), small);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.rejection().rule, "shift: a zero-filled shift is shorter than the axis");
}

TEST(Plan, RefusesAnotherNetwork) {
  const Network net = resnet8_at(32);
  const auto sites = find_sites(net);
  const NetworkPlan plan = replace_with(net, sites, kernel_of("  a = stride(x)\n  b = linear(a, to=Co)\nreturn b\n"));
  const Network other = zoo_network("vgg16");
  EXPECT_EQ(message_of([&] { (void)plan_at_size(plan, other); }),
            "vgg16 has no layer stage1.block1.conv1 at place 4 for images of 3x224x224");
}

}  // namespace
}  // namespace kasimir
