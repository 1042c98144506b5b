// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/data/dataset.h"
#include "kasimir/data/split.h"
#include "kasimir/train/model.h"
#include "kasimir/train/recipe.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kasimir {

struct EpochRow {
  int epoch = 0;  ///< from 1
  double train_loss = 0;
  double train_accuracy = 0;
  double validation_loss = 0;
  double validation_accuracy = 0;
  double learning_rate = 0;  ///< of the epoch's last step
  double seconds = 0;        ///< of this epoch, evaluation included
};

struct TrainObserver {
  std::function<void(const EpochRow&)> epoch = {};
  /// Asked after every step; true ends the training, which is recorded as stopped.
  std::function<bool()> should_stop = {};
};

/// What became of a model's kernels.
struct FusedUse {
  int kernels = 0;
  int fused = 0;                     ///< of them: run as compiled C
  double seconds = 0;                ///< compiling, comparing, measuring
  std::vector<std::string> reasons;  ///< why others do not, each once
};

/// What came of a training. Expected failures are results: they are in `failed` and never thrown.
struct TrainResult {
  bool stopped = false;  ///< the observer ended it
  /// Rules: "diverged" (loss is nan in epoch 1 step 17), "time limit", "out of memory".
  std::optional<Rejection> failed;
  std::vector<EpochRow> curve;      ///< finished epochs
  std::optional<Score> validation;  ///< after the last epoch
  std::optional<Score> test;        ///< only if the recipe asks for it
  std::int64_t steps = 0;
  double seconds = 0;
  double images_per_second = 0;  ///< of training steps alone
  std::string machine;           ///< Machine::str()
  FusedUse fused;                ///< what trained the kernels
  std::shared_ptr<Model> model;  ///< as it was at the end

  [[nodiscard]] bool ok() const { return !failed && !stopped; }
};

/// Where a training begins instead of at random values.
struct TrainStart {
  const Model* weights = nullptr;  ///< a model of the same plan: its tensors and normalisation are copied
  /// With `Recipe::distill`: a trained model for the same images and classes, whose scores are learned beside the labels.
  Model* teacher = nullptr;
  /// How pixels are read where no weights say it; none: by the statistics of the images that it trains on.
  std::optional<ChannelStatistics> scale = std::nullopt;
  Quantization quantization = {};  ///< quantisation-aware training: these places, with learned steps
  /// Written after each epoch; where it exists and is of the same training, that goes on from it. Empty: none.
  std::filesystem::path checkpoint = {};
};

/// Trains the network on the images of `dataset.train` at `split.train` and scores it on those at `split.validation`.
/// Deterministic for a seed on one thread of a CPU.
/// @throws Error (input) for a recipe out of range, a split without images, a network that does not fit the data, or a
/// teacher that does not fit the network or the recipe.
TrainResult train(const NetworkPlan& plan, const Dataset& dataset, const Split& split, const Recipe& recipe,
                  const TrainObserver& observer = {}, const TrainStart& start = {});

}  // namespace kasimir
