// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/budget.h"

namespace kasimir::testing {

/// A site of a 3 x 3 convolution, `count` times in the network.
inline SiteLoad conv_load(const Site& site, std::int64_t count = 1) {
  const auto params = static_cast<double>(9 * site.ci * site.co);
  return {site, count, params * static_cast<double>(site.h * site.w), params};
}

/// The sites of a ResNet-8 for 32 x 32 images: stride 2 and Ci != Co among them.
inline std::vector<SiteLoad> resnet8_loads() {
  return {conv_load({16, 16, 32, 32, 1}, 2), conv_load({16, 32, 16, 16, 2}), conv_load({32, 32, 16, 16, 1}),
          conv_load({32, 64, 8, 8, 2}), conv_load({64, 64, 8, 8, 1})};
}

}  // namespace kasimir::testing
