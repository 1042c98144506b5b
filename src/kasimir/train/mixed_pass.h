// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/mixed_place.h"
#include "kasimir/train/network_module.h"
#include "kasimir/train/supernet.h"

#include <map>
#include <string>
#include <vector>

namespace kasimir {

/// What a pass through a supernet is for.
enum class PassKind {
  weights,  ///< gradients of weights and steps
  choices,  ///< gradients of the mixture only
  plain     ///< no gradients
};

/// The tensors of a supernet, and what belongs to which block.
struct SupernetTensors {
  SupernetTensors(const NetworkSpace& space, const SupernetOptions& options);

  /// Of a layer; `outside` of all blocks.
  struct Owner {
    static constexpr std::size_t outside = static_cast<std::size_t>(-1);
    std::size_t block = outside;
    std::size_t op = outside;  ///< or the sum of the block's operators
  };

  SpaceNetwork made;
  std::size_t widths;  ///< how many bit widths blocks choose from
  Model model;
  std::vector<Owner> owners;                 ///< by layer
  std::map<std::string, MixedPlace> places;  ///< by the weight's name; none in floating point
  std::map<std::string, Owner> place_owners;

  [[nodiscard]] std::vector<at::Tensor> learned_steps() const;
};

/// While it lives, the model computes one mixture.
class MixedPass {
 public:
  MixedPass(SupernetTensors& tensors, const SupernetMixture& mixture, PassKind kind);
  ~MixedPass();
  MixedPass(const MixedPass&) = delete;
  MixedPass& operator=(const MixedPass&) = delete;

  [[nodiscard]] bool computes(std::size_t layer) const;
  /// After the backward pass of a loss in which kind is `choices`.
  [[nodiscard]] MixtureSlopes slopes() const;

 private:
  struct Operator {
    double weight = 0;
    bool computed = false;
    at::Tensor mix;  ///< of bits; undefined in floating point
  };
  struct Block {
    std::vector<Operator> operators;
    std::vector<std::size_t> active;
    at::Tensor op_weights;  ///< of `active`
  };

  at::Tensor layer(int index, const std::vector<at::Tensor>& results, const std::function<at::Tensor()>& compute);
  at::Tensor mixed(std::size_t block, const std::vector<at::Tensor>& results) const;
  void quantise(const std::string& weight, at::Tensor& activation, at::Tensor& weights);
  void let_weights_learn(bool learn);

  SupernetTensors& tensors_;
  PassKind kind_;
  std::vector<Block> blocks_;
};

}  // namespace kasimir
