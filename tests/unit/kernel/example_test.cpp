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
  const SiteSet set(sites(), {});
  const Kernel kernel = parse_and_check(text(), catalog(), set);
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
  EXPECT_TRUE(independent_of_resolution(*lower(kernel, SiteSet(sites(), kernel.choices))));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Example, ::testing::ValuesIn(files()), [](const auto& file) { return file.param; });

TEST(Examples, AreThere) { EXPECT_GE(files().size(), 9U); }

}  // namespace
}  // namespace kasimir
