// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/accelerator_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "page.h"

namespace kasimir::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

AcceleratorPage page_on(const std::string& preset_name) {
  const CostModel model(matrix_product(64, 32, 16), preset(preset_name));
  Mapping mapping = empty_mapping(model.problem, model.architecture);
  for (int d = 0; d < 3; ++d) mapping.add(d, model.problem.dims[static_cast<std::size_t>(d)].size, 0);
  AcceleratorPage page{"<two> layers & more", "Proved optimal.", "accel map --seed 7", "kasimir 0.1.0", {}};
  for (const double times : {3.0, 1.0})
    page.layers.push_back({times > 1 ? "stage1.conv" : "head", times, model, mapping, evaluate(model, mapping),
                           times > 1 ? "optimal" : "within 0.80 %"});
  return page;
}

TEST(AcceleratorPage, IsWellFormedForEveryPreset) {
  for (const std::string& name : preset_names())
    EXPECT_THAT(faults_of(accelerator_html(page_on(name))), IsEmpty()) << name;
}

TEST(AcceleratorPage, AsksTheNetworkForNothing) {
  const std::string page = accelerator_html(page_on("gemmini"));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST(AcceleratorPage, CountsLayersAsOftenAsTheyAreComputed) {
  const AcceleratorPage page = page_on("gemmini");
  const std::string text = text_of(accelerator_html(page));
  const Evaluation& one = page.layers[0].evaluation;
  EXPECT_EQ(one.cycles, 32'768) << "a pass of one operation";
  EXPECT_THAT(text, HasSubstr("131,072"));
  EXPECT_THAT(text, HasSubstr("75.0 %"));
}

TEST(AcceleratorPage, ShowsTitlesCertificatesAndMappings) {
  const std::string text = text_of(accelerator_html(page_on("gemmini")));
  for (const char* part : {"<two> layers & more", "Proved optimal.", "accel map --seed 7", "within 0.80 %",
                           "stage1.conv (3 times)", "for M in 0..64", "L3[OIW] M64 N32 K16"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(AcceleratorPage, DrawsARooflineWithoutASlopeWhereNoBandwidthIsKnown) {
  EXPECT_THAT(text_of(accelerator_html(page_on("eyeriss_row_stationary"))),
              HasSubstr("gives no bandwidth for the outermost memory"));
  EXPECT_THAT(text_of(accelerator_html(page_on("gemmini"))), HasSubstr("Below the slope the outermost memory decides"));
}

}  // namespace
}  // namespace kasimir::report
