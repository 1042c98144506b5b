// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/coverage.h"

#include "kasimir/network/zoo.h"
#include "unit/network/message.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(Coverage, SharesAreOfAllConvolutions) {
  const Coverage all = coverage(zoo_network("resnet8"));
  EXPECT_EQ(all.replaced_count, 6);
  EXPECT_EQ(all.replaced, (LayerCost{11'796'480, 73'728}));
  EXPECT_EQ(all.convolutions, (LayerCost{12'500'992, 76'816}));
  EXPECT_EQ(all.total, (LayerCost{12'501'632, 77'946}));
  EXPECT_DOUBLE_EQ(all.macs_share(), 11'796'480.0 / 12'500'992.0);
  EXPECT_DOUBLE_EQ(all.params_share(), 73'728.0 / 76'816.0);
}

TEST(Coverage, PrintsWhatIsReplacedAndWhatStays) {
  EXPECT_EQ(coverage(zoo_network("resnet8")).str(),
            "resnet8: 6 of 9 convolutions are replaced, 94.4 % of the convolutions' MACs and 96.0 % of their "
            "parameters\n"
            "Ci  Co   H   W  s  convs        MACs  share  params  share\n"
            "                                          %              %\n"
            "16  16  32  32  1      2   4,718,592   37.7   4,608    6.0\n"
            "16  32  16  16  2      1   1,179,648    9.4   4,608    6.0\n"
            "32  32  16  16  1      1   2,359,296   18.9   9,216   12.0\n"
            "32  64   8   8  2      1   1,179,648    9.4  18,432   24.0\n"
            "64  64   8   8  1      1   2,359,296   18.9  36,864   48.0\n"
            "                       6  11,796,480   94.4  73,728   96.0\n"
            "\n"
            "kept                            MACs  share  params  share  why\n"
            "                                          %              %\n"
            "stem.conv                    442,368    3.5     432    0.6  it reads 3 channels, fewer than 8\n"
            "stage2.block1.shortcut.conv  131,072    1.0     544    0.7  its window is 1x1\n"
            "stage3.block1.shortcut.conv  131,072    1.0   2,112    2.7  its window is 1x1\n");
}

TEST(Coverage, PrintsNoSecondTableWhereNothingStays) {
  const std::string text = coverage(zoo_network("resnet8"), {.replace = {"*"}}).str();
  EXPECT_TRUE(text.starts_with("resnet8: 9 of 9 convolutions are replaced, 100.0 % of the convolutions' MACs"));
  EXPECT_EQ(text.find("kept"), std::string::npos);
}

TEST(Coverage, RefusesWhatTheSelectionRefuses) {
  EXPECT_EQ(message_of([] { (void)coverage(zoo_network("resnet8"), {.keep = {"stage2"}}); }),
            "keep pattern `stage2` matches no convolution of `resnet8`\n"
            "  it has 9 convolutions; `stage2.*` matches 3 of them");
}

}  // namespace
}  // namespace kasimir
