// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/kernel_module.h"
#include "kasimir/train/model.h"

#include <map>
#include <memory>
#include <vector>

namespace kasimir {

/// A network as tensors, behind Model.
struct Model::Impl {
  Impl(const NetworkPlan& plan, const ModelOptions& options);

  /// Class scores [n, classes] of images [n, c, h, w]. `taps` receives the results of the layers that it names.
  at::Tensor forward(const at::Tensor& images, bool training, std::map<int, at::Tensor>* taps = nullptr);
  /// All learned and stored tensors, in the order of the layers.
  std::vector<Part*> parts();
  /// Those of the kernels only.
  std::vector<Part*> kernel_parts();
  [[nodiscard]] at::Device device() const { return device_; }

  Network network;
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
