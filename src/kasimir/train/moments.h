// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/norms.h"
#include "kasimir/train/model.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kasimir {

/// Mean and variance of what these layers give for the images at `indices` at inference, over images and places.
std::map<int, ChannelMoments> channel_moments(Model& model, std::span<const int> layers, const ImageSet& images,
                                              std::span<const std::int32_t> indices);

/// The shapes of the tensors of a saved model, by name. @throws Error (input) if the file is none.
std::map<std::string, std::vector<std::int64_t>> saved_shapes(const std::filesystem::path& path);

}  // namespace kasimir
