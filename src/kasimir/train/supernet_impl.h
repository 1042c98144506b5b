// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/batches.h"
#include "kasimir/train/dictionary.h"
#include "kasimir/train/index_stream.h"
#include "kasimir/train/mixed_pass.h"
#include "kasimir/train/sgd.h"
#include "kasimir/train/supernet.h"

#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// Puts statistics back as they were when it ends.
class KeptStatistics {
 public:
  explicit KeptStatistics(const std::vector<Part*>& statistics);
  ~KeptStatistics();
  KeptStatistics(const KeptStatistics&) = delete;
  KeptStatistics& operator=(const KeptStatistics&) = delete;

 private:
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> before_;
};

/// Behind Supernet.
struct Supernet::Impl {
  Impl(const NetworkSpace& space_of, const ImageSet& images_of, const SupernetData& data_of,
       const SupernetOptions& options_of);

  /// Of what a pass computes.
  [[nodiscard]] std::vector<Part*> statistics_of(const MixedPass& pass) const;
  /// These become the mean over batches of `recalibration`.
  void reestimate(const std::vector<Part*>& of);
  /// Images and labels of a batch.
  std::pair<at::Tensor, at::Tensor> batch_of(std::span<const std::int32_t> indices, const Augmentation& how = {});
  std::pair<at::Tensor, at::Tensor> next_weight_batch();
  at::Tensor loss_of(const std::pair<at::Tensor, at::Tensor>& batch);
  /// Everything that load() has to restore but the places in the data.
  NamedState state();

  NetworkSpace space;
  const ImageSet& images;
  SupernetData data;
  SupernetOptions options;
  SupernetTensors tensors;
  Sgd sgd;
  Adam adam;
  Batcher batcher;
  IndexStream weight_batches;
  IndexStream choice_batches;
  std::vector<std::int32_t> recalibration;                ///< of the images that weights learn from
  std::vector<std::pair<Part*, std::size_t>> statistics;  ///< of all operators, each with its layer
};

}  // namespace kasimir
