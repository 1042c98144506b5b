// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/budget.h"

namespace kasimir::testing {

using kasimir::conv_load;

/// The sites of a ResNet-8 for 32 x 32 images: stride 2 and Ci != Co among them.
inline std::vector<SiteLoad> resnet8_loads() {
  return {conv_load({16, 16, 32, 32, 1}, 2), conv_load({16, 32, 16, 16, 2}), conv_load({32, 32, 16, 16, 1}),
          conv_load({32, 64, 8, 8, 2}), conv_load({64, 64, 8, 8, 1})};
}

}  // namespace kasimir::testing
