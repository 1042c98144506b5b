// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/plan.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// Appends layers whose names begin with `prefix` and which read layer `from`; returns the last one, or `from` itself
/// where nothing is to be computed.
using AppendLayers = std::function<int(NetworkBuilder& net, const std::string& prefix, int from)>;

/// One of the ways to compute a block.
struct BlockOperator {
  std::string name;  ///< "k3_e6", "skip", a kernel's name; unique in its block
  AppendLayers append;
  std::shared_ptr<const Kernel> kernel = {};  ///< stands in the place of the layer `prefix` + "conv"
};

/// A place of a network at which one of several operators stands. All give the same shape.
struct SpaceBlock {
  std::string name;  ///< "stage2.block1", unique in its space
  std::vector<BlockOperator> operators;
  /// The layers of an operator made of a kernel, with a convolution named `prefix` + "conv" that the kernel replaces;
  /// empty where kernels are not offered.
  AppendLayers kernel_form = {};
};

/// Appends the next block, which reads `from`; returns its last layer.
using PlaceBlock = std::function<int(NetworkBuilder& net, int from)>;

/// Networks that differ in the operator of each block. One description gives both the derived networks and the network
/// of all operators whose weights they share: tensors have the same names in both.
struct NetworkSpace {
  std::string name;
  Shape3 input;
  std::vector<SpaceBlock> blocks;
  /// Adds all layers, and calls `place` once for each block, in the order of `blocks`.
  std::function<void(NetworkBuilder& net, const PlaceBlock& place)> build;

  /// The place of an operator in the list of a block. @throws Error (input) with the names that there are.
  [[nodiscard]] std::size_t find_operator(std::size_t block, const std::string& name) const;
};

/// Where an operator's layers are: `first` up to `end`, without `end`. An identity has none.
struct OperatorPlace {
  std::size_t op = 0;  ///< in the list of the block
  int first = 0;
  int end = 0;
  int out = 0;  ///< the layer that gives the result
};

/// Where a block is.
struct BlockPlace {
  std::vector<OperatorPlace> operators;
  int out = 0;  ///< of several operators: the layer that adds their results up
};

/// A network of a space. Layers of a block are named BLOCK.OPERATOR.LAYER.
struct SpaceNetwork {
  Network network;
  std::map<int, std::pair<Kernel, Site>> replaced;
  std::vector<BlockPlace> blocks;

  [[nodiscard]] NetworkPlan plan() const { return {&network, replaced}; }  ///< as long as this lives
};

/// The network with one operator, by its place in the block's list, in each block.
/// @throws Error (input) for another number of blocks or a place outside a list.
SpaceNetwork derive(const NetworkSpace& space, std::span<const std::size_t> operators);

/// The network that computes all operators of each block and adds their results up.
/// @throws Error (input) if operators of a block give different shapes.
SpaceNetwork all_operators(const NetworkSpace& space);

/// Adds each kernel as an operator, named as the kernel, to every block that offers kernels and whose site it fits.
/// @returns by kernel, at how many blocks. @throws Error (input) for a kernel that fits nowhere.
std::vector<std::size_t> offer_kernels(NetworkSpace& space, std::span<const Kernel> kernels);

/// A convolution, fully connected layer or kernel of a network of a space.
struct WeightedLayer {
  static constexpr int outside = -1;
  int layer = 0;
  int block = outside;  ///< or outside of all blocks: stem, head, shortcuts
  int op = outside;     ///< in the list of the block
};

/// In the order of the network. Shapes, groups, windows are in `network.layer(..)`, kernels in `replaced`.
std::vector<WeightedLayer> weighted_layers(const SpaceNetwork& network);

}  // namespace kasimir
