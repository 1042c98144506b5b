// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch_run.h"

#include "kasimir/accel.h"
#include "kasimir/cosearch_cpu.h"
#include "kasimir/search_spec.h"
#include "kasimir/subject.h"

#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/cosearch/array_target.h"
#include "kasimir/cosearch/chunk_target.h"
#include "kasimir/data/split.h"
#include "kasimir/number/catalog.h"
#include "kasimir/train/quantize.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

/// What is known of a target besides its costs.
struct MadeTarget {
  std::unique_ptr<HardwareTarget> hardware;
  double clock_hz = 0;
  std::function<double(const ChoiceDesign&)> measure = {};
};

MadeTarget pipeline_on(const Board& board, const CosearchSpec& spec, const NetworkSpace& space,
                       const ChoiceSpace& choices) {
  ChunkTargetOptions options;
  options.budget = budget_of(board);
  options.name = fmt::format("{} on {}", spec.space.name, board.name);
  options.clock_mhz = board.clock.value;
  return {std::make_unique<ChunkTarget>(chunk_target(choices, block_layers(space, spec.edge_bits), options)),
          board.clock.value * 1e6};
}

MadeTarget table_of(const std::string& file, const ChoiceSpace& choices) {
  LoadTable table = parse_load_table(read_file(file), file, choices);
  return {std::make_unique<TableTarget>(choices, std::move(table), "as in " + file), 0};
}

/// "PRESET:OBJECTIVE" or "FILE.toml:OBJECTIVE".
MadeTarget array_of(const CosearchSpec& spec, std::size_t colon, const NetworkSpace& space,
                    const ChoiceSpace& choices) {
  ArrayTargetOptions options;
  options.objective = parse_objective(spec.target.substr(colon + 1));
  options.seed = spec.seed;
  const BlockProblems problems = problems_of(block_layers(space, spec.edge_bits), choices);
  const Architecture architecture = architecture_of(spec.target.substr(0, colon), problems.outside.at(0));
  return {std::make_unique<ArrayTarget>(choices, problems, architecture, options), 0};
}

MadeTarget this_cpu(const CosearchSpec& spec, const NetworkSpace& space, const ChoiceSpace& choices,
                    const std::filesystem::path& folder) {
  const auto bench = std::make_shared<CpuBench>(space, choices, spec.edge_bits);
  make_folder(folder);
  LoadTable table = bench->table(folder / "cpu.json", [](std::size_t done, std::size_t of) {
    fmt::print(stderr, "measured {} of {} networks on this machine\n", done, of);
  });
  return {std::make_unique<TableTarget>(choices, std::move(table), "us"), 0,
          [bench](const ChoiceDesign& design) { return bench->measure(design); }};
}

MadeTarget make_target(const CosearchSpec& spec, const NetworkSpace& space, const ChoiceSpace& choices,
                       const std::filesystem::path& folder) {
  if (spec.target == "cpu") return this_cpu(spec, space, choices, folder);
  if (spec.target.starts_with("table:")) return table_of(spec.target.substr(6), choices);
  if (const Board* board = find_board(spec.target)) return pipeline_on(*board, spec, space, choices);
  if (const std::size_t colon = spec.target.rfind(':'); colon != std::string::npos)
    return array_of(spec, colon, space, choices);
  std::vector<std::string> known{"cpu"};
  for (const Board& board : boards()) known.push_back(lower_case(board.name));
  throw input_error("unknown target `{}`, {}", spec.target, suggestion(spec.target, known))
      .note("or an architecture and what counts, such as eyeriss_row_stationary:edp or FILE.toml:latency")
      .note("or table:FILE, a CSV with a line `block,op,bits,cost` for each choice");
}

double number_after(const std::string& goal, std::size_t from) {
  const auto number = parse_number(std::string_view(goal).substr(from));
  if (!number || !(*number > 0)) throw input_error("--goal {}: needed is a number above 0 after `=`", goal);
  return *number;
}

double goal_of(const CosearchSpec& spec, const CosearchSubject& subject) {
  const std::string& goal = spec.goal;
  if (goal.starts_with("share=")) return subject.reference_cost * number_after(goal, 6);
  if (goal.starts_with("cost=")) return number_after(goal, 5);
  if (goal.starts_with("fps=")) {
    if (subject.clock_hz == 0)
      throw input_error("--goal {}: the target {} does not count cycles per frame", goal, spec.target)
          .note("write cost=N or share=N");
    return subject.clock_hz / number_after(goal, 4);
  }
  throw input_error("--goal {}: needed is share=N (of the reference's cost), cost=N or fps=N", goal);
}

