// SPDX-License-Identifier: Apache-2.0
// ATen against the interpreter, values and gradients, in double precision.
#include "differential/check_kernel.h"
#include "differential/kernel_texts.h"
#include "kasimir/primitive/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

constexpr double bound = 1e-9;

const std::vector<Site>& sites() {
  static const std::vector<Site> all{{4, 4, 5, 6, 1}, {4, 8, 3, 4, 2}, {8, 4, 4, 3, 2}, {2, 6, 5, 5, 1}};
  return all;
}

std::string describe(const KernelDifference& d) {
  return fmt::format("value {:.2e}, gradient {:.2e}, frozen {:.2e} {}", d.value, d.gradient, d.frozen, d.reason);
}

/// Checks the kernel at every site that it fits; returns how many those were.
int check_everywhere(const Kernel& kernel, const Peepholes& peepholes) {
  int fitting = 0;
  for (const Site& site : sites()) {
    if (!lower(kernel, SiteSet({site}, kernel.choices)).ok()) continue;
    ++fitting;
    for (std::int64_t batch : {1, 3}) {
      const std::uint64_t seed = 1000 + static_cast<std::uint64_t>(fitting);
      const KernelDifference d = check_kernel(kernel, site, batch, seed, peepholes);
      EXPECT_TRUE(d.within(bound)) << str(kernel) << "at " << site.str() << ", batch " << batch << ", seed " << seed
                                   << ": " << describe(d);
    }
  }
  return fitting;
}

struct Setting {
  std::string name;
  Peepholes peepholes;
};

std::vector<Setting> settings() {
  const Peepholes none = Peepholes::none();
  std::vector<Setting> all{{"all", {}}, {"none", none}};
  const auto only = [&](const char* name, bool Peepholes::* on) {
    Setting setting{name, none};
    setting.peepholes.*on = true;
    all.push_back(setting);
  };
  only("convolution", &Peepholes::convolution);
  only("contraction", &Peepholes::contraction);
  only("batch_norm", &Peepholes::batch_norm);
  only("softmax", &Peepholes::softmax);
  only("concat", &Peepholes::concat);
  only("pooling", &Peepholes::pooling);
  return all;
}

class AtenEqualsInterpreter : public testing::TestWithParam<Setting> {};

TEST_P(AtenEqualsInterpreter, ForEveryPrimitiveAtEverySite) {
  for (std::string_view text : kernel_texts) {
    const Kernel kernel = parse_kernel(text, catalog());
    EXPECT_GT(check_everywhere(kernel, GetParam().peepholes), 0) << "fits no site: " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Peepholes, AtenEqualsInterpreter, testing::ValuesIn(settings()),
                         [](const auto& setting) { return setting.param.name; });

TEST(KernelTexts, UseEveryPrimitive) {
  std::set<std::string_view> used;
  for (std::string_view text : kernel_texts)
    for (const Step& step : parse_kernel(text, catalog()).steps) used.insert(step.primitive->name);
  for (const Primitive* primitive : catalog()) EXPECT_TRUE(used.contains(primitive->name)) << primitive->name;
}

TEST(CheckKernel, SeesAWrongValue) {
  // The same text with another sign is another function: the check would say so.
  const Kernel kernel = parse_kernel("kernel k\n  a = conv(x, to=Co, stride=yes)\nreturn a\n", catalog());
  const auto graph = lower_at(kernel, {2, 2, 3, 3, 1}, 1);
  BoundGraph doubled = *graph;
  doubled.stages.front().factor = Rational(2);
  std::vector<std::vector<double>> values(doubled.tensors.size());
  for (std::size_t t = 0; t < values.size(); ++t)
    if (doubled.tensors[t].role != Role::between)
      values[t].assign(static_cast<std::size_t>(elements(doubled.tensors[t])), 1.0);
  const auto once = run_aten(*graph, values, {});
  const auto twice = run_aten(doubled, values, {});
  ASSERT_EQ(once.output.size(), 18U);
  EXPECT_DOUBLE_EQ(once.output[4], 18.0);  // 2 channels, 9 places, all inside
  EXPECT_DOUBLE_EQ(once.output[0], 8.0);   // a corner sees 4 places
  for (std::size_t i = 0; i < once.output.size(); ++i) EXPECT_DOUBLE_EQ(twice.output[i], 2 * once.output[i]);
}

}  // namespace
}  // namespace kasimir
