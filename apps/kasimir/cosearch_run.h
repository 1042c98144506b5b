// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch_space.h"
#include "kasimir/data_options.h"

#include "kasimir/cosearch/cosearch.h"
#include "kasimir/train/supernet.h"
#include "kasimir/train/trainer.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kasimir {

/// Everything that was asked of a joint search. Stored in its folder: the same command goes on.
struct CosearchSpec {
  SpaceOptions space;
  std::string data = "fashion-mnist";
  DataOptions reading;  ///< how the data is read
  std::int64_t train_limit = 0;
  std::string target = "zc706";  ///< hardware: a board, PRESET:OBJECTIVE, cpu, table:FILE
  std::string goal = "share=0.5";
  std::string mode = "heterogeneous";
  std::string form;  ///< of the cost; empty: the one that suits
  std::size_t warmup_steps = 300;
  std::size_t choice_steps = 600;
  std::size_t optimise_every = 10;
  int batch = 64;
  double learning_rate = 0.2;  ///< of the shared weights
  double final_rate = 0.05;    ///< of finalists
  int threads = 1;             ///< of everything; more are slow where anything else runs
  int edge_bits = 8;
  int finalists = 2;     ///< trained in full
  int final_epochs = 4;  ///< of each finalist, quantisation-aware, from the shared weights
  bool flip = true;
  std::uint64_t seed = 1;

  [[nodiscard]] nlohmann::ordered_json to_json() const;
};

/// What a run needs of data and hardware.
struct CosearchSubject {
  Dataset data;
  NetworkSpace space;
  ChoiceSpace choices;
  Split split;  ///< what is never shown to the search is `validation`
  SupernetData parts;
  std::unique_ptr<HardwareTarget> hardware;
  double clock_hz = 0;  ///< of a pipeline; 0: the target counts something else than cycles per frame
  /// What a whole network costs, measured; empty where the target cannot be run here.
  std::function<double(const ChoiceDesign&)> measure;
  ChoiceDesign reference;  ///< first operators at the widest bits
  double reference_cost = 0;
  double goal = 0;  ///< cost that is allowed

  /// "1,234,567 cycles per frame (162 frames/s)".
  [[nodiscard]] std::string cost_text(double cost) const;
};

/// `folder`: where a target that is measured keeps its times. @throws Error (input) for a goal or target that makes no
/// sense.
CosearchSubject make_subject(const CosearchSpec& spec, const std::filesystem::path& folder);

/// A design in the supernet's words.
SupernetDesign supernet_design(const ChoiceDesign& design);

/// The supernet as the search sees it.
ChoiceTrainer supernet_trainer(const std::shared_ptr<Supernet>& supernet);

SupernetOptions supernet_options(const CosearchSpec& spec);
CosearchOptions cosearch_options(const CosearchSpec& spec, const CosearchSubject& subject);

/// A network of the space with its bits, as a search that kept no weights leaves it.
struct FreshNetwork {
  SpaceNetwork made;
  BitPlan bits;
};
FreshNetwork fresh_network(const CosearchSpec& spec, const CosearchSubject& subject, const ChoiceDesign& design);

/// What training a network with its bits comes to.
struct FinalScore {
  Score validation, test;
  std::shared_ptr<Model> model;  ///< null: stopped
};
FinalScore train_finalist(const CosearchSpec& spec, const CosearchSubject& subject, const DerivedNetwork& derived,
                          const std::filesystem::path& checkpoint, const TrainObserver& watch);
/// The same for a network whose weights begin at random.
FinalScore train_fresh(const CosearchSpec& spec, const CosearchSubject& subject, const FreshNetwork& network,
                       const TrainObserver& watch);

}  // namespace kasimir
