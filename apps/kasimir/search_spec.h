// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/accelerator_target.h"
#include "kasimir/data_network.h"
#include "kasimir/data_options.h"

#include "kasimir/data/dataset.h"
#include "kasimir/network/zoo.h"
#include "kasimir/onnx/import.h"
#include "kasimir/study/ladder_config.h"
#include "kasimir/synth/sampler.h"
#include "kasimir/train/recipe.h"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// One training rung: epochs over a stratified subset of the training split (0 images: all of it).
struct RungPlan {
  int epochs = 2;
  std::int64_t images = 0;
};

/// Everything that was asked of a search. Stored in the study, from which every worker builds the same search.
struct SearchSpec {
  std::string network = "resnet8";
  std::string data = "fashion-mnist";
  double width = 1.0;
  Norms norms = Norms::restore;
  std::vector<std::string> replace;
  std::vector<std::string> keep;
  std::string budget = "macs=0.2..0.5,params=0.1..0.5";
  int min_primitives = 2;
  int max_primitives = 8;
  int max_width = 3;
  std::vector<std::string> allow;
  std::vector<std::string> forbid;
  std::vector<std::string> require;
  bool allow_global = true;
  bool allow_pointwise = false;
  bool allow_unmixed = false;
  bool allow_resolution = false;
  double composites = GrowthLimits{}.composites;  ///< weight of each composite; studies from before them have none
  std::string want;                               ///< rules for labels (synth/label_rules.h)
  std::uint64_t seed = 1;
  double validation = 0.1;  ///< share of the training images
  std::array<RungPlan, 3> rungs{RungPlan{2, 8000}, RungPlan{3, 20000}, RungPlan{4, 0}};
  std::string quick_size;  ///< of the images on rung `quick`, "16x16"; empty: as on the others
  double learning_rate = 0.1;
  int batch = 128;
  double label_smoothing = 0.0;
  bool flip = true;
  /// What rung `full` adds to that, of the original as of the candidates (Recipe); the original has no teacher.
  std::optional<double> full_label_smoothing;
  double full_average = 0;
  double distill = 0;
  double distill_temperature = Recipe{}.distill_temperature;
  DataOptions reading;             ///< how the data is read
  std::int64_t train_limit = 0;    ///< images of the data set to use at all; 0: all
  double slowest = 2.5;            ///< training step against the original's, above which a candidate is screened out
  std::string latency = "native";  ///< what runs when latency is measured: generated C, or "eager" PyTorch
  double latency_tune = 0;         ///< seconds of tuning that each network gets before rung `latency`
  int latency_batch = 32;
  int latency_threads = 1;
  AcceleratorSpec accelerator;
  std::string device = "cpu";
  std::string strategy = "random";
  /// Where from and text: the kernels of the first trials, before the strategy makes any.
  std::vector<std::pair<std::string, std::string>> seed_kernels;
  std::string train_kernels = "aten";  ///< or fused, auto (train/recipe.h)
  std::vector<std::string> scores;     ///< zero-cost scores before the first rung (train/score.h)
  double score_keep = 1;               ///< share of recent candidates that these leave to be trained; 1: all
  study::LadderConfig ladder;

  [[nodiscard]] nlohmann::json to_json() const;
  static SearchSpec from_json(const nlohmann::json& json);
  [[nodiscard]] SampleOptions sample_options() const;
  [[nodiscard]] LoadOptions load_options() const;
  /// The recipe of a rung for one repetition of a trial. All trials of a study are trained alike; with distillation, on
  /// rung `full` candidates have the trained original as their teacher, and the original (trial 0) has none.
  [[nodiscard]] Recipe recipe(int rung, int trial, int repetition, const ImageSet& images) const;
};

/// True for the name of an ONNX file, "model.onnx".
bool is_onnx_file(const std::string& network);
/// The network of such a file, with what was read of it. @throws Error (input) as import_onnx, and for another width
/// than 1.
ImportedNetwork onnx_network(const std::string& file, double width, Shape3 input);

/// A network of the zoo, or of an ONNX file with its weights, for images of this size and so many classes; zeros: as
/// published, or as the file says. Where a file's classes are others, its last layer starts anew.
/// @throws Error (input) as zoo_network and import_onnx, and for a width other than 1 with a file.
Network network_for(const std::string& name, double width, Shape3 input, std::int64_t classes);

}  // namespace kasimir
