// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/evaluate.h"
#include "kasimir/options.h"
#include "kasimir/search_spec.h"
#include "kasimir/sites.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/codegen/export_c.h"
#include "kasimir/codegen/native.h"
#include "kasimir/codegen/onnx.h"
#include "kasimir/codegen/pytorch.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/study/store.h"
#include "kasimir/train/batches.h"
#include "kasimir/train/trainer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

/// Images to compare on: 256, fewer where they are large.
std::int64_t images_for(Shape3 shape) {
  constexpr std::int64_t most_numbers = 1 << 20;
  return std::clamp<std::int64_t>(most_numbers / (shape.c * shape.h * shape.w), 2, 256);
}

struct ExportCommand {
  std::vector<std::string> places;  ///< [STUDY] FOLDER
  int trial = -1;
  std::string format;
  std::string weights;
  bool train = false;
  std::string kernel;
  std::string python = "python3";
  std::int64_t batch = 1;
  int threads = 1;
  std::string cpu = "any";
  double tune = 0;
  CommonOptions common;
  bool has_network = false;
};

/// What a format writes down.
struct Writing {
  const NetworkPlan& plan;
  const std::vector<NamedTensor>& weights;
  const ExportNotes& notes;
  const ExportCheck& check;
  const ExportCommand& options;
};

/// One way to write a network down, and how to run what was written.
struct Format {
  std::string_view name;
  std::vector<ExportedFile> (*write)(const Writing&);
  std::string_view modules;  ///< what Python needs to run it; empty: no Python, `make check` does
  std::string_view script;
};

std::vector<ExportedFile> write_pytorch(const Writing& of) { return export_pytorch(of.plan, of.weights, of.notes); }
std::vector<ExportedFile> write_onnx(const Writing& of) { return export_onnx(of.plan, of.weights, of.notes); }
std::vector<ExportedFile> write_c(const Writing& of) {
  ExportCOptions options{.batch = of.options.batch, .threads = of.options.threads};
  if (of.options.cpu == "native") options.target = host_target();
  options.tune_seconds = of.options.tune;
  options.tuning_cache = tuning_cache_path();
  return export_c(of.plan, of.weights, of.notes, of.check, options);
}

constexpr std::array formats{Format{"pytorch", write_pytorch, "torch", "model.py"},
                             Format{"onnx", write_onnx, "onnxruntime, numpy", "check.py"},
                             Format{"c", write_c, "", "net_main"}};

const Format& format_of(const std::string& name) {
  std::vector<std::string> known;
  for (const Format& format : formats) {
    if (format.name == name) return format;
    known.emplace_back(format.name);
  }
  throw input_error("unknown format `{}`, {}", name, suggestion(name, known));
}

/// What is exported.
struct Subject {
  std::unique_ptr<Network> network;
  NetworkPlan plan;
  std::shared_ptr<Model> model;
  ImageSet images;  ///< to compare on
  ExportNotes notes;
};

ImageSet noise(Shape3 shape) {
  ImageSet set{static_cast<int>(shape.c), static_cast<int>(shape.h), static_cast<int>(shape.w), {}, {}};
  Rng rng(1);
  set.labels.assign(static_cast<std::size_t>(images_for(shape)), 0);
  set.pixels.resize(set.labels.size() * set.image_bytes());
  for (std::uint8_t& pixel : set.pixels) pixel = static_cast<std::uint8_t>(rng.below(256));
  return set;
}

/// A network of the zoo with weights from a file, or random ones.
Subject from_zoo(const ExportCommand& options) {
  Subject subject;
  subject.network = std::make_unique<Network>(
      network_for(options.common.network, options.common.width, parse_input(options.common.input), 0));
  subject.plan = {subject.network.get(), {}};
  subject.notes = {{"network", subject.network->name()}};
  if (!options.kernel.empty()) {
    const auto sites = find_sites(*subject.network, {options.common.replace, options.common.keep});
    subject.plan = replace_with(*subject.network, sites, read_kernel(options.kernel, site_loads(sites)));
    subject.notes.emplace_back("kernel", options.kernel);
  }
  subject.model = std::make_shared<Model>(subject.plan);
  if (options.weights.empty()) {
    for (const NamedTensor& tensor : random_weights(subject.plan, options.common.seed))
      subject.model->set_tensor(tensor.name, tensor.values);
    subject.notes.emplace_back("weights", fmt::format("random, seed {}", options.common.seed));
  } else {
    subject.model->load(options.weights);
    subject.notes.emplace_back("weights", options.weights);
  }
  subject.images = noise(subject.network->input());
  return subject;
}

