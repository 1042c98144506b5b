// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/search_space.h"

#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// Blocks of one width.
struct FbnetStage {
  std::int64_t channels = 0;
  int blocks = 1;
  std::int64_t stride = 1;  ///< of the first block
};

/// The size of a space of inverted residual blocks.
struct FbnetSize {
  std::string name;
  Shape3 input{3, 32, 32};
  std::int64_t classes = 10;
  std::int64_t stem_channels = 16;
  std::int64_t stem_stride = 1;
  std::vector<FbnetStage> stages;
  std::int64_t header_channels = 0;
};

/// `cifar` and `imagenet` are the two of Auto-NBA's released code (commit 8ddaf3e, config_search.py), 22 blocks each;
/// `small` (8 blocks) and `tiny` (3) are our own, for a CPU. @throws Error (input) for an unknown name.
FbnetSize fbnet_size(std::string_view name);

/// The nine operators of FBNet's space as Auto-NBA uses it (genotypes.py): k3_e1, k3_e1_g2, k3_e3, k3_e6, k5_e1,
/// k5_e1_g2, k5_e3, k5_e6, skip.
const std::vector<std::string>& fbnet_operators();

/// The space with these operators in each block, named "stage1.block1" and so on.
///
/// kK_eE: a 1x1 convolution to E times the channels, a depthwise K x K convolution, which carries the stride, a 1x1
/// convolution; each with batch norm, the first two with a rectifier; the input added where the shape stays. _g2: the
/// 1x1 convolutions have two groups whose channels are shuffled in between, written as two halves side by side that
/// need no layer for it: the first grouped convolution gives each half its share of both groups. skip: the identity, or
/// a 1x1 convolution with batch norm and rectifier where the shape changes. Kernels stand in a K x K convolution with
/// batch norm and rectifier, the input added where the shape stays.
/// @throws Error (input) for an unknown operator or a size that does not fit.
NetworkSpace fbnet_space(const FbnetSize& size, const std::vector<std::string>& operators = fbnet_operators());

}  // namespace kasimir