/// 45 % of the images for weights, 45 % for choices, the rest for the scores of derived networks.
void divide(const CosearchSpec& spec, CosearchSubject& subject) {
  const SearchSpec defaults;
  subject.split = split_validation(subject.data.train, defaults.validation, spec.seed);
  const auto& labels = subject.data.train.labels;
  const std::vector<std::int32_t>& all = subject.split.train;
  subject.parts.weights = stratified_subset(labels, all, std::ssize(all) / 2, spec.seed);
  std::ranges::set_difference(all, subject.parts.weights, std::back_inserter(subject.parts.choices));
  subject.parts.validation = subject.split.validation;
}

}  // namespace

nlohmann::ordered_json CosearchSpec::to_json() const {
  nlohmann::ordered_json json{{"space", space.name},
                              {"operators", space.operators},
                              {"widths", space.widths},
                              {"blocks", space.blocks},
                              {"bits", space.bits},
                              {"data", data},
                              {"train_limit", train_limit},
                              {"target", target},
                              {"goal", goal},
                              {"mode", mode},
                              {"form", form},
                              {"warmup_steps", warmup_steps},
                              {"choice_steps", choice_steps},
                              {"optimise_every", optimise_every},
                              {"batch", batch},
                              {"learning_rate", learning_rate},
                              {"final_rate", final_rate},
                              {"edge_bits", edge_bits},
                              {"finalists", finalists},
                              {"final_epochs", final_epochs},
                              {"flip", flip},
                              {"seed", seed}};
  json.update(nlohmann::ordered_json(reading.to_json()));
  return json;
}

std::string CosearchSubject::cost_text(double cost) const {
  if (clock_hz == 0) return fmt::format("{:.4g} {}", cost, hardware->unit());
  return fmt::format("{:.4g} {} ({:.4g} frames/s)", cost, hardware->unit(), clock_hz / cost);
}

CosearchSubject make_subject(const CosearchSpec& spec, const std::filesystem::path& folder) {
  set_threads(spec.threads);
  CosearchSubject subject;
  LoadOptions load = spec.reading.load_options();
  load.train_limit = spec.train_limit;
  load.seed = spec.seed;
  subject.data = load_dataset(spec.data, load);
  subject.space = network_space(spec.space, subject.data);
  subject.choices = choice_space(subject.space, spec.space.bits);
  require_legal(subject.choices);
  divide(spec, subject);
  MadeTarget target = make_target(spec, subject.space, subject.choices, folder);
  subject.measure = std::move(target.measure);
  subject.hardware = std::move(target.hardware);
  subject.clock_hz = target.clock_hz;
  const auto widest = static_cast<std::size_t>(std::ranges::max_element(spec.space.bits) - spec.space.bits.begin());
  subject.reference.assign(subject.choices.blocks.size(), {0, widest});
  subject.reference_cost = subject.hardware->cost(subject.reference);
  subject.goal = goal_of(spec, subject);
  if (!std::isfinite(subject.goal))
    throw unsolved_error("the reference {} does not fit on {}", str(subject.reference, subject.choices), spec.target)
        .note("--goal cost=N or fps=N needs no reference; a larger target has room for it");
  return subject;
}

SupernetDesign supernet_design(const ChoiceDesign& design) {
  SupernetDesign made;
  for (const BlockChoice& choice : design) made.push_back({choice.op, choice.bits});
  return made;
}

ChoiceTrainer supernet_trainer(const std::shared_ptr<Supernet>& supernet) {
  const auto mixture = [](const ChoiceSample& sample) {
    SupernetMixture made;
    for (const BlockSample& block : sample.blocks) made.push_back({block.active, block.op_weight, block.bit_weight});
    return made;
  };
  ChoiceTrainer trainer;
  trainer.weight_step = [supernet, mixture](const ChoiceSample& sample, double progress) {
    return supernet->weight_step(mixture(sample), progress);
  };
  trainer.choice_step = [supernet, mixture](const ChoiceSample& sample) {
    MixtureSlopes slopes = supernet->choice_step(mixture(sample));
    return ChoiceSlopes{slopes.loss, std::move(slopes.op), std::move(slopes.bits)};
  };
  trainer.validate = [supernet](const ChoiceDesign& design) {
    return supernet->validate(supernet_design(design)).accuracy;
  };
  trainer.save = [supernet](const std::string& path) { supernet->save(path); };
  trainer.load = [supernet](const std::string& path) { supernet->load(path); };
  return trainer;
}

