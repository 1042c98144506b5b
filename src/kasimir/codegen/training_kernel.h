// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_training.h"
#include "kasimir/codegen/native.h"
#include "kasimir/kernel/kernel.h"

#include <memory>
#include <mutex>

/// A kernel's forward and backward pass as compiled C, loaded into this process and run on one thread.
namespace kasimir {

struct TrainingKernelOptions {
  NativeOptions native = {};
  CTarget target = host_target();
  /// What one part of the batch may move through a loop nest; 0: the batch is not cut.
  std::int64_t cache_bytes = 512 << 10;
};

class TrainingKernel {
 public:
  /// For batches of `batch` images at the site. Rejected where the kernel does not fit the site, has a shape that the
  /// passes cannot take, or where the C does not compile; the reason says which.
  static Outcome<std::shared_ptr<TrainingKernel>> build(const Kernel& kernel, const Site& site, std::int64_t batch,
                                                        const TrainingKernelOptions& options = {});
  ~TrainingKernel();
  TrainingKernel(const TrainingKernel&) = delete;
  TrainingKernel& operator=(const TrainingKernel&) = delete;

  /// An array that passes the interface: the elements of a tensor for the whole batch.
  struct Array {
    int tensor = -1;  ///< in the graph of the kernel, or in that of its gradients
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;  ///< in floats
  };
  /// The output, then the batch statistics in the order of the graph's stages, then what the backward pass needs.
  [[nodiscard]] const std::vector<Array>& forward_out() const { return forward_out_; }
  [[nodiscard]] std::size_t statistics() const { return programs_.statistics.size(); }
  /// The cotangent first; the others are the input's array or some of forward_out().
  [[nodiscard]] const std::vector<Array>& backward_in() const { return backward_in_; }
  [[nodiscard]] const std::vector<Array>& backward_out() const { return backward_out_; }
  [[nodiscard]] int input() const { return programs_.forward.in.front(); }  ///< the graph's tensor
  /// Per tensor of the kernel's graph: the tensor that is its gradient, or -1.
  [[nodiscard]] const std::vector<int>& gradient() const { return programs_.gradient; }
  /// The weights' places in the array that both passes take, in floats.
  [[nodiscard]] const std::vector<WeightSlot>& weights() const { return weights_; }
  [[nodiscard]] std::int64_t weights_size() const { return weights_size_; }
  [[nodiscard]] std::int64_t part() const { return part_; }  ///< images that go through the nests together
  [[nodiscard]] std::string plan() const;                    ///< the nests of both passes with their methods

  /// One pass over the batch. Calls from several threads wait for each other: they share the workspace.
  void forward(const float* weights, const float* input, const std::vector<float*>& out);
  void backward(const float* weights, const std::vector<const float*>& in, const std::vector<float*>& out);

 private:
  struct Pass;
  TrainingKernel() = default;
  [[nodiscard]] std::vector<Array> arrays(const TrainingPass& pass, const std::vector<int>& tensors) const;

  TrainingPrograms programs_;
  std::int64_t batch_ = 0;
  std::int64_t part_ = 0;
  std::vector<WeightSlot> weights_;
  std::int64_t weights_size_ = 0;
  std::vector<Array> forward_out_;
  std::vector<Array> backward_in_;
  std::vector<Array> backward_out_;
  std::unique_ptr<TemporaryFolder> folder_;  ///< as long as the library is loaded: the loader knows files by inode
  void* library_ = nullptr;
  std::unique_ptr<Pass> forward_;
  std::unique_ptr<Pass> backward_;
  std::mutex busy_;
};

}  // namespace kasimir
