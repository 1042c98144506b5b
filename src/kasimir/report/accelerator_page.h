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

/// A machine of a search, with all layers mapped on it.
struct AcceleratorDesign {
  std::vector<std::string> values;  ///< one for each of AcceleratorPage::varied
  double cycles = 0;
  double energy_pj = 0;
  double power_mw = 0;
  double area_um2 = 0;
  std::string certificate;
  bool shown = false;  ///< the one that the page is about
};

/// Layers that run one after the other on one machine.
struct AcceleratorPage {
  std::string title;                            ///< "resnet18 on gemmini"
  std::string certificate;                      ///< of all layers together
  std::string command;                          ///< what made the page
  std::string program;                          ///< name and version
  std::vector<AcceleratorLayer> layers;         ///< at least one
  std::vector<std::string> varied = {};         ///< what the machines of a search differ in
  std::vector<AcceleratorDesign> designs = {};  ///< none of which beats another; empty: there was no search
  std::string designs_note = {};                ///< how many were looked at, and what is proved about the others
};

/// One self-contained HTML page: it asks the network for nothing and is complete without scripts. A pure function of
/// the page. Without layers: a failed check.
std::string accelerator_html(const AcceleratorPage& page);

/// The page as a file. @throws Error (system) as write_file.
void write_accelerator_page(const AcceleratorPage& page, const std::filesystem::path& path);

}  // namespace kasimir::report
