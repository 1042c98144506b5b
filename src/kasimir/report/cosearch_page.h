// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kasimir::report {

/// A block of a network that a joint search found.
struct CosearchBlock {
  std::string name;
  std::string op;
  int bits = 0;
  std::vector<double> loads;  ///< on each part of the accelerator
};

/// A network that was trained in full.
struct CosearchFinalist {
  std::string name;
  double cost = 0;
  double shared = 0;      ///< validation accuracy with shared weights, 0 .. 1
  double validation = 0;  ///< after its own training
  double test = 0;
  std::vector<CosearchBlock> blocks;
  std::vector<std::string> parts;     ///< of its accelerator
  std::vector<double> outside_loads;  ///< of what is in no block, on each part
  std::string accelerator;            ///< for people
};

/// A network that was validated with shared weights.
struct CosearchPoint {
  double cost = 0;
  double score = 0;
  std::string design;
};

/// A way to choose one thing after the other, on estimated errors that add up.
struct CosearchWay {
  std::string way;
  std::optional<double> error;  ///< nothing: it misses the goal
  double above = 0;             ///< the joint optimum, as a share
};

struct CosearchPage {
  std::string title;               ///< "residual on zc706"
  std::string command;             ///< what made the page
  std::string program;             ///< name and version
  std::string unit;                ///< of costs
  std::optional<double> clock_hz;  ///< costs are cycles per frame of this clock
  double goal = 0;
  double reference_cost = 0;
  double log10_networks = 0;
  double accelerator_share = 0;             ///< of the search's time
  std::vector<CosearchFinalist> finalists;  ///< at least one, the best first
  std::vector<CosearchPoint> points;
  std::vector<CosearchWay> headroom;  ///< the joint optimum first; empty: not measured
  std::vector<std::pair<std::string, std::string>> asked;
};

/// One self-contained HTML page: it asks the network for nothing and is complete without scripts. A pure function of
/// the page. Without finalists: a failed check.
std::string cosearch_html(const CosearchPage& page);

/// The page as a file. @throws Error (system) as write_file.
void write_cosearch_page(const CosearchPage& page, const std::filesystem::path& path);

}  // namespace kasimir::report
