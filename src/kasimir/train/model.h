// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/image_set.h"
#include "kasimir/data/split.h"
#include "kasimir/network/quantization.h"
#include "kasimir/train/aten.h"
#include "kasimir/train/machine.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kasimir {

struct ModelOptions {
  std::uint64_t seed = 1;  ///< decides all start values
  Device device = Device::cpu;
  Peepholes peepholes = {};
};

struct Score {
  double loss =
      0;  ///< mean cross entropy, without label smoothing; of values the mean squared error, as they are scaled
  double accuracy = 0;  ///< 0 .. 1; of values the share of their variance that is explained, 0 if there is none
  std::int64_t images = 0;
};

/// A network with weights. Convolutions start normal with variance 2 / (out per group * kh * kw) (He et al., arXiv
/// 1502.01852, the fan-out form that residual networks use), batch norms at 1 and 0, the classifier uniform within
/// +-1/sqrt(fan_in), kernels' weights by their role (stage.h).
class Model {
 public:
  /// @throws Error (input) if CUDA is asked for and there is none. A kernel that does not fit its site is a failed
  /// check: plans hold kernels that were lowered before.
  explicit Model(const NetworkPlan& plan, const ModelOptions& options = {});
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  /// Learned numbers.
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] std::vector<NamedTensor> tensors() const;
  /// Gives a tensor other values, row-major. @throws Error (input) for an unknown name or another number of values.
  void set_tensor(const std::string& name, const std::vector<float>& values);
  /// The same for several tensors.
  void set_tensors(const std::vector<NamedTensor>& tensors);
  /// From now on the operands of these places are rounded to their grids, in training and at inference; {}: none are.
  /// @throws Error (input) for a place that the network does not have.
  void set_quantization(const Quantization& quantization);
  /// The places with their steps as they are now: training moves them.
  [[nodiscard]] Quantization quantization() const;

  /// How pixels are brought to mean 0 and deviation 1; part of what save() stores. Deviations below 1e-3 count as 1e-3.
  void set_normalisation(const ChannelStatistics& statistics);
  [[nodiscard]] const ChannelStatistics& normalisation() const;

  /// Class scores [image][class] of the images at `indices`, at inference: statistics frozen.
  [[nodiscard]] std::vector<std::vector<float>> predict(const ImageSet& images,
                                                        std::span<const std::int32_t> indices) const;
  [[nodiscard]] Score evaluate(const ImageSet& images, std::span<const std::int32_t> indices) const;

  /// All tensors and the normalisation, as a dictionary that Python's torch.load reads too.
  /// @throws Error (system) if the file cannot be written.
  void save(const std::filesystem::path& path) const;
  /// @throws Error (input) if the file is no saved model or is one of another network.
  void load(const std::filesystem::path& path);

  struct Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }  ///< for the other files of this layer
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kasimir