void train_again(const SearchSpec& spec, const Dataset& data, Subject& subject) {
  const Split split = split_validation(data.train, spec.validation, spec.seed);
  const Recipe recipe = spec.recipe(static_cast<int>(study::Rung::full), 0, data.train);
  TrainObserver watch;
  watch.epoch = [&](const EpochRow& row) {
    fmt::print("epoch {} of {}: validation accuracy {:.4f}\n", row.epoch, recipe.epochs, row.validation_accuracy);
    std::fflush(stdout);
  };
  const TrainResult trained = train(subject.plan, data, split, recipe, watch);
  if (!trained.ok()) throw unsolved_error("the training failed: {}", trained.failed->str());
  subject.model = trained.model;
  subject.notes.emplace_back("weights", "trained for this export");
  subject.notes.emplace_back("recipe", recipe.str());
  subject.notes.emplace_back("seed", std::to_string(recipe.seed));
  subject.notes.emplace_back("validation accuracy", fmt::format("{:.4f}", trained.validation->accuracy));
  if (trained.test) subject.notes.emplace_back("test accuracy", fmt::format("{:.4f}", trained.test->accuracy));
}

/// The weights that are asked for, or those of the first repetition that the search has kept, with what the study knows
/// of their training.
std::string weights_of(const ExportCommand& options, const study::Store& store, const std::string& study,
                       ExportNotes& notes) {
  if (!options.weights.empty()) return options.weights;
  for (const study::Job& job : store.jobs_of(options.trial)) {
    const auto path = weights_path(study, options.trial, job.seed);
    if (job.rung != study::Rung::full || !job.accuracy || !std::filesystem::exists(path)) continue;
    notes.emplace_back("recipe", job.result.value("recipe", ""));
    notes.emplace_back("repetition", std::to_string(job.seed));
    notes.emplace_back("validation accuracy", fmt::format("{:.4f}", *job.accuracy));
    return path.string();
  }
  throw input_error("there are no weights of trial {} beside {}: a search keeps those of finalists", options.trial,
                    study)
      .note("--train trains the trial again with the study's longest recipe; --weights FILE takes those of a file");
}

/// A trial of a study: the network on the study's data with the trial's kernel.
Subject from_study(const ExportCommand& options, const std::string& path) {
  if (options.trial < 0) throw input_error("--trial is missing: which trial of {} to export", path);
  const auto store = study::Store::view(path);
  const auto trial = store.trial(options.trial);
  const SearchSpec spec = SearchSpec::from_json(store.info().spec);
  Subject subject;
  subject.notes = {{"study", path}, {"trial", std::to_string(trial.number)}};
  const std::string weights = options.train ? "" : weights_of(options, store, path, subject.notes);
  const Dataset data = load_dataset(spec.data, spec.load_options());
  subject.network = std::make_unique<Network>(network_for(spec.network, spec.width,
                                                          {data.train.channels, data.train.height, data.train.width},
                                                          static_cast<std::int64_t>(data.classes.size())));
  subject.plan = {subject.network.get(), {}};
  if (!trial.kernel.empty())
    subject.plan = replace_with(*subject.network, select_sites(*subject.network, {spec.replace, spec.keep}).replaced,
                                parse_kernel(trial.kernel, catalog(), fmt::format("trial {}", trial.number)));
  subject.notes.emplace_back("network", subject.network->name());
  subject.notes.emplace_back("data", data.description);
  const std::int64_t count = std::min(images_for(subject.network->input()), data.test.size());
  subject.images = select_images(data.test, stratified_subset(data.test.labels, count, spec.seed));
  if (options.train) {
    train_again(spec, data, subject);
  } else {
    subject.model = std::make_shared<Model>(subject.plan);
    subject.model->load(weights);
    std::vector<std::int32_t> all(static_cast<std::size_t>(data.test.size()));
    std::iota(all.begin(), all.end(), 0);
    subject.notes.emplace_back("weights", weights);
    subject.notes.emplace_back("test accuracy",
                               fmt::format("{:.4f}", subject.model->evaluate(data.test, all).accuracy));
  }
  return subject;
}

/// The images as the network reads them, and the model's own scores.
ExportCheck expected(const Subject& subject) {
  const ImageSet& images = subject.images;
  std::vector<std::int32_t> all(static_cast<std::size_t>(images.size()));
  std::iota(all.begin(), all.end(), 0);
  ExportCheck check;
  check.images = images.size();
  const Batcher batcher(images, subject.model->normalisation());
  std::vector<float> rows(all.size() * images.image_bytes());
  batcher.write(all, {}, rows);
  // From [image][row][column][channel] to [image][channel][row][column].
  const auto channels = static_cast<std::size_t>(images.channels);
  const std::size_t places = images.image_bytes() / channels;
  check.input.resize(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < places; ++p)
        check.input[(i * channels + c) * places + p] = rows[(i * places + p) * channels + c];
  for (const auto& scores : subject.model->predict(images, all))
    check.output.insert(check.output.end(), scores.begin(), scores.end());
  return check;
}

Error different(const std::filesystem::path& what, const Rejection& reason) {
  return Error(Fault::bug, fmt::format("{} computes something else than the network: {}", what.string(), reason.with))
      .note("this is a fault in kasimir, not in your input; please report it with the command");
}

