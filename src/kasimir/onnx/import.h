// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/weights.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// A network that was read from an ONNX file.
struct ImportedNetwork {
  Network network;                 ///< with every tensor of its layers, in their order, as Network::start
  std::int64_t nodes = 0;          ///< operators in the file
  std::int64_t opset = 0;          ///< version of the operators
  std::vector<std::string> notes;  ///< what was left out: "the Softmax at its end is left out: ..."
};

/// Reads a convolutional network that classifies images. Operators of set 11 and newer; what depends on constants and
/// shapes only is computed, and what only renames axes (NHWC layouts, flattening, the transposes of a channel shuffle)
/// leaves no layer behind. Layers are named after their weights, else after their nodes. Batch norm with another
/// epsilon than layer::BatchNorm's stores the difference in its variance; factors and offsets for channels become part
/// of the weighted layer before them, else a depthwise convolution of 1x1. Tensors in files beside the model are read;
/// those of 16 bits become float32.
///
/// `input` is the size of one image; zeros: as the file says. Its name without `.onnx` is the network's.
/// @throws Error (input) that names file, node and operator: a file that is cut off or damaged, an operator that is not
/// known or not known in this form, shapes that do not fit. No part of the file is trusted: sizes are compared with
/// what the file holds before memory is asked for.
ImportedNetwork import_onnx(const std::filesystem::path& file, Shape3 input = {});

/// The same of bytes in memory. `file` is what errors call them, its folder is where tensors of other files are looked
/// for.
ImportedNetwork parse_onnx(std::string_view bytes, const std::filesystem::path& file, Shape3 input = {});

/// The operators that are read, sorted.
std::vector<std::string> onnx_operators();

}  // namespace kasimir
