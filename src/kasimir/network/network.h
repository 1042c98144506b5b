// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/layer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

struct NamedTensor;  // weights.h

/// A convolutional network that classifies images: a directed acyclic graph of layers in an order in which they can be
/// computed. Layer 0 is the image, the last layer gives one number per class. Made by NetworkBuilder only, which has
/// checked all shapes; it does not change afterwards.
class Network {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Shape3 input() const { return layers_.front().out; }
  [[nodiscard]] std::int64_t classes() const { return layers_.back().out.c; }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] const Layer& layer(int index) const { return layers_.at(static_cast<std::size_t>(index)); }
  /// The index of the layer with this name.
  [[nodiscard]] std::optional<int> find(std::string_view name) const;
  /// The shape that layer `index` reads as its first input. Layer 0 has none: a failed check.
  [[nodiscard]] Shape3 input_of(int index) const;

  /// The weights that it came with, of all its layers or of some; null for a network of the zoo. What starts a network
  /// (training, random_weights) starts these layers from them.
  [[nodiscard]] const std::vector<NamedTensor>* start() const { return start_.get(); }
  [[nodiscard]] Network with_start(std::vector<NamedTensor> weights) &&;
  /// The same with a score for each of so many classes: the last weighted layer gets as many outputs and starts anew.
  /// @throws Error (input) where other layers than activations, means and dropout follow it.
  [[nodiscard]] Network with_classes(std::int64_t classes) const;

  [[nodiscard]] LayerCost cost() const;   ///< of all layers together. @throws Error (input) beyond 64 bits
  [[nodiscard]] std::string str() const;  ///< a line of totals and a table with one row per layer
  bool operator==(const Network&) const = default;

 private:
  friend class NetworkBuilder;
  Network(std::string name, std::vector<Layer> layers) : name_(std::move(name)), layers_(std::move(layers)) {}

  std::string name_;
  std::vector<Layer> layers_;
  std::shared_ptr<const std::vector<NamedTensor>> start_ = nullptr;
};

/// Puts a network together, layer after layer, and infers and checks each shape.
class NetworkBuilder {
 public:
  /// @throws Error (input) if an extent of the image is not in 1 .. 65536.
  NetworkBuilder(std::string name, Shape3 input);

  /// Adds a layer and returns its index. Channels that are 0 in `op` are taken from the input.
  /// @throws Error (input) that names the network and the layer: a name used before, shapes that do not fit.
  int add(std::string name, Op op, std::vector<int> inputs);
  [[nodiscard]] Shape3 shape(int index) const { return layer(index).out; }
  [[nodiscard]] const Layer& layer(int index) const { return layers_.at(static_cast<std::size_t>(index)); }
  [[nodiscard]] std::size_t size() const { return layers_.size(); }  ///< layers so far

  /// The network, which ends in the layer added last.
  /// @throws Error (input) if that layer does not give [classes, 1, 1], or if a layer's result is not used.
  Network finish() &&;

 private:
  std::string name_;
  std::vector<Layer> layers_;
};

}  // namespace kasimir
