// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/block_layers.h"
#include "kasimir/data/dataset.h"
#include "kasimir/network/search_space.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

/// What networks a joint search is over, as options say it.
struct SpaceOptions {
  std::string name = "residual";                 ///< or a size of FBNet's space: tiny, small, cifar, imagenet
  std::vector<std::string> operators;            ///< names, files of kernels, study:FILE; empty: those of the space
  std::vector<std::int64_t> widths{16, 32, 64};  ///< of the residual space
  int blocks = 1;                                ///< of a stage of the residual space
  std::vector<int> bits{4, 6, 8};
};

/// The space for the images and classes of a data set, with the kernels that the options name.
/// @throws Error (input) for an unknown space or operator, a kernel that fits nowhere, or a size that does not fit.
NetworkSpace network_space(const SpaceOptions& options, const Dataset& data);

/// The same as names.
ChoiceSpace choice_space(const NetworkSpace& space, const std::vector<int>& bits);

/// What an accelerator computes for each block and operator: convolutions, and the weighted stages of kernels as
/// convolutions of the same extents. `edge_bits` are those of what is outside all blocks.
/// @throws Error (input) for a stage of a kernel that is no convolution in the wide sense.
BlockLayers block_layers(const NetworkSpace& space, int edge_bits);

}  // namespace kasimir
