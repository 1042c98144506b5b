// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/fake_quantizer.h"
#include "kasimir/train/kernel_module.h"
#include "kasimir/train/model.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace kasimir {

/// Called in place of a layer: `compute` computes it from the results of earlier layers. An undefined result skips it.
using LayerHook = std::function<at::Tensor(int layer, const std::vector<at::Tensor>& results,
                                           const std::function<at::Tensor()>& compute)>;

/// The statistics become the mean over batches, each counting alike. `run` computes one batch as in training.
void average_statistics(const std::vector<Part*>& statistics, std::size_t batches,
                        const std::function<void(std::size_t batch)>& run);

/// A network as tensors, behind Model.
struct Model::Impl {
  Impl(const NetworkPlan& plan, const ModelOptions& options);

  /// Class scores [n, classes] of images [n, c, h, w]. `taps` receives the results of the layers that it names.
  at::Tensor forward(const at::Tensor& images, bool training, std::map<int, at::Tensor>* taps = nullptr);
  /// All learned and stored tensors, in the order of the layers.
  std::vector<Part*> parts();
  /// Those of the kernels only.
  std::vector<Part*> kernel_parts();
  /// Where the plan replaces, in the order of the layers.
  std::vector<KernelModule*> kernels();
  /// Logarithms of the steps of all quantised places.
  [[nodiscard]] std::vector<at::Tensor> learned_steps() const;
  [[nodiscard]] at::Device device() const { return device_; }

  Network network;
  std::map<std::string, FakeQuantizer> quantizers;  ///< by the weight's name
  NamedOperandHook operands;                        ///< called at every weighted place, if it is set
  LayerHook around;                                 ///< called in place of every layer, if it is set
  ChannelStatistics normalisation;

 private:
  struct Node {
    std::vector<Part> parts;
    std::unique_ptr<KernelModule> kernel;
    int last_reader = 0;  ///< the last layer that reads this one
    int readers = 0;
  };
  struct Maker;
  struct Runner;

  std::vector<Node> nodes_;
  at::Device device_;
};

}  // namespace kasimir
