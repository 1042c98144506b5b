// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/search_space.h"

#include <string>
#include <vector>

namespace kasimir {

/// The size of a residual network of basic blocks (He et al., CVPR 2016, section 4.2).
struct ResidualSize {
  std::string name = "resnet8";
  Shape3 input{3, 32, 32};
  std::int64_t classes = 10;
  std::vector<std::int64_t> widths{16, 32, 64};  ///< channels of each stage; all but the first halve the resolution
  int blocks = 1;                                ///< residual blocks of a stage, with two convolutions each
};

/// "conv3": the network's own 3x3 convolution. "conv3_g4": with four groups. "separable3": depthwise 3x3, batch norm,
/// rectifier, 1x1.
const std::vector<std::string>& residual_operators();

/// Residual networks in which each 3x3 convolution behind the stem is a block of the space, "stage1.block1.conv1", and
/// may be a kernel. Batch norm belongs to the operator; shortcuts, sums and rectifiers around the blocks to all.
/// @throws Error (input) for an unknown operator or a size that does not fit.
NetworkSpace residual_space(const ResidualSize& size, const std::vector<std::string>& operators = {"conv3"});

}  // namespace kasimir
