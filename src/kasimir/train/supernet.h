// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/search_space.h"
#include "kasimir/train/model.h"
#include "kasimir/train/quantize.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace kasimir {

/// How one block of a supernet is computed in one step,
///
///     y = sum over o of op_weight[o] * op_o(x),
///
/// where within op_o every quantised tensor v is sum over j of bit_weight[o][j] * quantised_j(v): one mixture for the
/// weights and the activations of all its convolutions.
struct BlockMixture {
  std::vector<std::size_t> active;              ///< operators; all others have op_weight 0 and are not computed
  std::vector<double> op_weight;                ///< [operator]
  std::vector<std::vector<double>> bit_weight;  ///< [operator][bits]
};

/// One entry for each block.
using SupernetMixture = std::vector<BlockMixture>;

/// Slopes of a loss by the numbers of its mixture, as if each were free; 0 where an operator is not active. Bits of an
/// operator of weight 0 have slope 0.
struct MixtureSlopes {
  double loss = 0;                                     ///< mean over the batch
  std::vector<std::vector<double>> op;                 ///< [block][operator]
  std::vector<std::vector<std::vector<double>>> bits;  ///< [block][operator][bits]
};

/// One network of a supernet: places in the lists of operators and of bits.
struct SupernetChoice {
  std::size_t op = 0;
  std::size_t bits = 0;
  bool operator==(const SupernetChoice&) const = default;
};
using SupernetDesign = std::vector<SupernetChoice>;

/// The mixture that is one network.
SupernetMixture mixture_of(const NetworkSpace& space, std::size_t widths, const SupernetDesign& design);

struct SupernetOptions {
  std::vector<int> bits{4, 6, 8};  ///< what blocks choose from, each 2 .. 8 or 16; empty: floating point
  int edge_bits = 8;               ///< of what is in no block (stem, shortcuts, classifier); 0: floating point
  int batch = 64;                  ///< at least 2
  double learning_rate = 0.2;      ///< at its highest; falls along half a cosine
  double lowest_rate = 0.001;
  double momentum = 0.9;
  double weight_decay = 5e-4;
  double clip_norm = 5;     ///< of all gradients of the weights together; 0: none
  double step_rate = 1e-3;  ///< Adam's, of the logarithms of quantisation steps
  /// Where the scales of batch norms start that end a branch beside a shortcut: paths that all begin as nearly the
  /// shortcut disturb each other less (0 for single networks in Goyal et al., arXiv 1706.02677, section 5.1).
  double branch_start = 0;
  int crop_padding = 4;  ///< of images that weights learn from
  bool flip = true;
  int recalibration_images = 256;  ///< for the batch norm statistics of one network; at least 2
  std::uint64_t seed = 1;
  Device device = Device::cpu;
  Peepholes peepholes = {};

  /// @throws Error (input) that names the field out of range.
  void check() const;
};

/// The parts of a set of training images, as indices.
struct SupernetData {
  std::vector<std::int32_t> weights;     ///< weight steps learn from these, batch norm is re-estimated on some
  std::vector<std::int32_t> choices;     ///< choice steps see these
  std::vector<std::int32_t> validation;  ///< validate() scores these; they may be among `choices`
};

/// A network of a space with bits, ready to be trained on or exported.
struct DerivedNetwork {
  SpaceNetwork made;
  Quantization quantization;         ///< of every place that is not float, with the steps that the supernet learned
  std::vector<NamedTensor> weights;  ///< shared weights, with batch norm statistics of this network
  ChannelStatistics normalisation;

  /// With the inherited weights and the quantisation: ready to score, or to train further (TrainStart::weights).
  [[nodiscard]] Model model(Device device = Device::cpu) const;
};

/// All networks of a space at once, with shared weights: operators have their own weights and batch norm statistics,
/// bit widths have their own steps. A step computes what its mixture asks for and saves, for the backward pass, the
/// same number of bytes whatever the number of bit widths. Deterministic for a seed on one thread of a CPU.
class Supernet {
 public:
  /// `images` outlives the supernet. @throws Error (input) for options out of range, too few images, or images that do
  /// not fit the space.
  Supernet(const NetworkSpace& space, const ImageSet& images, const SupernetData& data, const SupernetOptions& options);
  ~Supernet();
  Supernet(Supernet&&) noexcept;
  Supernet& operator=(Supernet&&) noexcept;

  [[nodiscard]] const NetworkSpace& space() const;
  [[nodiscard]] const SpaceNetwork& network() const;  ///< of all operators
  [[nodiscard]] const SupernetOptions& options() const;

  /// One step of the weights and the quantisation steps on a batch of `data.weights`; `progress`, 0 .. 1 of all weight
  /// steps, sets the rate. @returns the loss. @throws Error (unsolved) if it is not finite.
  double weight_step(const SupernetMixture& mixture, double progress);
  /// Slopes on a batch of `data.choices`, with the statistics of that batch; changes nothing else. Operators of weight
  /// 0 are computed without a backward pass of their own.
  MixtureSlopes choice_step(const SupernetMixture& mixture);
  /// The score of one network with the shared weights and batch norm statistics of its own; changes nothing.
  [[nodiscard]] Score validate(const SupernetDesign& design);
  [[nodiscard]] DerivedNetwork derive_network(const SupernetDesign& design);

  /// Bytes that a step holds between its forward and its backward pass, beyond weights and images. Measured by taking
  /// the step's forward pass under a MemoryMeter, of which there is one at a time; weights and statistics stay.
  [[nodiscard]] std::int64_t saved_bytes(const SupernetMixture& mixture, bool choice_step);

  /// All that later steps depend on. @throws Error (system) if the file cannot be written.
  void save(const std::filesystem::path& path) const;
  /// @throws Error (input) if the file is of another space, other bits or another seed.
  void load(const std::filesystem::path& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kasimir
