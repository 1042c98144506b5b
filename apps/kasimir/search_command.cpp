// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/evaluate.h"
#include "kasimir/kernel_zoo.h"
#include "kasimir/options.h"
#include "kasimir/sites.h"
#include "kasimir/stop.h"
#include "kasimir/strategy.h"
#include "kasimir/study_work.h"

#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/data/describe.h"
#include "kasimir/data/webdataset.h"
#include "kasimir/network/coverage.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/machine.h"
#include "kasimir/train/score.h"

#include <filesystem>
#include <thread>

namespace kasimir {
namespace {

struct SearchCommand {
  CommonOptions common;
  SearchSpec spec;
  std::string study = "study.db";
  std::string time;
  std::string report;
  int quick_images = -1;
  int full_epochs = 0;
  std::optional<double> learning_rate;
  int workers = 0;
  std::vector<std::string> seed_kernels;
  bool log_json = false;
  bool no_global = false;
  bool no_flip = false;
};

SearchSpec finish_spec(const SearchCommand& options) {
  SearchSpec spec = options.spec;
  spec.network = options.common.network;
  // Workers and later runs may start elsewhere.
  if (is_onnx_file(spec.network)) spec.network = std::filesystem::absolute(spec.network).string();
  if (is_onnx_file(spec.network)) spec.learning_rate = fine_tuning_rate;
  if (options.learning_rate) spec.learning_rate = *options.learning_rate;
  spec.width = options.common.width;
  spec.replace = options.common.replace;
  spec.keep = options.common.keep;
  if (!options.common.budget.empty()) spec.budget = options.common.budget;
  if (!options.common.primitives.empty())
    std::tie(spec.min_primitives, spec.max_primitives) = parse_range(options.common.primitives);
  spec.max_width = options.common.max_width;
  spec.allow = options.common.allow;
  spec.forbid = options.common.forbid;
  spec.require = options.common.require;
  spec.seed = options.common.seed;
  spec.allow_global = !options.no_global;
  spec.allow_pointwise = options.common.allow_pointwise;
  spec.allow_unmixed = options.common.allow_unmixed;
  spec.allow_resolution = options.common.allow_resolution;
  spec.want = options.common.want;
  spec.flip = !options.no_flip;
  if (options.quick_images >= 0) spec.rungs[0].images = options.quick_images;
  if (options.full_epochs > 0) spec.rungs[2].epochs = options.full_epochs;
  if (std::filesystem::exists(spec.data) || looks_like_webdataset(spec.data))
    spec.data = std::filesystem::absolute(spec.data).lexically_normal().string();
  spec.ladder.time_limit_s = options.time.empty() ? 0 : parse_seconds(options.time);
  if (spec.ladder.trials == 0 && options.time.empty()) spec.ladder.time_limit_s = 600;
  for (GivenKernel& kernel : given_kernels(options.seed_kernels))
    spec.seed_kernels.emplace_back(std::move(kernel.from), std::move(kernel.text));
  spec.ladder.workers =
      options.workers > 0 ? options.workers : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  spec.ladder.original_first = spec.distill > 0;
  spec.budget = Budget::parse(spec.budget).str();
  if (Budget::parse(spec.budget).accelerator.given() && spec.accelerator.name.empty())
    throw input_error("the budget `{}` limits the cost on an accelerator, but none is given", spec.budget)
        .note("give one by --accelerator, such as --accelerator gemmini (`kasimir accel presets`)");
  if (std::filesystem::exists(spec.accelerator.name))
    spec.accelerator.name = std::filesystem::absolute(spec.accelerator.name).lexically_normal().string();
  spec.sample_options().limits.check(catalog());
  strategy_named(spec.strategy);
  for (const std::string& name : spec.scores) score_named(name);
  spec.recipe(0, 1, 0, {}).check();
  if (!spec.quick_size.empty()) parse_image_size(spec.quick_size);
  if (spec.scores.empty() && spec.score_keep < 1)
    throw input_error("--score-keep is {:g}, but no scores are asked for", spec.score_keep)
        .note("give them by --scores, such as --scores naswot,synflow");
  return spec;
}

/// The costs of the rungs follow from the images they train on.
void set_rung_costs(SearchSpec& spec, const Evaluator& evaluator) {
  const double all = static_cast<double>(evaluator.data().train.size()) * (1.0 - spec.validation);
  std::array<double, 3> images{};
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto& rung = spec.rungs[i];
    const double epoch = rung.images > 0 ? std::min(all, static_cast<double>(rung.images)) : all;
    // Validation after each epoch costs about a third of a training image per image.
    images[i] = rung.epochs * (epoch + all * spec.validation / (1.0 - spec.validation) / 3.0);
  }
  images[0] *= evaluator.quick_share();
  if (spec.distill > 0) images[2] *= 4.0 / 3.0;  // the teacher's scores, likewise
  for (std::size_t i = 0; i < images.size(); ++i) spec.ladder.rung_cost[i] = images[i] / images[0];
}

std::string machine_text(const SearchSpec& spec) {
  return describe_machine(spec.device == "cuda" ? Device::cuda : Device::cpu).str();
}

int run(const SearchCommand& options) {
  SearchSpec spec = finish_spec(options);
  const std::atomic<int>& stop = catch_interrupts();
  set_threads(1);
  const auto say = [&](const std::string& line) {
    if (!options.log_json) fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  say(fmt::format("kasimir {}: search on {} for {}", KASIMIR_VERSION, spec.network, spec.data));
  nlohmann::json record;
  {
    const Evaluator evaluator(spec);  // checks everything that can be wrong before a study is made
    evaluator.check_space();
    set_rung_costs(spec, evaluator);
    say(evaluator.data().description);
    if (const auto words = imbalance_text(evaluator.data())) say(*words);
    if (evaluator.data().target == TargetKind::values)
      say("targets are values: what is called accuracy is the share of their variance that is explained");
    if (evaluator.restored_norms() > 0)
      say(fmt::format("{} batch norms were put back behind its convolutions (--norms keep leaves it as it is)",
                      evaluator.restored_norms()));
    if (const auto score = evaluator.as_it_came())
      say(
          fmt::format("with the weights that it came with: {:.1f} % of {} validation images, which it may have been "
                      "trained on",
                      100 * score->accuracy, score->images));
    const Coverage covered = coverage(evaluator.network(), {spec.replace, spec.keep});
    say(covered.str());
    record = spec.to_json();
    record["sites"] = site_records(evaluator.selection().replaced);
    record["input"] = {evaluator.network().input().c, evaluator.network().input().h, evaluator.network().input().w};
    record["classes"] = evaluator.network().classes();
    record["data_fingerprint"] = evaluator.data().fingerprint;
    record["command"] = own_command();
  }
  {
    const auto store =
        study::Store::start(options.study, record, "kasimir " KASIMIR_VERSION, machine_text(spec), study::wall_clock());
    if (store.resumed()) say(fmt::format("going on with {}", store.place().str()));
  }
  const auto end = work_and_report(options.study, {spec.ladder.workers, options.log_json, options.report}, stop);
  if (end == study::WorkerEnd::stopped) say("stopped; the same command goes on from here");
  return 0;
}

void add_score_options(CLI::App& command, SearchSpec& spec) {
  std::vector<std::string> names;
  for (const ZeroCostScore& score : score_catalog()) names.push_back(fmt::format("{}: {}", score.name, score.brief));
  command
      .add_option(
          "--scores", spec.scores,
          "computed of each candidate before any training, and stored (docs/evaluation.md); " + join(names, "; "))
      ->delimiter(',');
  command
      .add_option("--score-keep", spec.score_keep,
                  "train only the best share of the last 64 candidates by the mean place in these scores")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
}

void add_accelerator_options(CLI::App& command, AcceleratorSpec& spec) {
  command.add_option(
      "--accelerator", spec.name,
      "search for this accelerator: a preset (`kasimir accel presets`) or a TOML file; its cost stands in "
      "place of MACs and latency where candidates are compared, and --budget accelerator=..0.5 limits it");
  command
      .add_option("--accelerator-objective", spec.objective, "what is made small: latency, energy, edp (their product)")
      ->capture_default_str();
  command.add_option("--accelerator-bits", spec.bits, "of inputs, weights, results and partial sums")
      ->capture_default_str();
}

void add_training_options(CLI::App& command, SearchCommand& options) {
  command.add_option("--quick-images", options.quick_images,
                     "training images of the first rung, 0 for all (default 8000)");
  command.add_option("--quick-epochs", options.spec.rungs[0].epochs, "epochs of the first rung; one epoch ranks badly")
      ->capture_default_str();
  command.add_option(
      "--quick-size", options.spec.quick_size,
      "scale the images of the first rung to HEIGHTxWIDTH, such as 16x16: a quarter of the sides' product "
      "is about a quarter of the time (default: as they are)");
  command.add_option("--longer-images", options.spec.rungs[1].images, "training images of the second rung, 0 for all")
      ->capture_default_str();
  command.add_option("--longer-epochs", options.spec.rungs[1].epochs, "epochs of the second rung")
      ->capture_default_str();
  command.add_option("--full-images", options.spec.rungs[2].images, "training images of the finalists, 0 for all")
      ->capture_default_str();
  command.add_option("--full-epochs", options.full_epochs, "epochs of the finalists (default 4)");
  command.add_option("--learning-rate", options.learning_rate,
                     fmt::format("highest rate of the one-cycle schedule (default {}; {} for an ONNX file)",
                                 options.spec.learning_rate, fine_tuning_rate));
  add_norms_option(command, options.spec.norms);
  command.add_option("--batch", options.spec.batch, "images per step")->capture_default_str();
  command.add_option("--label-smoothing", options.spec.label_smoothing, "0 to 1")->capture_default_str();
  command
      .add_option("--full-label-smoothing", options.spec.full_label_smoothing,
                  "the same of finalists and the original in full training (default: --label-smoothing)")
      ->check(CLI::Range(0.0, 0.99));
  command
      .add_option("--full-ema", options.spec.full_average,
                  "decay of a moving average of weights and batch norm statistics in full training, which is what is "
                  "scored and kept; such as 0.999; 0: none")
      ->check(CLI::Range(0.0, 0.999999))
      ->capture_default_str();
  command
      .add_option("--distill", options.spec.distill,
                  "weight of the trained original's scores in the loss of finalists; 0: none. The original itself has "
                  "no teacher")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--distill-temperature", options.spec.distill_temperature, "of the softmax of both")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_flag("--no-flip", options.no_flip, "do not mirror images (digits, letters)");
  command.add_option("--validation", options.spec.validation, "share of the training images that scores candidates")
      ->capture_default_str();
  command
      .add_option("--train-limit", options.spec.train_limit, "use so many images of the training data only, 0 for all")
      ->capture_default_str();
  command
      .add_option("--slowest", options.spec.slowest,
                  "screen out kernels whose training step takes so many times the original's")
      ->capture_default_str();
  command.add_option("--device", options.spec.device, "cpu or cuda")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command
      .add_option("--train-kernels", options.spec.train_kernels,
                  "what computes kernels and their gradients on the processor: aten, stage by stage; fused, compiled C "
                  "where it can be had; auto, what is measured to be faster, in trainings that are long enough for it")
      ->check(CLI::IsMember(kernel_training_names()))
      ->capture_default_str();
}

}  // namespace

void add_search(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("search", "searches kernels that replace a network's convolutions");
  auto options = std::make_shared<SearchCommand>();
  command->footer(
      "Candidates climb a ladder: screens, a short training, a longer one, full training of the finalists over "
      "several\n"
      "seeds, then the latency of the whole network beside the original's. Accuracy is that of a validation split; "
      "the\n"
      "test split is read once, by finalists. Stop at any time with Ctrl-C: the same command goes on.");
  add_network_options(*command, options->common);
  command
      ->add_option(
          "--data", options->spec.data,
          "fashion-mnist; a folder: train/<class>/*.jpg|png with test/, CIFAR-10/100 binary, IDX files, .npy; an "
          ".npz file; tar shards, DIR/{000..012}.tar")
      ->capture_default_str();
  add_data_options(*command, options->spec.reading);
  add_pixel_options(*command, options->spec.reading);
  options->common.want = "blind=no,idle=no";  // a few milliseconds each, against minutes of training
  add_kernel_options(*command, options->common);
  command->add_option("--composites", options->spec.composites, "weight of each composite, against primitives; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.push_back(fmt::format("{}: {}", strategy.name, strategy.brief));
  command->add_option("--strategy", options->spec.strategy, "how the next kernel is chosen; " + join(names, "; "))
      ->capture_default_str();
  command->add_option("--seed-kernels", options->seed_kernels,
                      "kernels to try first: zoo (all of `kasimir zoo list`), a name in it, a file, a folder; held to "
                      "--budget, not to the other limits");
  add_score_options(*command, options->spec);
  command->add_flag("--no-global", options->no_global, "no kernels in which an output sees the whole image");
  command
      ->add_option("--study", options->study,
                   fmt::format("keeps everything, so that the same command resumes; {}", study_help))
      ->capture_default_str();
  command->add_option("--report", options->report, "where the HTML report goes (default: beside the study)");
  command->add_option("--time", options->time,
                      "how long to search, such as 40m (default 10m where --trials is not given)");
  command->add_option("--trials", options->spec.ladder.trials,
                      "how many candidates to train, screened ones not counted (default: as time allows)");
  command->add_option("--finalists", options->spec.ladder.finalists, "candidates that are trained in full")
      ->capture_default_str();
  command->add_option("--finalist-seeds", options->spec.ladder.finalist_seeds, "repetitions of each finalist")
      ->capture_default_str();
  command->add_option("--promote", options->spec.ladder.promote, "share of the candidates that reach the second rung")
      ->capture_default_str();
  options->spec.ladder.stop_below = 0.05;
  command
      ->add_option("--stop-below", options->spec.ladder.stop_below,
                   "leave a candidate out of a rung where its chance of reaching the front is smaller; 0: none is")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  command->add_option("--workers", options->workers, "worker processes of one thread (default: one per processor)");
  command
      ->add_option("--latency", options->spec.latency,
                   "what runs when latency is measured: native (generated C, compiled here) or eager (PyTorch)")
      ->check(CLI::IsMember({"native", "eager"}))
      ->capture_default_str();
  command
      ->add_option("--latency-tune", options->spec.latency_tune,
                   "seconds of tuning for each finalist's C and the original's (default: none, the default methods)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--latency-batch", options->spec.latency_batch, "images per run when latency is measured")
      ->capture_default_str();
  command->add_option("--latency-threads", options->spec.latency_threads, "threads when latency is measured")
      ->capture_default_str();
  add_accelerator_options(*command, options->spec.accelerator);
  add_training_options(*command, *options);
  command->add_flag("--log-json", options->log_json, "events as JSON lines instead of text");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace kasimir
