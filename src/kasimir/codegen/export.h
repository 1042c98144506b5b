// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/weights.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kasimir {

/// One file of an export.
struct ExportedFile {
  std::string name;  ///< beside the others, without a folder
  std::string content;
};

/// What an export says about itself beside the network: accuracy, seed, recipe, normalisation of the images.
using ExportNotes = std::vector<std::pair<std::string, std::string>>;

/// The plan's tensors by name. @throws Error (input) for a tensor that is missing, has another shape, or that the
/// network does not have.
std::map<std::string_view, const NamedTensor*> tensors_by_name(const NetworkPlan& plan,
                                                               const std::vector<NamedTensor>& weights);

/// The tensors as a file in the safetensors format: 8 bytes with the length of a JSON header, the header with name,
/// type, shape and place of each tensor, then float32 numbers, row-major, little-endian. `notes` become its metadata.
/// https://github.com/huggingface/safetensors#format
std::string to_safetensors(const std::vector<NamedTensor>& tensors, const ExportNotes& notes = {});

/// What an export is compared with after it was written: images [n, c, h, w], normalised as the network wants them, and
/// the class scores [n, classes] that another execution of the network gave.
struct ExportCheck {
  std::int64_t images = 0;
  std::vector<float> input;
  std::vector<float> output;
};

/// `check.safetensors` with the tensors `input` and `output`.
ExportedFile check_file(const Network& network, const ExportCheck& check);

}  // namespace kasimir
