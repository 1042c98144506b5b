// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/plan.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// Of each channel of a layer's result, over images and places.
struct ChannelMoments {
  std::vector<double> mean;
  std::vector<double> variance;
};

/// The convolutions whose batch norms an exporter has made part of them: those with weights and biases of their own and
/// more than one place, but for the one that gives the classes, in a network that came with its weights and normalises
/// nowhere. Such a network computes the same, but what is trained further without its norms learns worse or diverges
/// (docs/onnx.md).
std::vector<int> convolutions_without_norms(const Network& network);

/// The last weighted layer, whose outputs are the classes; none where other layers than activations, means and dropout
/// follow it.
std::optional<int> head_of(const Network& network);

/// True if the network came with all tensors of the plan, so that nothing of it has to be trained to be used.
bool starts_whole(const NetworkPlan& plan);

/// The name of the batch norm behind a layer: `<layer>_norm`, longer where that is taken.
std::string norm_name(const Network& network, int layer);

/// The same network with a batch norm behind each of these convolutions, which lose their biases. Its
/// statistics are the moments of the convolution's results, its factor and offset undo them: at inference the network
/// computes what it did.
Network with_norms(const Network& network, const std::map<int, ChannelMoments>& results);

}  // namespace kasimir
