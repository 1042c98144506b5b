// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/evaluate.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kasimir::report {

/// A layer with the mapping that was found for it.
struct AcceleratorLayer {
  std::string name;
  double times = 1;  ///< how often it is computed
  CostModel model;
  Mapping mapping;
  Evaluation evaluation;    ///< of `mapping`; finished
  std::string certificate;  ///< how sure it is that no mapping is better
};

/// Layers that run one after the other on one machine.
struct AcceleratorPage {
  std::string title;                     ///< "resnet18 on gemmini"
  std::string certificate;               ///< of all layers together
  std::string command;                   ///< what made the page
  std::string program;                   ///< name and version
  std::vector<AcceleratorLayer> layers;  ///< at least one
};

/// One self-contained HTML page: it asks the network for nothing and is complete without scripts. A pure function of
/// the page. Without layers: a failed check.
std::string accelerator_html(const AcceleratorPage& page);

/// The page as a file. @throws Error (system) as write_file.
void write_accelerator_page(const AcceleratorPage& page, const std::filesystem::path& path);

}  // namespace kasimir::report
