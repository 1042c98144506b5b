// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/options.h"
#include "kasimir/search_spec.h"

#include "kasimir/train/trainer.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// What a command was told about the network that it works on.
struct SubjectOptions {
  std::string study;  ///< a study's file and a trial ..
  int trial = -1;
  bool train = false;    ///< train the trial again instead of taking the weights that the search kept
  CommonOptions common;  ///< .. or a network of the zoo
  std::string kernel;    ///< of the zoo's network: the file of a kernel in place of its convolutions
  std::string weights;   ///< the file of a saved model
  Norms norms = Norms::restore;
  DataOptions reading;
};

/// A network with weights, and what is known of it.
struct Subject {
  std::unique_ptr<Network> network;
  NetworkPlan plan;
  std::shared_ptr<Model> model;
  std::optional<SearchSpec> spec;  ///< of a study
  std::optional<Dataset> data;     ///< of a study
  std::vector<std::pair<std::string, std::string>> notes;
};

/// A network of the zoo or of an ONNX file, with weights from a file, those that it came with, or random ones.
Subject subject_from_zoo(const SubjectOptions& options);

/// A network of the zoo for the images and classes of a data set, with a kernel if one is given; without a model.
Subject subject_for_data(const SubjectOptions& options, const Dataset& data);

/// A trial of a study: the network on the study's data with the trial's kernel.
/// @throws Error (input) if there are no weights of the trial.
Subject subject_from_study(const SubjectOptions& options);

/// The images as the model reads them: normalised, [image][channel][row][column].
std::vector<float> planar_images(const Model& model, const ImageSet& images);

}  // namespace kasimir
