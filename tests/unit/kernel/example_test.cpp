// SPDX-License-Identifier: Apache-2.0
// The kernels that people are shown first.
#include "kasimir/base/files.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace kasimir {
namespace {

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(KASIMIR_SOURCE_DIR "/examples/kernels"))
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

const std::vector<Site>& sites() {
  static const std::vector<Site> all{{8, 8, 4, 6, 1}, {8, 16, 3, 4, 2}, {16, 8, 2, 2, 2}};
  return all;
}

/// Without those that a kernel cannot have: a depthwise convolution has as many channels out as in.
std::vector<Site> sites_for(const std::string& kernel) {
  std::vector<Site> possible = sites();
  if (kernel == "depthwise") std::erase_if(possible, [](const Site& site) { return site.ci != site.co; });
  return possible;
}

/// Free symbols have values beside the text, from the budget solver: any do here.
Kernel with_widths(Kernel kernel, const std::vector<Site>& at) {
  Binding values;
  for (Symbol symbol : kernel.free_symbols()) values.set(symbol, 4);
  for (const Site& site : at)
    if (!kernel.free_symbols().empty()) kernel.fits.emplace_back(site, values);
  return kernel;
}

class Example : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static std::string text() {
    return read_file(KASIMIR_SOURCE_DIR "/examples/kernels/" + GetParam() + ".txt");
  }
};

TEST_P(Example, IsNamedLikeItsFileAndSaysWhatItIs) {
  EXPECT_EQ(parse_kernel(text(), catalog()).name, GetParam());
  EXPECT_EQ(text().substr(0, 2), "# ");
}

TEST_P(Example, RoundTrips) {
  const std::string printed = str(parse_kernel(text(), catalog()));
  EXPECT_EQ(str(parse_kernel(printed, catalog())), printed);
}

TEST_P(Example, IsLegalForAllSitesAtOnceAndVerifiedAtEach) {
  const SiteSet set(sites_for(GetParam()), {});
  const Kernel kernel = with_widths(parse_and_check(text(), catalog(), set), set.sites());
  for (const Site& site : set.sites()) {
    for (std::int64_t batch : {1, 2}) {
      const auto graph = lower_at(kernel, site, batch);
      ASSERT_TRUE(graph.ok()) << graph.rejection().str();
      const auto broken = verify(*graph);
      EXPECT_FALSE(broken.has_value()) << broken->str();
    }
  }
}

TEST_P(Example, HasWeightsThatFitEveryResolution) {
  const Kernel kernel = parse_kernel(text(), catalog());
  EXPECT_TRUE(independent_of_resolution(*lower(kernel, SiteSet(sites_for(GetParam()), kernel.choices))));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Example, ::testing::ValuesIn(files()), [](const auto& file) { return file.param; });

TEST(Examples, AreThere) { EXPECT_GE(files().size(), 9U); }

}  // namespace
}  // namespace kasimir