/// Runs what was written: its last line. Rejected where Python lacks what that needs, and where there is nothing to
/// compare with.
Outcome<std::string> run_written(const Format& format, const ExportCheck& check, const std::filesystem::path& folder,
                                 const std::string& python) {
  if (!std::ranges::all_of(check.output, [](float score) { return std::isfinite(score); }))
    return Rejection{"the export is run", "the network itself gives scores that are no numbers, with these weights"};
  if (format.modules.empty()) {
    const auto made = run_command({"make", "--silent", "-C", folder.string(), "check"}, {.seconds = 600});
    if (made.ok()) return split(trim(*made), '\n').back();
    if (made.rejection().with.find("DIFFERENT") == std::string::npos) return made.rejection();
    throw different(folder, made.rejection());
  }
  const std::string import = fmt::format("import {}", format.modules);
  if (const auto found = run_command({python, "-c", import}); !found.ok())
    return Rejection{"the export is run", fmt::format("`{}` cannot `{}`; --python takes one that can", python, import)};
  const std::string script = folder / format.script;
  const auto done = run_command({python, script}, {.seconds = 600});
  if (!done.ok()) throw different(script, done.rejection());
  return split(trim(*done), '\n').back();  // libraries say other things first
}

void write(const Subject& subject, const Format& format, const std::filesystem::path& folder,
           const ExportCommand& options) {
  ExportNotes notes = subject.notes;
  const ChannelStatistics& pixels = subject.model->normalisation();
  notes.emplace_back("pixels", "(value / 255 - mean) / deviation, per channel");
  notes.emplace_back("mean", fmt::format("{}", fmt::join(pixels.mean, " ")));
  notes.emplace_back("deviation", fmt::format("{}", fmt::join(pixels.deviation, " ")));
  make_folder(folder);
  const ExportCheck check = expected(subject);
  std::vector<ExportedFile> files = format.write({subject.plan, subject.model->tensors(), notes, check, options});
  files.push_back(check_file(*subject.network, check));
  nlohmann::ordered_json record = {{"format", format.name}, {"program", "kasimir " KASIMIR_VERSION}};
  for (const auto& [key, value] : notes) record["notes"][key] = value;
  for (const ExportedFile& file : files) {
    write_file(folder / file.name, file.content);
    record["files"].push_back(file.name);
    fmt::print("wrote {}\n", (folder / file.name).string());
  }
  const auto checked = run_written(format, check, folder, options.python);
  if (checked.ok()) {
    record["checked"] = *checked;
    fmt::print("checked: {}\n", *checked);
  } else {
    record["not_checked"] = checked.rejection().with;
    fmt::print("not checked: {}\n", checked.rejection().with);
  }
  write_file(folder / "export.json", record.dump(2) + "\n");
}

int run(const ExportCommand& options) {
  const Format& format = format_of(options.format);
  const std::size_t needed = options.has_network ? 1 : 2;
  if (options.places.size() != needed)
    throw input_error("{} given, needed {}", options.places.size() == 1 ? "one place is" : "two places are",
                      options.has_network ? "a folder only, as --network says what to export" : "a study and a folder")
        .note(
            "write `kasimir export STUDY --trial N --to pytorch FOLDER` or "
            "`kasimir export --network resnet8 --to pytorch FOLDER`");
  if (options.tune > 0 && (options.cpu != "native" || options.format != "c"))
    throw input_error("--tune measures on this machine's processor").note("add --to c --cpu native");
  const Subject subject = options.has_network ? from_zoo(options) : from_study(options, options.places[0]);
  write(subject, format, options.places.back(), options);
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("export", "writes a network with its kernels as PyTorch, ONNX or C");
  auto options = std::make_shared<ExportCommand>();
  command->add_option("places", options->places, "STUDY and FOLDER; with --network FOLDER only")
      ->required()
      ->expected(1, 2);
  command->add_option("--to", options->format, "pytorch, onnx or c")->required();
  command->add_option("--trial", options->trial, "which trial of the study; 0 is the original network");
  command->add_flag(
      "--train", options->train,
      "train the trial again, with the study's longest recipe; default: the weights that the search kept");
  command->add_option("--weights", options->weights, "a saved model of this network");
  command->add_option("--kernel", options->kernel, "with --network: a kernel's file, put in place of its convolutions");
  command->add_option("--seed", options->common.seed, "with --network: of random weights")->capture_default_str();
  command->add_option("--input", options->common.input, "with --network: image size such as 3x224x224");
  command->add_option("--batch", options->batch, "with --to c: images of one run")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "with --to c: threads of one run (OpenMP)")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      ->add_option("--cpu", options->cpu,
                   "with --to c: any (AVX-512, AVX2 and plain C in one file, chosen where it runs) or native (this "
                   "machine's processor only)")
      ->check(CLI::IsMember({"any", "native"}))
      ->capture_default_str();
  command
      ->add_option("--tune", options->tune,
                   "with --cpu native: about so many seconds of measuring each layer's methods; what was measured is "
                   "kept for the next time")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--python", options->python, "runs what was written")->capture_default_str();
  add_network_options(*command, options->common);
  command->callback([options, command, &action] {
    options->has_network = command->count("--network") > 0;
    action = [options] { return run(*options); };
  });
}

}  // namespace kasimir
