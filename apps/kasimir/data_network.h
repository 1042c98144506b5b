// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data_options.h"

#include "kasimir/data/dataset.h"
#include "kasimir/network/network.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace kasimir {

/// What a network that comes with its weights is trained with at its highest, unless something else is asked for: a
/// fifth of what random weights begin with, at which trained ones are lost (docs/onnx.md has a comparison).
constexpr double fine_tuning_rate = 0.02;

/// What to do with an ONNX file whose batch norms have become part of its convolutions.
enum class Norms : std::uint8_t { restore, keep };
/// `--norms restore|keep`, with what it means.
void add_norms_option(CLI::App& app, Norms& norms);

/// A network for images and classes of a data set.
struct DataNetwork {
  Network network;
  int restored = 0;  ///< batch norms that were put back
};

/// Of the zoo, or of an ONNX file with its weights. Statistics of restored norms are those of a few training images,
/// read as `reading` says.
/// @throws Error (input) as network_for, and as DataOptions::own_scale.
DataNetwork network_for_data(const std::string& name, double width, Norms norms, const Dataset& data,
                             const DataOptions& reading);

/// A network of an ONNX file with the classes and the norms that a saved model of it has.
/// @throws Error (input) if the file is no saved model.
Network network_as_saved(const Network& network, const std::filesystem::path& weights);

}  // namespace kasimir