SupernetOptions supernet_options(const CosearchSpec& spec) {
  SupernetOptions options;
  options.bits = spec.space.bits;
  options.edge_bits = spec.edge_bits;
  options.batch = spec.batch;
  options.learning_rate = spec.learning_rate;
  options.flip = spec.flip;
  options.seed = spec.seed;
  return options;
}

CosearchOptions cosearch_options(const CosearchSpec& spec, const CosearchSubject& subject) {
  CosearchOptions options;
  options.mode = sampling_mode(spec.mode);
  if (!spec.form.empty()) options.form = parse_cost_form(spec.form);
  options.target = subject.goal;
  options.warmup_steps = spec.warmup_steps;
  options.choice_steps = spec.choice_steps;
  options.optimise_every = spec.optimise_every;
  options.seed = spec.seed;
  return options;
}

namespace {

Recipe final_recipe(const CosearchSpec& spec) {
  Recipe recipe;
  recipe.epochs = spec.final_epochs;
  recipe.learning_rate = spec.final_rate;
  recipe.threads = spec.threads;
  recipe.flip = spec.flip;
  recipe.seed = spec.seed;
  return recipe;
}

FinalScore trained(const CosearchSpec& spec, const CosearchSubject& subject, const NetworkPlan& plan,
                   const TrainStart& start, const TrainObserver& watch) {
  const TrainResult result = train(plan, subject.data, subject.split, final_recipe(spec), watch, start);
  if (result.stopped) return {};
  if (!result.ok()) throw unsolved_error("the training of a finalist failed: {}", result.failed->str());
  return {*result.validation, result.model->evaluate(subject.data.test, every_index(subject.data.test)), result.model};
}

}  // namespace

FinalScore train_finalist(const CosearchSpec& spec, const CosearchSubject& subject, const DerivedNetwork& derived,
                          const std::filesystem::path& checkpoint, const TrainObserver& watch) {
  const NetworkPlan plan = derived.made.plan();
  const Model inherited = derived.model();
  TrainStart start;
  start.weights = &inherited;
  start.quantization = derived.quantization;
  start.checkpoint = checkpoint;
  return trained(spec, subject, plan, start, watch);
}

FreshNetwork fresh_network(const CosearchSpec& spec, const CosearchSubject& subject, const ChoiceDesign& design) {
  std::vector<std::size_t> operators;
  for (const BlockChoice& choice : design) operators.push_back(choice.op);
  FreshNetwork fresh{derive(subject.space, operators), {}};
  std::map<int, int> bits_of_layer;
  for (const WeightedLayer& layer : weighted_layers(fresh.made))
    bits_of_layer[layer.layer] = layer.block == WeightedLayer::outside
                                     ? spec.edge_bits
                                     : subject.choices.bits[design[static_cast<std::size_t>(layer.block)].bits];
  for (const WeightedPlace& place : weighted_places(fresh.made.plan())) {
    const int bits = bits_of_layer.at(place.layer);
    fresh.bits[place.weight] = {bits, bits};
  }
  return fresh;
}

FinalScore train_fresh(const CosearchSpec& spec, const CosearchSubject& subject, const FreshNetwork& network,
                       const TrainObserver& watch) {
  constexpr std::int64_t calibration_images = 256;
  const NetworkPlan plan = network.made.plan();
  Model first(plan, {.seed = spec.seed});
  first.set_normalisation(channel_statistics(subject.data.train, subject.split.train));
  const auto images =
      stratified_subset(subject.data.train.labels, subject.split.train,
                        std::min<std::int64_t>(calibration_images, std::ssize(subject.split.train)), spec.seed);
  // Random weights have running statistics of nothing: ranges are those of a network whose batch norms work.
  reestimate_statistics(first, subject.data.train, images);
  TrainStart start;
  start.weights = &first;
  start.quantization = calibrate(first, plan, subject.data.train, images, network.bits, range_estimator("mse"));
  return trained(spec, subject, plan, start, watch);
}

}  // namespace kasimir
