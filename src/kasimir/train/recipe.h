// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/aten.h"
#include "kasimir/train/machine.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// In what precision convolutions and matrix products run.
enum class Precision : std::uint8_t {
  automatic,  ///< mixed on CUDA, single on a CPU
  single,     ///< float32
  mixed       ///< bfloat16, all else in float32
};

/// What computes kernels and their gradients on the processor.
enum class KernelTraining : std::uint8_t {
  aten,      ///< stage by stage; also wherever the others cannot
  fused,     ///< compiled C, at every site where it can be had (fused_training.h)
  automatic  ///< what is measured to be faster: two trainings may choose otherwise and differ in the last digits
};
KernelTraining kernel_training(std::string_view name);  ///< of "aten", "fused" and "auto"; others are a failed check
std::string_view name_of(KernelTraining kernels);
std::vector<std::string> kernel_training_names();

/// How a network is trained. Stochastic gradient descent with momentum; the rate rises linearly from 0 over the first
/// `warmup` of all steps and then falls to 0 along half a cosine (Loshchilov and Hutter, arXiv 1608.03983).
struct Recipe {
  int epochs = 2;
  int batch = 128;             ///< at least 2: a batch norm of one image may have no variance at all
  double learning_rate = 0.1;  ///< at its highest
  double warmup = 0.2;         ///< share of all steps, 0 .. 1
  double momentum = 0.9;
  bool nesterov = true;
  double weight_decay = 5e-4;    ///< not on scales, offsets, biases and batch norms
  double label_smoothing = 0.0;  ///< 0 .. 1
  double average = 0.0;  ///< decay of a moving average of weights and running statistics (weight_average.h), which is
                         ///< what is scored and kept; 0: the last weights are
  /// Share of a teacher's scores in the loss, 0 .. 1 (Hinton et al., arXiv 1503.02531); with TrainStart::teacher.
  double distill = 0.0;
  double distill_temperature = 4.0;  ///< as Zagoruyko and Komodakis, arXiv 1612.03928, take it for small images
  int crop_padding = 4;              ///< images are moved by up to so many pixels; 0: never
  bool flip = true;                  ///< mirrors half of the images; switch off for digits and letters
  std::uint64_t seed = 1;            ///< start values, order, augmentation
  double time_limit_s = 0;           ///< of the training, evaluation included; 0: none
  std::int64_t memory_limit = 0;     ///< bytes that tensors in main memory may take; 0: none
  int threads = 1;
  Device device = Device::cpu;
  Precision precision = Precision::automatic;
  KernelTraining kernels = KernelTraining::aten;  ///< others: on the processor, one thread, single precision
  bool evaluate_test = false;                     ///< read the test split at the end
  Peepholes peepholes = {};

  /// @throws Error (input) that names the field out of range.
  void check() const;
  [[nodiscard]] std::string str() const;  ///< one line, for records
};

}  // namespace kasimir
